//! The gpud binary: reads the command line, installs logging, dispatches.

use std::{env, process::ExitCode};

use gpud::{
    cli::{self, CommandContext, Exit, Invocation, terminal::Terminal},
    executor, logging,
    node::{privileges, trusted},
    service::notify,
};
use jiff::tz::TimeZone;

fn main() -> ExitCode {
    trusted::note_parent();
    share_heaps();
    privileges::lift_limit_of_files();
    privileges::forget_foreign_files(|zone| TimeZone::posix(zone).is_ok());
    let (mut systemd, problem) = notify::take_from_environment();
    let mut invocation = match cli::parse(env::args_os()) {
        Ok(invocation) => invocation,
        Err(exit) => return exit.report(Terminal::PLAIN),
    };
    // Before any other thread is started.
    let socket = match invocation.make_ready() {
        Ok(socket) => socket,
        Err(exit) => return exit.report(Terminal::PLAIN),
    };
    let Invocation {
        task,
        log,
        color,
        notes,
    } = invocation;
    let (stdout, stderr) = (Terminal::stdout(color), Terminal::stderr(color));
    let guard = match logging::init(&log) {
        Ok(guard) => guard,
        Err(error) => return Exit::failure(error).report(stderr),
    };
    for note in notes.into_iter().chain(problem) {
        tracing::warn!("{note}");
    }
    systemd.log = guard.reopener();
    let exit = match executor::start() {
        Ok(runtime) => {
            let context = CommandContext {
                stdout,
                stderr,
                service: systemd,
                socket,
            };
            let done = runtime.block_on(task.carry_out(context));
            runtime.shutdown_background();
            done.unwrap_or_else(|exit| exit)
        }
        Err(error) => Exit::failure(format!("no threads to run on: {error}")),
    };
    drop(guard);
    exit.report(stderr)
}

/// glibc gives every thread a heap of its own, up to eight times the number of cores; most of gpud's threads wait, and
/// the heaps would cost it several MiB. It also keeps large pieces for later once it has seen some; those of large answers are
/// to go back to the system.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a setting of the C library")]
fn share_heaps() {
    // SAFETY: called before any other thread is started; `mallopt` only sets numbers.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_PIECE);
    }
}

/// Bytes of a piece of memory that is not kept for later; glibc's own bound to begin with.
#[cfg(target_env = "gnu")]
const LARGE_PIECE: libc::c_int = 128 * 1024;

#[cfg(not(target_env = "gnu"))]
fn share_heaps() {}
