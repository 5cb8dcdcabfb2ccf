//! Writes the list of project templates that `gpud plugin new` embeds.

#![allow(clippy::disallowed_methods, reason = "a build script writes files")]

use std::{env, fs, path::PathBuf};

use anyhow::Result;
use xtask::templates;

fn main() -> Result<()> {
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?)
        .join("../..")
        .canonicalize()?;
    for watched in ["sdk/templates", "xtask/src/templates.rs"] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(watched).display()
        );
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut embedded = String::from("&[\n");
    for file in templates::all(&workspace)? {
        let templates::File {
            language,
            path,
            source,
            fill,
        } = file;
        println!("cargo::rerun-if-changed={}", source.display());
        embedded.push_str(&format!(
            "    ({language:?}, {path:?}, include_bytes!({:?}), {fill}),\n",
            source.display().to_string()
        ));
    }
    embedded.push_str("]\n");
    fs::write(out.join("templates.rs"), embedded)?;
    Ok(())
}
