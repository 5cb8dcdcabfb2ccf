//! What a fresh machine with Rust lacks: targets for WebAssembly.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::Cargo;

/// What gpud and its tests are built for.
const TARGETS: [&str; 1] = [xtask::GUEST_TARGET];
/// What plugins without an SDK are built for, besides. `rust-toolchain.toml` does not name it, so that a scan does not wait
/// for it.
const FURTHER: [&str; 1] = ["wasm32-wasip2"];

/// Adds the targets that gpud and its tests need, where they are missing.
pub fn run(cargo: &Cargo) -> Result<()> {
    add(cargo, &TARGETS)
}

/// Adds the targets that tests of plugins in every language need besides, where they are missing.
pub fn run_long(cargo: &Cargo) -> Result<()> {
    add(cargo, &FURTHER)
}

fn add(cargo: &Cargo, targets: &[&'static str]) -> Result<()> {
    let missing = missing(cargo, targets)?;
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
fn missing(cargo: &Cargo, targets: &[&'static str]) -> Result<Vec<&'static str>> {
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
    Ok(targets
        .iter()
        .copied()
        .filter(|target| !libraries.join(target).join("lib").is_dir())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolchain_file_names_what_a_scan_needs_and_no_more() {
        let file = include_str!("../../rust-toolchain.toml");
        let line = format!("targets = {TARGETS:?}");
        assert!(file.lines().any(|found| found == line), "{line}: {file}");
    }
}
