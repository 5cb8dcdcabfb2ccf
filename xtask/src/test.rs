//! The tests: what CI runs, and what takes long.

use std::{fs, num::NonZero, path::Path, thread};

use anyhow::{Context, Result, bail};

use crate::{
    console::QuietConsole,
    dist, fuzz, page, setup,
    steps::{Cargo, Check, LINTS},
};

/// Failures of steps that do not need each other: all of them run, so that one run of CI names everything that is wrong.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            eprintln!("xtask: {error:#}");
            self.0.push(format!("{error:#}"));
        }
    }

    fn into_result(self) -> Result<()> {
        match self.0.as_slice() {
            [] => Ok(()),
            failures => bail!("{} failed:\n  {}", failures.len(), failures.join("\n  ")),
        }
    }
}

/// Runs what CI runs for every change. What does not build ends the run; other failures are listed at its end.
pub fn run(cargo: &Cargo) -> Result<()> {
    let mut failures = Failures::default();
    setup::run(cargo)?;
    failures.note(cargo.run("format", &["fmt", "--all", "--check"]));
    failures.note(fuzz::check_format(cargo));
    pages(cargo, &mut failures);
    failures.note(page::check_if_possible(cargo));
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
    let _quiet = QuietConsole::set();
    // Benchmarks are not tests: `cargo xtask bench` runs them, on a release build.
    let threads = test_threads();
    let [lints, flags] = LINTS;
    failures.note(cargo.run_with(
        "tests",
        &[
            "test",
            "--locked",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ],
        &[lints, flags, ("RUST_TEST_THREADS", &threads)],
    ));
    let gpud = gpud(cargo)?;
    for result in cargo.check_side_by_side(&scripts(&gpud)) {
        failures.note(result);
    }
    failures.note(cargo.run_with(
        "examples in the documentation",
        &["test", "--locked", "--package", "gpud-sdk", "--doc"],
        &LINTS,
    ));
    failures.into_result()
}

/// How many tests of one program run at the same time: more than there are processors, since end-to-end tests wait for a
/// daemon most of the time.
fn test_threads() -> String {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    (processors * 2).to_string()
}

/// Checks pages against the contract, the code, the manifests and the paths that they name, and the words of all texts.
fn pages(cargo: &Cargo, failures: &mut Failures) {
    for (step, script, arguments) in [
        (
            "reference of the contract",
            "docs/plugins/contract.py",
            &["--check"][..],
        ),
        ("table of limits", "docs/limits.py", &["--check"]),
        ("table of crates", "docs/crates.py", &[]),
        ("the example of a check", "docs/example.py", &[]),
        ("paths and links of the pages", "docs/paths.py", &[]),
        ("plain words", "docs/words.py", &[]),
        ("names of types", "docs/names.py", &[]),
    ] {
        failures.note(cargo.program(step, script, arguments));
    }
}

/// Runs what takes long: builds of other projects and in other languages, a browser, fuzzing. The build of [`run`] has to be
/// there.
pub fn run_long(cargo: &Cargo) -> Result<()> {
    // Without the target, the script that needs it says so.
    if let Err(error) = setup::run_long(cargo) {
        eprintln!("xtask: {error:#}");
    }
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
    each_crate_alone(cargo)?;
    fuzz::run(cargo, fuzz::SECONDS, Vec::new())?;
    let gpud = gpud(cargo)?;
    let gpud = gpud.as_str();
    for (step, script, arguments) in [
        ("plugins in every language", "examples/test.sh", vec![gpud]),
        (
            "plugins without an SDK",
            "examples/any-language/test.sh",
            vec![gpud],
        ),
        (
            "the export to Kubernetes",
            "tests/kubernetes/run.sh",
            vec!["export"],
        ),
        (
            "a node in Kubernetes",
            "tests/kubernetes/run.sh",
            vec!["daemon", gpud],
        ),
        (
            "lines for kubectl in the documentation",
            "tests/kubernetes/run.sh",
            vec!["commands", gpud],
        ),
        (
            "an OpenTelemetry collector",
            "tests/otlp/run.sh",
            vec![gpud],
        ),
        (
            "all engines at once",
            "tests/fleet/run.sh",
            vec!["story", gpud],
        ),
        (
            "all engines away at once",
            "tests/fleet/run.sh",
            vec!["outage", gpud],
        ),
        (
            "exports in bad surroundings",
            "tests/fleet/run.sh",
            vec!["faults", gpud],
        ),
        ("the page in Chromium", "tests/page/run.sh", vec![gpud]),
        ("the book", "tests/book/run.sh", vec![]),
    ] {
        cargo.check_if_possible(step, script, &arguments)?;
    }
    // Not here: `tests/kubernetes/chart.sh`, which builds helm.
    releases(cargo)
}

/// Makes the releases for both kinds of processors, and installs and runs them.
fn releases(cargo: &Cargo) -> Result<()> {
    let folder = cargo.target_dir().join("dist-test");
    let folder = folder
        .to_str()
        .context("the target folder's name is no text")?;
    let output = ["--output".to_owned(), folder.to_owned()];
    dist::command(cargo, &[&output[..], &["--image".to_owned()]].concat())?;
    let arm = [
        "--target".to_owned(),
        "aarch64-unknown-linux-gnu".to_owned(),
    ];
    dist::command(cargo, &[output, arm].concat())?;
    let program = cargo
        .target_dir()
        .join("x86_64-unknown-linux-gnu/dist/gpud");
    let program = program
        .to_str()
        .context("the target folder's name is no text")?;
    for (step, script, arguments) in [
        ("packages", "tests/packages/run.sh", vec![folder]),
        (
            "plugins without a network",
            "tests/packages/sdk.sh",
            vec![folder, program],
        ),
        ("the image", "tests/image/run.sh", vec![folder]),
        (
            "Debian 11",
            "tests/install/debian.sh",
            vec![folder, "bullseye"],
        ),
        (
            "Debian 12",
            "tests/install/debian.sh",
            vec![folder, "bookworm"],
        ),
        ("64-bit Arm", "tests/install/arm.sh", vec![folder]),
        ("an older kernel", "tests/old-kernel/run.sh", vec![program]),
    ] {
        cargo.check_if_possible(step, script, &arguments)?;
    }
    Ok(())
}

/// Checks each crate of the host by itself: built together, one gets features that only another asks for.
fn each_crate_alone(cargo: &Cargo) -> Result<()> {
    let host = cargo.workspace().join("host");
    let folders = fs::read_dir(&host).with_context(|| host.display().to_string())?;
    let mut crates = vec!["gpud".to_owned()];
    for folder in folders {
        let folder = folder?;
        if folder.path().join("Cargo.toml").is_file() {
            crates.push(format!("gpud-{}", folder.file_name().display()));
        }
    }
    crates.sort();
    for name in crates {
        let step = format!("{name} alone");
        cargo.run(&step, &["check", "--locked", "--package", &name])?;
    }
    Ok(())
}

/// The debug build that the tests have left: with the compiled code of its checks where end-to-end tests made that, since
/// each daemon would compile them otherwise.
fn gpud(cargo: &Cargo) -> Result<String> {
    let target = cargo.target_dir();
    let built = target.join("debug/gpud");
    let with_code = target.join("tmp/gpud");
    let changed = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
    let gpud = match changed(&with_code) > changed(&built) {
        true => with_code,
        false => built,
    };
    let gpud = gpud
        .to_str()
        .context("the target folder's name is no text")?;
    Ok(gpud.to_owned())
}

/// Checks of the built daemon by scripts, in lists that take about as long: of requests from outside, those of GPUd's client
/// and those that its own description allows; of what it meets on machines; of the engines that read from it and that it writes
/// to. Most of them wait most of the time.
fn scripts(gpud: &str) -> [Vec<Check<'_>>; 3] {
    let client = "tests/go-client/run.sh";
    let requests = vec![
        ("requests of GPUd's Go client", client, vec!["client", gpud]),
        (
            "steps of GPUd's end-to-end suite",
            client,
            vec!["suite", gpud],
        ),
        ("GPUd's own suite", client, vec!["published", gpud]),
        (
            "API against its description",
            "tests/api-fuzz/run.sh",
            vec![gpud],
        ),
    ];
    let engines = vec![
        (
            "rules and dashboards",
            "deploy/prometheus/test.sh",
            vec![gpud],
        ),
        ("rows and objects", "tests/rows/run.sh", vec!["export"]),
        ("rows on a machine", "tests/rows/run.sh", vec![gpud]),
    ];
    let machines = vec![
        ("vendor packs", "packs/test.sh", vec![gpud]),
        ("install.sh", "tests/install/run.sh", vec![]),
        (
            "what a machine keeps from gpud",
            "tests/surroundings/run.sh",
            vec![gpud],
        ),
        (
            "rights of a pod, one by one",
            "tests/surroundings/pod.sh",
            vec![gpud],
        ),
        ("a real Slurm", "tests/slurm/run.sh", vec![gpud]),
    ];
    [machines, requests, engines]
}
