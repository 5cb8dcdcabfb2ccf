//! Running cargo and programs, each step announced and timed.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail};

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

/// Names the library that replaces NVML in checks by scripts.
const NVML_MOCK: &str = "GPUD_TEST_NVML_MOCK";

/// Exit status of a check that could not be run here.
const NOT_RUN: i32 = 77;

/// A check by a script: the step's name, the script, its arguments.
pub type Check<'a> = (&'a str, &'a str, Vec<&'a str>);

/// Says how a check by a script ended.
fn judge(step: &str, script: &str, status: ExitStatus, started: Instant) -> Result<()> {
    match status.code() {
        Some(0) => eprintln!("xtask: {step}: {} s", started.elapsed().as_secs()),
        Some(NOT_RUN) => eprintln!("xtask: {step}: NOT RUN, see above"),
        _ => bail!("{step} failed ({script}: {status})"),
    }
    Ok(())
}

/// Cargo in this workspace.
pub struct Cargo {
    workspace: PathBuf,
}

impl Cargo {
    /// In this folder.
    pub fn at(workspace: PathBuf) -> Self {
        Self { workspace }
    }

    /// The workspace's folder.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Runs cargo with these arguments.
    pub fn run(&self, step: &str, arguments: &[&str]) -> Result<()> {
        self.run_with(step, arguments, &[])
    }

    /// Runs cargo with these arguments and environment variables.
    pub fn run_with(&self, step: &str, arguments: &[&str], env: &[(&str, &str)]) -> Result<()> {
        let mut command = self.command();
        command.args(arguments).envs(env.iter().copied());
        self.timed(step, command)
    }

    /// Cargo without arguments yet, in the workspace.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.workspace);
        command
    }

    /// Runs a program of the machine.
    pub fn program(&self, step: &str, program: &str, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.workspace);
        self.timed(step, command)
    }

    /// Runs a check that may have nothing to run with on this machine; it says so with status 77, and then no more than
    /// that is claimed.
    pub fn check_if_possible(&self, step: &str, script: &str, arguments: &[&str]) -> Result<()> {
        eprintln!("xtask: {step} …");
        let started = Instant::now();
        let mut command = self.script(script, arguments);
        let status = command
            .status()
            .with_context(|| format!("running {script}"))?;
        judge(step, script, status, started)
    }

    /// Runs lists of such checks side by side, those of a list one after the other. The output of each is shown as a whole
    /// when it ends. Returns all failures.
    pub fn check_side_by_side(&self, lists: &[Vec<Check<'_>>]) -> Vec<Result<()>> {
        let one_list = &|number: usize, list: &[Check<'_>]| -> Vec<Result<()>> {
            let output = self.target_dir().join(format!("checks-{number}.log"));
            list.iter()
                .map(|check| self.check_into(check, &output))
                .collect()
        };
        thread::scope(|scope| {
            let running: Vec<_> = lists
                .iter()
                .enumerate()
                .map(|(number, list)| scope.spawn(move || one_list(number, list.as_slice())))
                .collect();
            let ended = running.into_iter().flat_map(|list| {
                let failed = || vec![Err(anyhow!("a list of checks ended unexpectedly"))];
                list.join().unwrap_or_else(|_| failed())
            });
            ended.collect()
        })
    }

    /// Runs one check, whose output passes through a file.
    fn check_into(&self, check: &Check<'_>, output: &Path) -> Result<()> {
        let (step, script, arguments) = check;
        eprintln!("xtask: {step} …");
        let started = Instant::now();
        let file = File::create(output).with_context(|| output.display().to_string())?;
        let status = self
            .script(script, arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .status()
            .with_context(|| format!("running {script}"))?;
        let text = fs::read(output).with_context(|| output.display().to_string())?;
        // One call, so that it stays together.
        eprint!("{}", String::from_utf8_lossy(&text));
        judge(step, script, status, started)
    }

    fn script(&self, script: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.workspace.join(script));
        command.args(arguments).current_dir(&self.workspace);
        // Most scripts look for it beside the binary, and the one with compiled code is in another folder.
        let mock = self.target_dir().join("debug/deps/libgpud_nvml_mock.so");
        if env::var_os(NVML_MOCK).is_none() && mock.is_file() {
            command.env(NVML_MOCK, mock);
        }
        command
    }

    /// Runs a binary of the release build, without any announcement.
    pub fn release_binary(&self, name: &str, arguments: &[String]) -> Result<()> {
        let path = self.target_dir().join("release").join(name);
        let status = Command::new(&path)
            .args(arguments)
            .status()
            .with_context(|| path.display().to_string())?;
        match status.code() {
            Some(0) => Ok(()),
            code => std::process::exit(code.unwrap_or(1)),
        }
    }

    /// Cargo's target folder.
    pub fn target_dir(&self) -> PathBuf {
        let own: Option<OsString> = env::var_os("CARGO_TARGET_DIR");
        own.map_or_else(|| self.workspace.join("target"), PathBuf::from)
    }

    /// Runs a command to a good end.
    pub fn timed(&self, step: &str, mut command: Command) -> Result<()> {
        eprintln!("xtask: {step} …");
        let started = Instant::now();
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command
            .status()
            .with_context(|| format!("running {program}"))?;
        if !status.success() {
            bail!("{step} failed ({program}: {status})");
        }
        eprintln!("xtask: {step}: {} s", started.elapsed().as_secs());
        Ok(())
    }
}
