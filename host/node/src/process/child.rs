//! One child process from start to reaping.

use std::{
    future::pending,
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal};
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin},
};

use super::{
    Command, Env, Output, Program, Streams,
    cgroup::{Cgroup, Cgroups},
    child_setup, io_error, limits,
    output::{OutputStream, Pipes},
    runs::{self, Run},
    script_file::ScriptFile,
};
use crate::{error::SourceError, temporary, trusted};

/// How long a killed process may take to end.
const REAP_WITHIN: Duration = Duration::from_secs(2);
/// How often the processes that a run left behind are searched: a killed one may have started others just before.
const SWEEPS: u32 = 5;
/// The longest wait for one of them.
const SWEEP_WITHIN: Duration = Duration::from_secs(1);
/// The pause between two such searches.
const BETWEEN_SWEEPS: Duration = Duration::from_millis(2);

/// A started process. Dropped, it takes all that it began with it.
struct Running {
    // Before `child`: fields are dropped in this order, and a child that was not waited for is not reaped before that.
    group: Group,
    child: Child,
    pipes: Option<Pipes>,
    _script: Option<ScriptFile>,
}

/// Kills the process group, and what left it, when dropped, unless that was done before.
struct Group {
    /// The main process, which leads the group, until the group was killed.
    leader: Option<Pid>,
    run: Run,
    cgroup: Option<Cgroup>,
}

impl Group {
    /// `is_over`: the main process was waited for, so its number is no longer its own.
    fn kill(&mut self, is_over: bool) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let Some(leader) = self.leader.take() else {
            return;
        };
        if !is_over {
            // This is before it is killed: then its children could no longer be found.
            runs::kill_descendants(leader);
        }
        // It fails only when nobody is left.
        let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill(false);
    }
}

/// `cgroups`: where the run gets a cgroup of its own.
pub async fn run(
    command: Command,
    cgroups: Option<&'static Cgroups>,
) -> Result<Output, SourceError> {
    let answer = until_end(command, cgroups).await;
    // The run is over, and with it everything that it left.
    for sweep in 0..SWEEPS {
        if sweep > 0 {
            tokio::time::sleep(BETWEEN_SWEEPS).await;
        }
        let sweep = tokio::task::spawn_blocking(runs::sweep);
        let swept = tokio::time::timeout(SWEEP_WITHIN, sweep).await;
        if !matches!(swept, Ok(Ok(killed)) if killed > 0) {
            break;
        }
    }
    answer
}

async fn until_end(
    command: Command,
    cgroups: Option<&'static Cgroups>,
) -> Result<Output, SourceError> {
    let started = Instant::now();
    let (name, deadline) = (command.name(), command.deadline);
    let timed_out = || SourceError::TimedOut {
        what: name.clone(),
        after: started.elapsed(),
        last_good: None,
    };
    let left = || deadline.saturating_sub(started.elapsed());
    if left().is_zero() {
        return Err(timed_out());
    }

    let (limit, echo) = (command.max_output_bytes, command.echo);
    let script = match &command.program {
        Program::BashStdin(script) => script.clone(),
        Program::Argv(_) => command.stdin.clone(),
        Program::BashFile(_) => Vec::new(),
    };
    // Starting a program reads it from disk, which may hang. If the deadline passes in the meantime, the finished start
    // is dropped there, and with it the group.
    let start = tokio::task::spawn_blocking(move || start(&command, cgroups));
    let mut running = match tokio::time::timeout(left(), start).await {
        Ok(Ok(running)) => running?,
        Ok(Err(error)) => return Err(SourceError::Other(format!("{name}: {error}"))),
        Err(_) => return Err(timed_out()),
    };
    let Some(pipes) = running.pipes.take() else {
        return Err(SourceError::Other(format!("{name}: no pipes")));
    };
    let (mut stdout, mut stderr) = pipes.collect(&name, limit, echo)?;

    let stdin = running.child.stdin.take();
    let talk = async {
        tokio::join!(stdout.pump(), stderr.pump(), feed(stdin, &script));
        pending::<()>().await;
    };
    let ended = tokio::select! {
        biased;
        status = running.child.wait() => Some(status),
        () = talk => None,
        () = tokio::time::sleep(left()) => None,
    };
    // At once: a reaped leader's number stays taken while its group has members, and without members it would need a
    // whole round of process numbers within these microseconds to belong to strangers.
    running.group.kill(ended.is_some());
    let Some(status) = ended else {
        // One that is stuck in the kernel is left to the runtime, which reaps it later.
        let waited = tokio::time::timeout(REAP_WITHIN, running.child.wait()).await;
        if waited.is_ok() {
            running.group.run.waited_for();
        }
        return Err(timed_out());
    };
    running.group.run.waited_for();
    let status = status.map_err(|error| io_error(&name, "waiting", &error))?;
    Ok(output(status, stdout, stderr, started.elapsed()))
}

fn output(
    status: ExitStatus,
    stdout: OutputStream,
    stderr: OutputStream,
    duration: Duration,
) -> Output {
    let (stdout, stdout_truncated) = stdout.finish();
    let (stderr, stderr_truncated) = stderr.finish();
    Output {
        exit_code: status.code(),
        signal: status.signal(),
        core_dumped: status.core_dumped(),
        stdout,
        stderr,
        stdout_truncated,
        stderr_truncated,
        duration,
    }
}

/// Gives the script to the shell. One that ends early does not read it all, which is no error.
async fn feed(stdin: Option<ChildStdin>, script: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(script).await;
    }
}

/// Starts the process. Blocks.
fn start(command: &Command, cgroups: Option<&'static Cgroups>) -> Result<Running, SourceError> {
    let name = command.name();
    let mut run = Run::begin(command.contained);
    let cgroup = match cgroups
        .map(|cgroups| cgroups.create(run.number()))
        .transpose()
    {
        Ok(cgroup) => cgroup,
        Err(error) => {
            tracing::debug!("{name} runs without a cgroup: {error}");
            None
        }
    };
    let (mut process, script) = program(&command.program)?;
    set_environment(&mut process, &command.env);
    if std::process::id() == 1 {
        process.env(runs::MARK, run.number().to_string());
    }
    match &command.cwd {
        Some(cwd) => {
            process.current_dir(cwd);
        }
        None if command.contained => {
            process.current_dir("/");
        }
        None => {}
    }
    process.stdin(match command.program {
        Program::BashStdin(_) => Stdio::piped(),
        Program::Argv(_) if !command.stdin.is_empty() => Stdio::piped(),
        Program::Argv(_) | Program::BashFile(_) => Stdio::null(),
    });
    let pipes =
        connect(&mut process, command.streams).map_err(|e| io_error(&name, "a pipe", &e))?;
    // A contained one begins a session, which has a group of its own.
    if !command.contained {
        process.process_group(0);
    }
    let passed = script.as_ref().and_then(ScriptFile::passed);
    child_setup::prepare(&mut process, passed, command.contained);
    let child = process
        .spawn()
        .map_err(|error| SourceError::from_io(&name, &error))?;
    // The parent's copies of the writing ends would keep the pipes open.
    drop(process);
    let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(leader) = leader {
        run.started(leader);
        if let Some(cgroup) = &cgroup
            && let Err(error) = cgroup.add(leader.as_raw_pid())
        {
            tracing::debug!("{name} stays out of its cgroup: {error}");
        }
        if command.contained {
            let is_bounded = cgroup.is_some() && cgroups.is_some_and(Cgroups::bounds);
            limits::set(leader, is_bounded);
        }
    }
    Ok(Running {
        group: Group {
            leader,
            run,
            cgroup,
        },
        child,
        pipes: Some(pipes),
        _script: script,
    })
}

/// Returns the program to start, and the file with its script, if it reads one.
fn program(
    program: &Program,
) -> Result<(tokio::process::Command, Option<ScriptFile>), SourceError> {
    match program {
        Program::Argv(argv) => {
            let (program, arguments) = argv.split_first().unzip();
            let mut process = tokio::process::Command::new(program.cloned().unwrap_or_default());
            process.args(arguments.unwrap_or_default());
            Ok((process, None))
        }
        Program::BashStdin(_) => {
            let mut process = tokio::process::Command::new("bash");
            process.arg("-s");
            Ok((process, None))
        }
        Program::BashFile(script) => {
            let file = ScriptFile::write(script, temporary::shared())
                .map_err(|error| SourceError::Other(error.to_string()))?;
            let mut process = tokio::process::Command::new("bash");
            process.arg(file.path());
            Ok((process, Some(file)))
        }
    }
}

fn set_environment(process: &mut tokio::process::Command, env: &Env) {
    match env {
        Env::WithoutSecrets => {
            let secrets = std::env::vars_os().map(|(name, _)| name);
            for name in secrets.filter(|name| super::environment::is_secret(name)) {
                process.env_remove(name);
            }
            process.env("PATH", super::search_path());
            for (name, value) in trusted::inherited() {
                match value {
                    Some(value) if !super::environment::is_secret(&name) => {
                        process.env(name, value)
                    }
                    Some(_) | None => process.env_remove(name),
                };
            }
        }
        Env::Replace(variables) => {
            process.env_clear();
            process.envs(variables.iter().map(|(name, value)| (name, value)));
        }
    }
}

fn connect(process: &mut tokio::process::Command, streams: Streams) -> io::Result<Pipes> {
    let (stdout, write_stdout) = io::pipe()?;
    let (stderr, write_stderr) = match streams {
        Streams::Separate => {
            let (read, write) = io::pipe()?;
            (Some(read), write)
        }
        Streams::Combined => (None, write_stdout.try_clone()?),
    };
    process.stdout(write_stdout).stderr(write_stderr);
    Ok(Pipes { stdout, stderr })
}
