//! Writes the list of project templates that `gpud plugin new` embeds, and their contents in one compressed file.

#![allow(clippy::disallowed_methods, reason = "a build script writes files")]

use std::{env, fs, io::Write as _, path::PathBuf};

use anyhow::{Context as _, Result};
use lzma_rust2::{XzOptions, XzWriter};
use xtask::templates;

/// How hard the compressor tries, of 9.
const PRESET: u32 = 6;

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
    let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET))?;
    for file in templates::all(&workspace)? {
        let templates::File {
            language,
            path,
            source,
            fill,
        } = file;
        println!("cargo::rerun-if-changed={}", source.display());
        let content = fs::read(&source).with_context(|| source.display().to_string())?;
        let length = content.len();
        embedded.push_str(&format!(
            "    ({language:?}, {path:?}, {length}, {fill}),\n"
        ));
        packed.write_all(&content)?;
    }
    embedded.push_str("]\n");
    fs::write(out.join("templates.rs"), embedded)?;
    fs::write(out.join("templates.xz"), packed.finish()?)?;
    Ok(())
}
