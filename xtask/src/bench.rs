//! The table of figures with their targets.

use anyhow::{Context, Result};

use crate::{release, setup, steps::Cargo};

/// The part whose figures need servers, so that a script measures it.
const EXPORTS: &str = "exports";

/// Builds for release and measures; arguments go to the benchmark program. `--only exports` measures exports alone.
pub fn run(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    setup::run(cargo)?;
    release::for_benchmarks(cargo)?;
    let mut after_only = arguments.iter().skip_while(|word| *word != "--only");
    let only = after_only.nth(1).map(String::as_str);
    if only != Some(EXPORTS) {
        let mut words = vec!["bench", "--package", "gpud", "--bench", "figures", "--"];
        words.extend(arguments.iter().map(String::as_str));
        cargo.run("figures", &words)?;
    }
    if only.is_none_or(|only| only == EXPORTS) {
        exports(cargo)?;
    }
    Ok(())
}

/// Measures exports with the servers that can be had on this machine.
fn exports(cargo: &Cargo) -> Result<()> {
    let mock = [
        "build",
        "--locked",
        "--release",
        "--package",
        "gpud-nvml-mock",
    ];
    cargo.run("NVML without GPUs", &mock)?;
    let gpud = cargo.target_dir().join("bench").join("gpud");
    let gpud = gpud
        .to_str()
        .context("the target folder's name is no text")?;
    cargo.check_if_possible(
        "figures of exports",
        "tests/fleet/run.sh",
        &["figures", gpud],
    )
}
