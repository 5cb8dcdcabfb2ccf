//! The helper's side: takes requests from its standard input, checks each against the closed lists, and answers.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream as BlockingStream,
    },
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use rustix::net::{
    AddressFamily, SocketType,
    sockopt::{socket_domain, socket_peercred, socket_type},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    sync::mpsc,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    fd_passing, programs,
    reply::Reply,
    request::{Bounds, MAX_REQUEST, Request},
};
use crate::{
    error::SourceError,
    kmsg,
    process::{self, Command, Program, Streams, find_program},
};

/// Most bytes of one output stream.
pub const MAX_OUTPUT: u32 = 4 << 20;
/// Most requests under way.
const MAX_RUNNING: usize = 16;
/// Longest that a program of the list runs.
const PROGRAM_WITHIN: Duration = Duration::from_secs(60);
/// Longest that a request may take to arrive.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The actions that this helper may do, fixed when it starts.
#[derive(Debug, Default)]
pub struct AllowedRequests {
    /// The kernel log that it opens.
    pub kernel_log: PathBuf,
    /// The scripts that it runs, each with the longest time.
    pub scripts: BTreeMap<Vec<u8>, Duration>,
}

/// Why the helper does not run.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It was not started by gpud.
    #[error("`gpud root-helper` is a part of `gpud run --user`, which starts it")]
    NotStarted,
    /// The system's answer.
    #[error("the root helper: {0}")]
    System(#[from] io::Error),
}

/// Answers requests until the daemon ends; whatever runs then is ended.
///
/// # Errors
/// Standard input is not the daemon's socket.
pub async fn serve(allowed: AllowedRequests) -> Result<(), HelperError> {
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    match is_unix(&channel, SocketType::SEQPACKET) {
        true => {
            let served = serve_at(channel, allowed).await;
            process::end_all().await;
            served
        }
        false => Err(HelperError::NotStarted),
    }
}

/// The same, at this end of a pair of sockets.
pub(super) async fn serve_at(
    channel: OwnedFd,
    allowed: AllowedRequests,
) -> Result<(), HelperError> {
    let allowed = Arc::new(allowed);
    let daemon = socket_peercred(&channel).map_err(io::Error::from)?;
    let daemon = daemon.pid.as_raw_pid();
    let (arrived, mut requests) = mpsc::channel(MAX_RUNNING);
    // It waits for the daemon's whole life, and ends with it.
    tokio::task::spawn_blocking(move || {
        while let Some(connection) = next(&channel) {
            if arrived.blocking_send(connection).is_err() {
                return;
            }
        }
    });
    let stop = CancellationToken::new();
    let orphans = tokio::spawn(process::look_after_orphans(stop.clone()));
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            // Further ones wait.
            connection = requests.recv(), if running.len() < MAX_RUNNING => {
                let Some(connection) = connection else { break };
                let allowed = Arc::clone(&allowed);
                running.spawn(async move {
                    // A caller that does not read its answer has ended.
                    let _ = answer(connection, daemon, &allowed).await;
                });
            }
            Some(_) = running.join_next() => {}
        }
    }
    running.shutdown().await;
    stop.cancel();
    let _ = orphans.await;
    Ok(())
}

/// Waits for the next connection; `None` once the daemon has ended.
fn next(channel: &OwnedFd) -> Option<BlockingStream> {
    loop {
        match fd_passing::receive(channel, &mut [0; 8]) {
            Ok((0, _)) | Err(_) => return None,
            Ok((_, Some(connection))) if is_unix(&connection, SocketType::STREAM) => {
                return Some(connection.into());
            }
            // A message without a connection has nobody to be answered.
            Ok(_) => {}
        }
    }
}

fn is_unix(socket: &OwnedFd, kind: SocketType) -> bool {
    socket_type(socket).is_ok_and(|found| found == kind)
        && socket_domain(socket).is_ok_and(|domain| domain == AddressFamily::UNIX)
}

async fn answer(
    connection: BlockingStream,
    daemon: i32,
    allowed: &AllowedRequests,
) -> io::Result<()> {
    connection.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(connection)?;
    // An answer is written in root's name, so not to a service that the daemon has connected to.
    if stream.peer_cred()?.pid() != Some(daemon) {
        return Ok(());
    }
    let reply = match read(&mut stream).await {
        Err(error) => Reply::Failed(error),
        Ok(Request::OpenKernelLog) => match kmsg::open_source(&allowed.kernel_log) {
            Ok(log) => {
                let stream = stream.into_std()?;
                return fd_passing::send(&stream, &Reply::KernelLog.to_bytes(), log.as_fd());
            }
            Err(error) => Reply::Failed(error),
        },
        Ok(request) => {
            let mut gone = [0];
            tokio::select! {
                // The caller sends nothing more: what can be read is its end.
                _ = stream.read(&mut gone) => return Ok(()),
                reply = run(request, allowed) => reply,
            }
        }
    };
    stream.write_all(&reply.to_bytes()).await?;
    stream.shutdown().await
}

/// Reads one request.
async fn read(stream: &mut UnixStream) -> Result<Request, SourceError> {
    let bad = |why: &str| SourceError::Invalid(format!("the root helper: {why}"));
    let read = async {
        let length = usize::try_from(stream.read_u32_le().await?).unwrap_or(usize::MAX);
        if length > MAX_REQUEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        Ok::<_, io::Error>(body)
    };
    match tokio::time::timeout(READ_WITHIN, read).await {
        Err(_) => Err(bad("the request did not arrive")),
        Ok(Err(error)) => Err(bad(&error.to_string())),
        Ok(Ok(body)) => Request::parse(&body).map_err(|error| bad(&error.to_string())),
    }
}

/// Checks and runs.
async fn run(request: Request, allowed: &AllowedRequests) -> Reply {
    let command = match request {
        Request::OpenKernelLog => Err(SourceError::Invalid("not a program".to_owned())),
        Request::RunProgram {
            bounds,
            name,
            arguments,
        } => program(bounds, &name, arguments).await,
        Request::RunScript { bounds, script } => script_command(bounds, script, allowed),
    };
    let ended = match command {
        Ok(command) => process::run(command).await,
        Err(error) => Err(error),
    };
    ended.map_or_else(Reply::Failed, Reply::Ended)
}

async fn program(
    bounds: Bounds,
    name: &str,
    arguments: Vec<String>,
) -> Result<Command, SourceError> {
    if !programs::is_listed(name, &arguments) {
        return Err(SourceError::Denied(format!(
            "the root helper does not run {name} with these arguments"
        )));
    }
    let path = find_program(name).await?;
    process::check_program(&path).await?;
    let words =
        std::iter::once(OsString::from(path)).chain(arguments.into_iter().map(OsString::from));
    Ok(bounded(
        Program::Argv(words.collect()),
        bounds,
        PROGRAM_WITHIN,
    ))
}

fn script_command(
    bounds: Bounds,
    script: Vec<u8>,
    allowed: &AllowedRequests,
) -> Result<Command, SourceError> {
    let Some(longest) = allowed.scripts.get(&script).copied() else {
        return Err(SourceError::Denied(
            "the root helper does not run this script: it is none of --root-plugins as they were when gpud started; restart gpud"
                .to_owned(),
        ));
    };
    Ok(Command {
        streams: Streams::Combined,
        ..bounded(Program::BashFile(script), bounds, longest)
    })
}

fn bounded(program: Program, bounds: Bounds, longest: Duration) -> Command {
    Command {
        max_output_bytes: bounds.max_output.min(MAX_OUTPUT) as usize,
        contained: true,
        ..Command::new(program, bounds.timeout().min(longest))
    }
}
