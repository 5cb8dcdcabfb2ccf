//! What CI runs, in its order: nothing else runs it, and it runs nothing else.

use anyhow::{Context, Result};

use crate::{fuzz, page, setup, steps::Cargo};

/// Makes Clippy the compiler of the workspace's crates. Lints then cost no second compilation of the dependencies, which
/// `cargo clippy` asks for.
pub const LINTS: [(&str, &str); 2] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    // The separator is Clippy's own.
    (
        "CLIPPY_ARGS",
        "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    ),
];

/// Runs all steps, and stops at the first that fails.
pub fn run(cargo: &Cargo) -> Result<()> {
    setup::run(cargo)?;
    cargo.run("format", &["fmt", "--all", "--check"])?;
    fuzz::check_format(cargo)?;
    page::check_if_possible(cargo)?;
    cargo.run_with(
        "documentation",
        &[
            "doc",
            "--locked",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
        // These pages are for developers of gpud, who need the links to private items.
        &[(
            "RUSTDOCFLAGS",
            "--deny warnings --allow rustdoc::private-intra-doc-links",
        )],
    )?;
    cargo.run_with(
        "lints, and building of tests",
        &[
            "test",
            "--locked",
            "--workspace",
            "--all-targets",
            "--no-run",
        ],
        &LINTS,
    )?;
    // Benchmarks are not tests: `cargo xtask bench` runs them, on a release build.
    cargo.run_with(
        "tests",
        &[
            "test",
            "--locked",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
        ],
        &LINTS,
    )?;
    requests(cargo)?;
    // Not here: `tests/page/run.sh`, the page in Chromium, which takes long on two cores.
    plugins(cargo)?;
    packs(cargo)?;
    cargo.check_if_possible(
        "rules and dashboards",
        "deploy/prometheus/test.sh",
        &[&gpud(cargo)?],
    )?;
    cargo.check_if_possible("install.sh", "tests/install/run.sh", &[])?;
    // Not here: `tests/packages/run.sh` and `tests/image/run.sh`, which need root, and compress a large binary several times,
    // and `tests/kubernetes/chart.sh`, which builds helm.
    cargo.check_if_possible(
        "a node in Kubernetes",
        "tests/kubernetes/run.sh",
        &["export"],
    )?;
    cargo.check_if_possible(
        "an OpenTelemetry collector",
        "tests/otlp/run.sh",
        &[&gpud(cargo)?],
    )?;
    cargo.check_if_possible("rows and objects", "tests/rows/run.sh", &["export"])?;
    cargo.check_if_possible("rows on a machine", "tests/rows/run.sh", &[&gpud(cargo)?])?;
    cargo.check_if_possible("a real Slurm", "tests/slurm/run.sh", &[&gpud(cargo)?])?;
    fuzz::run(cargo, fuzz::SECONDS, Vec::new())?;
    cargo.run(
        "examples in the documentation",
        &["test", "--locked", "--package", "gpud-sdk", "--doc"],
    )
}

/// What authors of plugins rely on: SDKs, examples and templates of every language, the pages that are made from the
/// contract and from the code, and the paths and words of comments and pages.
fn plugins(cargo: &Cargo) -> Result<()> {
    let gpud = gpud(cargo)?;
    cargo.check_if_possible("plugins in every language", "examples/test.sh", &[&gpud])?;
    cargo.check_if_possible(
        "plugins without an SDK",
        "examples/any-language/test.sh",
        &[&gpud],
    )?;
    cargo.program(
        "reference of the contract",
        "docs/plugins/contract.py",
        &["--check"],
    )?;
    cargo.program("table of limits", "docs/limits.py", &["--check"])?;
    cargo.program("table of crates", "docs/crates.py", &[])?;
    cargo.program("paths and links of the pages", "docs/paths.py", &[])?;
    cargo.program("plain words", "docs/words.py", &[])
}

/// The debug build that the tests have left.
fn gpud(cargo: &Cargo) -> Result<String> {
    let gpud = cargo.target_dir().join("debug").join("gpud");
    let gpud = gpud
        .to_str()
        .context("the target folder's name is no text")?;
    Ok(gpud.to_owned())
}

/// The built daemon under requests from outside: those of GPUd's client, and those that its own description allows.
fn requests(cargo: &Cargo) -> Result<()> {
    let gpud = &gpud(cargo)?;
    for (step, what) in [
        ("requests of GPUd's Go client", "client"),
        ("steps of GPUd's end-to-end suite", "suite"),
        ("GPUd's own suite", "published"),
    ] {
        cargo.check_if_possible(step, "tests/go-client/run.sh", &[what, gpud])?;
    }
    cargo.check_if_possible(
        "API against its description",
        "tests/api-fuzz/run.sh",
        &[gpud],
    )
}

/// The vendor packs, from their crates to components that a daemon runs.
fn packs(cargo: &Cargo) -> Result<()> {
    cargo.check_if_possible("vendor packs", "packs/test.sh", &[&gpud(cargo)?])
}
