//! What CI runs, in its order: nothing else runs it, and it runs nothing else.

use anyhow::Result;

use crate::{setup, steps::Cargo};

/// Everything.
pub fn run(cargo: &Cargo) -> Result<()> {
    setup::run(cargo)?;
    cargo.run("format", &["fmt", "--all", "--check"])?;
    cargo.run(
        "lints",
        &[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ],
    )?;
    cargo.run(
        "guests as components",
        &["build", "--locked", "--package", "gpud"],
    )?;
    cargo.run(
        "tests",
        &["test", "--locked", "--workspace", "--all-targets"],
    )?;
    cargo.run(
        "documentation's examples",
        &["test", "--locked", "--workspace", "--doc"],
    )?;
    cargo.run_with(
        "documentation",
        &["doc", "--locked", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "--deny warnings")],
    )
}
