//! Runs a program or a bash script, and leaves nothing of it behind.
//!
//! Every run has a process group of its own, and one of a plugin a session as well. The group is killed at the deadline, when
//! the main process ends (children left in the background, `nohup` ones too), and when the caller stops waiting. A child that
//! left the group (`setsid`, a double fork) is ended as well: by the run's cgroup where there is one, and by what [`runs`] knows. Output is read all
//! the time and kept up to a bound; a child that holds the pipe open delays nothing. What gpud inherited when it was started
//! (ignored signals, descriptors, umask, OOM score) does not reach a child: see `child_setup.rs`.

mod cgroup;
mod child;
mod child_setup;
mod environment;
mod limits;
mod output;
mod runs;
mod script_file;
mod table;

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{
    error::SourceError,
    root_helper,
    trusted::{self, Opener},
};

pub use environment::{PATH, fixed_env, withhold};

/// How long ends of processes are collected before zombies are looked for.
const COLLECT_ENDS: Duration = Duration::from_millis(100);

/// A program to run, and its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program or script.
    pub program: Program,
    /// What a [`Program::Argv`] reads on stdin; nothing if empty.
    pub stdin: Vec<u8>,
    /// Its environment.
    pub env: Env,
    /// Working directory. When absent, `/` for a contained one, else the daemon's own.
    pub cwd: Option<PathBuf>,
    /// Time from the call to the end; then the whole group gets SIGKILL.
    pub deadline: Duration,
    /// Bytes kept of stdout and as many of stderr, or of both together when they are combined. The rest is read and
    /// thrown away.
    pub max_output_bytes: usize,
    /// Whether stderr is written to the same pipe as stdout.
    pub streams: Streams,
    /// Whether it is a script or program of a plugin: it gets a session of its own, a cgroup where there are any, limits, and
    /// umask 022.
    pub contained: bool,
    /// Whether its output is also written to gpud's own standard error while it runs, for the person at the command
    /// line.
    pub echo: bool,
    /// Whether the [root helper](crate::root_helper) runs it, where this process has one. The helper has an environment and a
    /// working directory of its own.
    pub as_root: bool,
}

/// The program of a [`Command`]. `bash` is looked up in the `PATH` of its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program (looked up in `PATH` when its name has no slash) and its arguments.
    Argv(Vec<OsString>),
    /// `bash -s` with this script on stdin. What the script starts shares that stdin.
    BashStdin(Vec<u8>),
    /// `bash ‹file›` with this script, unchanged, in a temporary `gpud-*.bash` (mode 0600, removed afterwards; after `kill -9`
    /// by the next gpud), or in memory where no folder can be written to. Stdin is empty.
    BashFile(Vec<u8>),
}

/// The environment of a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Env {
    /// The daemon's own, but for variables that hold its secrets, and, where it runs as root, for those by which somebody
    /// else could have code run, or that name what others can change ([`trusted::inherited`]).
    WithoutSecrets,
    /// These variables and no others.
    Replace(Vec<(OsString, OsString)>),
}

/// The target of stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Stdout and stderr apart.
    Separate,
    /// Both into one pipe, reported as stdout in the order they were written.
    Combined,
}

/// How a run ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Exit code; absent when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether that signal left a core dump.
    pub core_dumped: bool,
    /// First bytes of standard output (of both streams when combined).
    pub stdout: Vec<u8>,
    /// First bytes of standard error; empty when combined.
    pub stderr: Vec<u8>,
    /// There was more output than was kept.
    pub stdout_truncated: bool,
    /// There was more on standard error than was kept.
    pub stderr_truncated: bool,
    /// Wall-clock time from the call to the end.
    pub duration: Duration,
}

impl Command {
    /// A command with the [fixed environment](fixed_env) (the daemon's may be that of the user who became root, and many
    /// programs have variables that make them run another one or say what is not so), the daemon's working directory, streams
    /// apart, 1 MiB of output kept.
    pub fn new(program: Program, deadline: Duration) -> Self {
        Self {
            program,
            stdin: Vec::new(),
            env: Env::Replace(fixed_env()),
            cwd: None,
            deadline,
            max_output_bytes: 1 << 20,
            streams: Streams::Separate,
            contained: false,
            echo: false,
            as_root: false,
        }
    }

    /// How errors name it: the program's name, without arguments, which may hold secrets.
    pub(crate) fn name(&self) -> String {
        match &self.program {
            Program::Argv(argv) => argv
                .first()
                .map(|program| program.to_string_lossy().into_owned())
                .unwrap_or_default(),
            Program::BashStdin(_) | Program::BashFile(_) => "bash script".to_owned(),
        }
    }
}

/// Runs a command to its end. Ending with any exit code or signal is an answer, not an error.
///
/// Dropping the future kills the group.
///
/// # Errors
/// [`SourceError::TimedOut`] when the deadline passed (output is lost then); [`SourceError::NotFound`] for a missing
/// program or working directory, [`SourceError::Denied`] for one that may not be run, [`SourceError::Invalid`] for an
/// empty argument list, [`SourceError::Other`] when no process, pipe or temporary file could be made.
pub async fn run(command: Command) -> Result<Output, SourceError> {
    if matches!(&command.program, Program::Argv(argv) if argv.first().is_none_or(|name| name.is_empty()))
    {
        return Err(SourceError::Invalid("no program to run".to_owned()));
    }
    if command.as_root
        && let Some(helper) = root_helper::connection()
    {
        return helper.run(&command).await;
    }
    let cgroups = match command.contained {
        true => cgroup::Cgroups::own(),
        false => None,
    };
    child::run(command, cgroups).await
}

/// Ends what runs left behind, and reaps zombies that no caller waits for, until `stop`. As process 1 of a container gpud
/// is the parent of all orphans.
pub async fn look_after_orphans(stop: CancellationToken) {
    let mut ends = match signal(SignalKind::child()) {
        Ok(ends) => ends,
        Err(error) => {
            tracing::warn!("zombies are not reaped: {error}");
            return;
        }
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            end = ends.recv() => if end.is_none() { return },
        }
        tokio::time::sleep(COLLECT_ENDS).await;
        let _ = tokio::task::spawn_blocking(runs::sweep).await;
    }
}

/// Ends every process that a run began, of runs under way, too, for a process that is about to end.
pub async fn end_all() {
    let _ = tokio::task::spawn_blocking(runs::end_all).await;
}

/// The daemon's `PATH`, or the usual one. For root, only folders into which no other user can put a program.
pub(crate) fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_else(|| PATH.into());
    let trusted = trusted::search_path(&path);
    match trusted.is_empty() {
        false => trusted,
        true => PATH.into(),
    }
}

/// Returns the file that a program name means: itself when it has a slash, else the first regular executable file of
/// that name in the folders of [`PATH`], wherever the daemon was started from. Root runs no program that another user
/// can change.
///
/// # Errors
/// [`SourceError::NotFound`] when there is none; [`SourceError::Invalid`] for an empty name; [`SourceError::Other`] for one
/// that is not trusted.
pub async fn find_program(name: &str) -> Result<PathBuf, SourceError> {
    find(name, PATH.into()).await
}

/// The same in the folders of the daemon's own `PATH`, for what the person at the command line runs.
///
/// # Errors
/// As for [`find_program`].
pub async fn find_in_own_path(name: &str) -> Result<PathBuf, SourceError> {
    find(name, search_path()).await
}

async fn find(name: &str, folders: OsString) -> Result<PathBuf, SourceError> {
    if name.is_empty() {
        return Err(SourceError::Invalid("no program named".to_owned()));
    }
    let owned = name.to_owned();
    let finding = tokio::task::spawn_blocking(move || {
        let found: Option<PathBuf> = match owned.contains('/') {
            true => is_executable(Path::new(&owned)).then(|| PathBuf::from(&owned)),
            false => env::split_paths(&folders)
                .filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(&owned))
                .find(|candidate| is_executable(candidate)),
        };
        let Some(found) = found else {
            return Err(SourceError::NotFound(owned));
        };
        // What cannot be checked does not run, whatever the reason is: it may be something else by then.
        match Opener::of_command().check_program(&found) {
            Err(error) => Err(SourceError::Other(error.to_string())),
            Ok(()) => Ok(found),
        }
    });
    finding
        .await
        .map_err(|error| SourceError::Other(format!("{name}: {error}")))?
}

/// Checks that nobody but root and the daemon's user can change a program that is run on behalf of a plugin.
///
/// # Errors
/// [`SourceError::Denied`] naming the file or folder that others can change.
pub async fn check_program(path: &Path) -> Result<(), SourceError> {
    let (name, path) = (path.display().to_string(), path.to_owned());
    let checked = tokio::task::spawn_blocking(move || Opener::of_daemon().check_program(&path));
    checked
        .await
        .map_err(|error| SourceError::Other(format!("{name}: {error}")))?
        .map_err(|error| SourceError::Denied(error.to_string()))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn io_error(what: &str, step: &str, error: &io::Error) -> SourceError {
    SourceError::Other(format!("{what}: {step}: {error}"))
}

#[cfg(test)]
mod tests;
