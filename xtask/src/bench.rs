//! The table of figures with their targets.

use anyhow::Result;

use crate::{release, setup, steps::Cargo};

/// Builds for release and measures; arguments go to the benchmark program.
pub fn run(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    setup::run(cargo)?;
    release::for_benchmarks(cargo)?;
    let mut words = vec!["bench", "--package", "gpud", "--bench", "figures", "--"];
    words.extend(arguments.iter().map(String::as_str));
    cargo.run("figures", &words)
}
