//! What a fresh machine with Rust lacks: the WebAssembly targets.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::Cargo;

/// Targets that guests are built for: the first for built-ins, the second for what outside authors expect.
const TARGETS: [&str; 2] = [xtask::guests::TARGET, "wasm32-wasip2"];

/// Adds the targets that are missing.
pub fn run(cargo: &Cargo) -> Result<()> {
    let missing = missing(cargo)?;
    if missing.is_empty() {
        return Ok(());
    }
    let mut arguments = vec!["target", "add"];
    arguments.extend(&missing);
    cargo
        .program("adding WebAssembly targets", "rustup", &arguments)
        .with_context(|| {
            format!(
                "Rust's standard library for {} is needed; with rustup: rustup target add {0}",
                missing.join(" ")
            )
        })
}

/// A target is there when rustc's own folder has its libraries, however they came there.
fn missing(cargo: &Cargo) -> Result<Vec<&'static str>> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(cargo.workspace())
        .output()
        .context("running rustc: is Rust installed?")?;
    if !output.status.success() {
        bail!("rustc: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let libraries = std::path::Path::new(&sysroot).join("lib/rustlib");
    Ok(TARGETS
        .into_iter()
        .filter(|target| !libraries.join(target).join("lib").is_dir())
        .collect())
}
