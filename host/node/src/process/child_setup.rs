//! Sets up every child in the same state, however gpud itself was started: by `nohup`, in the background of a shell, by
//! systemd with a strict umask, in a container with another OOM score, or by a program that left descriptors open.
#![allow(
    unsafe_code,
    reason = "between fork(2) and exec(2) only plain system calls are allowed"
)]

use std::{ffi::CStr, io, mem::MaybeUninit, ptr};

use rustix::fd::RawFd;

/// The umask of scripts and programs of plugins.
const UMASK: libc::mode_t = 0o022;
/// Highest number of a signal.
const LAST_SIGNAL: libc::c_int = 64;
/// The kernel's `struct sigaction` for the default action, with room for every architecture's.
const DEFAULT_ACTION: [u64; 8] = [0; 8];
/// Bytes of the kernel's set of signals.
const SIGNAL_SET_BYTES: usize = 8;
/// First descriptor after standard input, output and error.
const FIRST_DESCRIPTOR: RawFd = 3;
/// Most descriptors that are looked at one by one, on kernels before 5.11.
const MOST_DESCRIPTORS: RawFd = 65_536;
/// A process's own OOM score adjustment, and the neutral value.
const OOM_SCORE: &CStr = c"/proc/self/oom_score_adj";
const NEUTRAL: &[u8] = b"0";

/// Has a child start with the default action for every signal, no blocked signal, a neutral OOM score, and no descriptors but
/// the standard ones and `passed`. A contained one starts with umask 022 as well, and in a session of its own, so that nothing of
/// it can join gpud's process group.
pub fn prepare(process: &mut tokio::process::Command, passed: Option<RawFd>, is_contained: bool) {
    let clean = move || {
        reset_signals();
        if is_contained {
            // SAFETY: changes this process alone. It fails for the leader of a group, which a new process is not.
            if unsafe { libc::setsid() } < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: takes and returns a number, and cannot fail.
            unsafe { libc::umask(UMASK) };
        }
        reset_oom_score();
        close_descriptors();
        if let Some(descriptor) = passed {
            // SAFETY: changes a flag of a descriptor that the parent holds open until the child has started.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) };
        }
        Ok::<(), io::Error>(())
    };
    // SAFETY: the closure runs in the child after fork(2), where other threads' locks may be held. It allocates nothing, takes
    // no lock and makes only system calls.
    unsafe { process.pre_exec(clean) };
}

/// An ignored signal stays ignored over exec(2), and so does the mask.
fn reset_signals() {
    for signal in 1..=LAST_SIGNAL {
        // The C library's own function refuses the signals that it uses itself, and a parent may have ignored these, too.
        // SAFETY: the kernel only reads, and less than the array has; zeros are the default action without flags or mask. The
        // call fails for signals that cannot be caught, which are never ignored.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT_ACTION.as_ptr(),
                ptr::null_mut::<u64>(),
                SIGNAL_SET_BYTES,
            )
        };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is filled before it is read, and the old mask is not asked for.
    unsafe {
        if libc::sigemptyset(none.as_mut_ptr()) == 0 {
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        }
    }
}

/// A daemon that the kernel spares when memory runs out must not have its scripts spared. Without the right to lower a
/// score it stays.
fn reset_oom_score() {
    // SAFETY: the name ends with a zero byte, the buffer has the length that is given, and the descriptor is the one just
    // opened.
    unsafe {
        let file = libc::open(OOM_SCORE.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, NEUTRAL.as_ptr().cast(), NEUTRAL.len());
            libc::close(file);
        }
    }
}

/// Has exec(2) close them: the standard library still needs one of its own until then.
fn close_descriptors() {
    // SAFETY: marks descriptors, and touches no memory.
    let marked = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_DESCRIPTOR,
            RawFd::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if marked == 0 {
        return;
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct outlives the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let last = RawFd::try_from(limit.rlim_cur)
        .map_or(MOST_DESCRIPTORS, |limit| limit.min(MOST_DESCRIPTORS));
    for descriptor in FIRST_DESCRIPTOR..last {
        // SAFETY: marks a descriptor; one that is not open is an error without effect.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::{
        fd::AsRawFd as _,
        io::{FdFlags, fcntl_setfd},
    };

    use super::*;

    #[tokio::test]
    async fn no_descriptor_and_no_umask_is_inherited() {
        let open = File::open("/dev/null").unwrap();
        fcntl_setfd(&open, FdFlags::empty()).unwrap();
        let passed = File::open("/dev/null").unwrap();
        let script = "umask; grep SigIgn /proc/self/status; for one; do [ -e /proc/self/fd/$one ] && echo $one; done; :";
        let mut process = tokio::process::Command::new("bash");
        process.args(["-c", script, "bash"]);
        process.args([&open, &passed].map(|file| file.as_raw_fd().to_string()));
        prepare(&mut process, Some(passed.as_raw_fd()), true);
        let output = process.output().await.unwrap();
        let expected = format!("0022\nSigIgn:\t0000000000000000\n{}\n", passed.as_raw_fd());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}
