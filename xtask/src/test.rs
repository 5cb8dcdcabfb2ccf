//! What CI runs, in its order: nothing else runs it, and it runs nothing else.

use anyhow::Result;

use crate::{fuzz, setup, steps::Cargo};

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
    // Benchmarks are not tests: `cargo xtask bench` runs them, on a release build.
    cargo.run(
        "tests",
        &[
            "test",
            "--locked",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
        ],
    )?;
    fuzz::lint(cargo)?;
    fuzz::run(cargo, fuzz::SECONDS, Vec::new())?;
    cargo.run(
        "examples in the documentation",
        &["test", "--locked", "--package", "gpud-sdk", "--doc"],
    )?;
    cargo.run_with(
        "documentation",
        &[
            "doc",
            "--locked",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
        // These pages are for whoever works on gpud: links to private items are what is wanted.
        &[(
            "RUSTDOCFLAGS",
            "--deny warnings --allow rustdoc::private-intra-doc-links",
        )],
    )
}
