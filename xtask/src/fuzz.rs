//! Fuzzing of what reads other people's texts: each target of `fuzz/` over its corpus for a while.
//!
//! Plain cargo builds the targets, so that neither a nightly compiler nor a further tool is needed; `fuzz/README.md` has
//! the rest.

use std::{
    fs::{self, File},
    path::{self, Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
};

use anyhow::{Context, Result, bail, ensure};

use crate::steps::{Cargo, LINTS};

/// How long each target runs as part of the tests, seconds.
pub const SECONDS: u64 = 20;

/// Longest input that is tried. Short ones are tried more often, and all that matters fits.
const MAX_INPUT_BYTES: u32 = 4096;
/// A single input that takes longer than this has hung, seconds.
const MAX_INPUT_SECONDS: u32 = 10;
/// A process that takes more memory than this leaks, or an input has made it ask for much too much, MiB.
const MAX_MEMORY_MIB: u32 = 1024;

/// `cargo xtask fuzz [--seconds N] [TARGET…]`.
pub fn command(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    let mut seconds = SECONDS;
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                // Zero means for ever to libFuzzer.
                let number = number.filter(|number| *number > 0);
                seconds = number.context("--seconds takes a number above 0")?;
            }
            name => names.push(name.to_owned()),
        }
    }
    run(cargo, seconds, names)
}

/// Builds and runs these targets, or all if none is named, as many at a time as there are cores.
pub fn run(cargo: &Cargo, seconds: u64, names: Vec<String>) -> Result<()> {
    let all = targets(cargo.workspace())?;
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        bail!("no fuzz target `{unknown}`; there are: {}", all.join(", "));
    }
    let names = if names.is_empty() { all } else { names };

    let place = FuzzFolders::new(cargo)?;
    let mut build = place.cargo(cargo, "build");
    build.arg("--bins").envs(LINTS);
    cargo
        .timed("lints, and building of fuzz targets", build)
        .context("libFuzzer is written in C++: is there a C++ compiler (c++)?")?;

    let mut failures = Vec::new();
    let cores = thread::available_parallelism().map_or(1, |number| number.get());
    for group in names.chunks(cores) {
        eprintln!("xtask: fuzz {} for {seconds} s …", group.join(", "));
        let runs: Vec<Run> = group
            .iter()
            .map(|name| Run::start(&place, name, seconds))
            .collect::<Result<_>>()?;
        for run in runs {
            failures.extend(run.finish()?);
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// Checks the format of the fuzz targets, which are no part of the workspace. Their lints are checked as they are built.
pub fn check_format(cargo: &Cargo) -> Result<()> {
    cargo.run(
        "format of fuzz targets",
        &["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"],
    )
}

/// Every target by its source, sorted.
fn targets(workspace: &Path) -> Result<Vec<String>> {
    let folder = workspace.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The folders of a run.
struct FuzzFolders {
    /// The package.
    package: PathBuf,
    /// Everything that is made.
    target: PathBuf,
    /// The binaries.
    binaries: PathBuf,
}

impl FuzzFolders {
    fn new(cargo: &Cargo) -> Result<Self> {
        let output = Command::new("rustc")
            .args(["--print", "host-tuple"])
            .current_dir(cargo.workspace())
            .output()
            .context("running rustc")?;
        let host = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        ensure!(!host.is_empty(), "rustc does not tell its host");
        let target = path::absolute(cargo.target_dir())?.join("fuzz");
        Ok(Self {
            package: cargo.workspace().join("fuzz"),
            binaries: target.join(host).join("release"),
            target,
        })
    }

    /// Cargo in the package's own folder, where the flags for coverage are.
    fn cargo(&self, cargo: &Cargo, subcommand: &str) -> Command {
        let mut command = cargo.command();
        command
            .current_dir(&self.package)
            .args([subcommand, "--locked", "--release", "--target-dir"])
            .arg(&self.target);
        // They would replace those flags.
        for variable in ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
            command.env_remove(variable);
        }
        command
    }

    /// A folder for what a target makes, there when this returns.
    fn folder(&self, kind: &str, name: &str) -> Result<PathBuf> {
        let folder = self.target.join(kind).join(name);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }
}

/// A target at work.
struct Run {
    name: String,
    binary: PathBuf,
    log: PathBuf,
    child: Child,
}

impl Run {
    fn start(place: &FuzzFolders, name: &str, seconds: u64) -> Result<Self> {
        let binary = place.binaries.join(name);
        let artifacts = place.folder("artifacts", name)?;
        let log = artifacts.join("log.txt");
        let output = File::create(&log).with_context(|| log.display().to_string())?;
        let child = Command::new(&binary)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={MAX_INPUT_BYTES}"))
            .arg(format!("-timeout={MAX_INPUT_SECONDS}"))
            .arg(format!("-rss_limit_mb={MAX_MEMORY_MIB}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .arg("-print_final_stats=1")
            // New inputs are added to the first folder, so that is not the one in the tree.
            .arg(place.folder("corpus", name)?)
            .arg(place.package.join("corpus").join(name))
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| binary.display().to_string())?;
        Ok(Self {
            name: name.to_owned(),
            binary,
            log,
            child,
        })
    }

    /// Waits for the end. What to tell, if it was a bad one.
    fn finish(mut self) -> Result<Option<String>> {
        let status = self.child.wait().context(self.name.clone())?;
        let log = fs::read(&self.log).with_context(|| self.log.display().to_string())?;
        let log = String::from_utf8_lossy(&log);
        if !status.success() {
            return Ok(Some(self.failure(status, &log)));
        }
        let count = after(&log, "stat::number_of_executed_units:").unwrap_or("?");
        eprintln!("xtask: fuzz {}: {count} inputs", self.name);
        Ok(None)
    }

    fn failure(&self, status: ExitStatus, log: &str) -> String {
        let Self { name, binary, .. } = self;
        let (binary, log_file) = (binary.display(), self.log.display());
        let Some(input) = after(log, "Test unit written to ") else {
            return format!("fuzz {name} ended with {status}; see {log_file}");
        };
        let what: Vec<&str> = log
            .lines()
            .skip_while(|line| !line.contains("panicked at") && !line.contains("ERROR: libFuzzer"))
            .take_while(|line| !line.starts_with("stack backtrace:"))
            .take(8)
            .collect();
        format!(
            "fuzz {name} found an input that breaks it; all of the output is in {log_file}\n{}\n\
             the input:       {input}\n\
             run it again:    {binary} {input}\n\
             make it smaller: {binary} -minimize_crash=1 -max_total_time=60 {input}\n\
             keep it:         in fuzz/corpus/{name}/, by a name that says what it is",
            what.join("\n")
        )
    }
}

/// What stands behind a mark, up to the end of the line.
fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    rest.lines().next().map(str::trim)
}
