//! The root helper: a small process of root that does the few tasks that need root for a daemon of another user.
//!
//! It is started by root before the daemon gives up its rights, at the other end of a pair of sockets, so that nobody else
//! can ask it. It answers three requests and no others: open the kernel log, run a program of a closed list
//! ([`programs`]), run a script of a plugin that the operator named. Each request comes over a connection of its own, so a slow
//! program holds nothing up, and a caller who goes away ends what it asked for.

mod fd_passing;
pub mod programs;
mod reply;
mod request;
mod server;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    io::Write as _,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::OnceLock,
    time::Duration,
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub use server::{AllowedRequests, HelperError, serve};

use self::{
    reply::{MAX_REPLY, Reply},
    request::{Bounds, Request},
};
use crate::{
    error::SourceError,
    process::{Command, Output, Program, fixed_env},
};

/// Longest wait for the kernel log.
const OPEN_WITHIN: Duration = Duration::from_secs(5);
/// How much longer than a run itself its answer is waited for: the helper ends a run itself, and says so.
const ANSWER_GRACE: Duration = Duration::from_secs(5);
/// Room for the answer to a request for the kernel log, bytes.
const SHORT_ANSWER: usize = 4096;
/// The name of the helper in errors.
const HELPER: &str = "the root helper";

static CONNECTION: OnceLock<Connection> = OnceLock::new();

/// The daemon's end.
#[derive(Debug)]
pub struct Connection {
    channel: OwnedFd,
    /// Not waited for: it ends after this process.
    _process: Option<Child>,
    kernel_log: PathBuf,
    plugins: Vec<String>,
}

/// The parameters of a helper's start.
#[derive(Debug)]
pub struct Start<'a> {
    /// gpud's own binary.
    pub program: &'a Path,
    /// Its command line.
    pub arguments: Vec<OsString>,
    /// The kernel log that it opens.
    pub kernel_log: PathBuf,
    /// Names of the plugins whose scripts it runs.
    pub plugins: Vec<String>,
}

/// Returns the connection to the helper, where this process has one.
pub fn connection() -> Option<&'static Connection> {
    CONNECTION.get()
}

/// Returns whether the helper runs this program for this process.
pub fn runs_program(name: &str, arguments: &[String]) -> bool {
    connection().is_some() && programs::is_listed(name, arguments)
}

/// Returns whether the helper runs the scripts of this plugin for this process.
pub fn runs_plugin(name: &str) -> bool {
    connection().is_some_and(|helper| helper.plugins.iter().any(|plugin| plugin == name))
}

/// Starts the helper, which has the same user as this process. It ends with this process. Its environment is fixed, so that
/// nothing of this process's decides what it runs.
///
/// # Errors
/// It cannot be started, or there is one already.
pub fn start(start: Start<'_>) -> Result<(), SourceError> {
    let failed = |error: std::io::Error| SourceError::Other(format!("{HELPER}: {error}"));
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| failed(errno.into()))?;
    let process = std::process::Command::new(start.program)
        .args(start.arguments)
        .env_clear()
        .envs(fixed_env())
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        // Signals of a terminal are the daemon's affair.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let connection = Connection {
        channel: ours,
        _process: Some(process),
        kernel_log: start.kernel_log,
        plugins: start.plugins,
    };
    CONNECTION
        .set(connection)
        .map_err(|_| SourceError::Other(format!("{HELPER} runs already")))
}

impl Connection {
    /// Returns the path of the kernel log that the helper opens.
    pub fn kernel_log(&self) -> &Path {
        &self.kernel_log
    }

    /// Opens the kernel log at its oldest record. Blocks, for some seconds at most.
    ///
    /// # Errors
    /// Why the helper could not open it, or that there is no helper any more.
    pub fn open_kernel_log(&self) -> Result<OwnedFd, SourceError> {
        let failed = |error: std::io::Error| SourceError::Other(format!("{HELPER}: {error}"));
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(OPEN_WITHIN)).map_err(failed)?;
        stream
            .write_all(&Request::OpenKernelLog.to_bytes())
            .map_err(failed)?;
        let mut answer = vec![0; SHORT_ANSWER];
        let (length, passed) = fd_passing::receive(&stream, &mut answer).map_err(failed)?;
        match Reply::parse(answer.get(..length).unwrap_or_default()) {
            Some(Reply::KernelLog) => passed.ok_or_else(no_answer),
            Some(Reply::Failed(error)) => Err(error),
            Some(Reply::Ended(_)) | None => Err(no_answer()),
        }
    }

    /// Has the helper run a program of the list, or a script of a named plugin. Dropping the future ends the run.
    ///
    /// # Errors
    /// As for [`crate::process::run`], and [`SourceError::Denied`] where the helper refuses.
    pub async fn run(&self, command: &Command) -> Result<Output, SourceError> {
        let failed = |error: std::io::Error| SourceError::Other(format!("{HELPER}: {error}"));
        let request = request(command)?;
        let stream = self.connect()?;
        stream.set_nonblocking(true).map_err(failed)?;
        let mut stream = tokio::net::UnixStream::from_std(stream).map_err(failed)?;
        let exchange = async {
            stream.write_all(&request.to_bytes()).await?;
            let mut answer = Vec::new();
            stream.take(MAX_REPLY).read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let within = command.deadline.saturating_add(ANSWER_GRACE);
        let answer = match tokio::time::timeout(within, exchange).await {
            Ok(answer) => answer.map_err(failed)?,
            Err(_) => {
                return Err(SourceError::TimedOut {
                    what: HELPER.to_owned(),
                    after: within,
                    last_good: None,
                });
            }
        };
        match Reply::parse(&answer) {
            Some(Reply::Ended(output)) => Ok(output),
            Some(Reply::Failed(error)) => Err(error),
            Some(Reply::KernelLog) | None => Err(no_answer()),
        }
    }

    /// Makes a connection for one request.
    fn connect(&self) -> Result<UnixStream, SourceError> {
        let failed = |error: std::io::Error| {
            SourceError::Other(format!("{HELPER} cannot be asked ({error}); restart gpud"))
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        fd_passing::send(&self.channel, b"c", theirs.as_fd()).map_err(failed)?;
        Ok(ours)
    }
}

fn no_answer() -> SourceError {
    SourceError::Other(format!("{HELPER} ended without an answer; restart gpud"))
}

/// Returns the request for a command.
fn request(command: &Command) -> Result<Request, SourceError> {
    let bounds = Bounds::new(command.deadline, command.max_output_bytes);
    let not_asked =
        || SourceError::Invalid(format!("{HELPER} does not run this: {}", command.name()));
    match &command.program {
        Program::BashFile(script) => Ok(Request::RunScript {
            bounds,
            script: script.clone(),
        }),
        Program::BashStdin(_) => Err(not_asked()),
        Program::Argv(words) => {
            let (program, arguments) = words.split_first().ok_or_else(not_asked)?;
            let name = Path::new(program)
                .file_name()
                .and_then(|name| name.to_str());
            let texts = arguments
                .iter()
                .map(|word| word.to_str().map(str::to_owned));
            Ok(Request::RunProgram {
                bounds,
                name: name.ok_or_else(not_asked)?.to_owned(),
                arguments: texts.collect::<Option<_>>().ok_or_else(not_asked)?,
            })
        }
    }
}
