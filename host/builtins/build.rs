//! Builds the built-in checkers, and writes the list that this crate embeds.

#![allow(clippy::disallowed_methods, reason = "a build script writes files")]

use std::{collections::BTreeSet, env, fs, io::Write as _, path::PathBuf};

use anyhow::{Context, Result};
use lzma_rust2::{XzOptions, XzWriter};
use sha2::{Digest as _, Sha256};
use xtask::guests::{self, GuestSelection};

/// How hard the compressor tries, of 9.
const PRESET: u32 = 6;

fn main() -> Result<()> {
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?)
        .join("../..")
        .canonicalize()?;
    for watched in [
        "builtin-plugins",
        "sdk/rust/src",
        "sdk/rust/wit",
        "sdk/rust/Cargo.toml",
        "wit",
        "xtask/src/guests.rs",
        // Profiles.
        "Cargo.toml",
        "Cargo.lock",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(watched).display()
        );
    }
    println!("cargo::rerun-if-env-changed={}", xtask::FURTHER_GUEST_FLAGS);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Shared by all profiles and feature sets of the host, since guests do not depend on them.
    let target_dir = out
        .ancestors()
        .find(|folder| folder.ends_with("build"))
        .and_then(|build| build.parent()?.parent())
        .map_or_else(|| out.join("guests"), |target| target.join("guests"));
    let builtins = guests::builtins(&workspace)?;
    let packages: BTreeSet<String> = builtins.iter().map(guests::Builtin::package).collect();
    let packages: Vec<String> = packages.into_iter().collect();
    let components = guests::build(
        &workspace,
        &target_dir,
        &GuestSelection::Packages(packages.clone()),
    )?;
    // A component is stored in the binary once, however many checkers are in it, and all of them as one file: much of their
    // code is the same.
    let mut index = String::from("{\n");
    let mut wasm = Vec::new();
    for (number, package) in packages.iter().enumerate() {
        let crate_name = package.replace('-', "_");
        let built = components
            .iter()
            .find(|component| component.name == crate_name)
            .with_context(|| format!("{package} gave no component"))?;
        let sha256: [u8; 32] = Sha256::digest(&built.bytes).into();
        index.push_str(&format!(
            "const CODE_{number}: Packed = Packed {{ sha256: {sha256:?}, start: {}, length: {} }};\n",
            wasm.len(),
            built.bytes.len()
        ));
        wasm.extend_from_slice(&built.bytes);
    }
    fs::write(out.join("builtins.wasm.xz"), pack(&wasm)?)?;
    index.push_str("&[\n");
    for builtin in &builtins {
        let package = builtin.package();
        let code = packages.iter().position(|other| *other == package);
        let code = code.context("a package that was not asked for")?;
        let guests::Builtin {
            folder,
            component,
            grants,
            ..
        } = builtin;
        // What is known of its events, for people: not in the component, which has no use for it.
        let known = workspace.join(format!("builtin-plugins/{folder}/catalog/patterns.json"));
        let known = if known.is_file() {
            format!("include_str!({:?})", known.display().to_string())
        } else {
            "\"\"".to_owned()
        };
        index.push_str(&format!(
            "    ({folder:?}, {component:?}, {grants:?}, CODE_{code}, {known}),\n"
        ));
    }
    index.push_str("]\n}\n");
    fs::write(out.join("builtins.rs"), index)?;
    Ok(())
}

/// Returns an xz file of it.
fn pack(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET))?;
    writer.write_all(wasm)?;
    Ok(writer.finish()?)
}
