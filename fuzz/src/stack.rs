//! A stack as small as that of the daemon's threads, and a way to find the input that overflowed it.

#![allow(unsafe_code, reason = "signal handling has no safe interface")]

use std::{io, ptr};

/// What a Rust thread has by default, and so the threads of the daemon.
const STACK_BYTES: libc::rlim_t = 2 << 20;
/// For the handler of an overflow, which writes the input to a file.
const HANDLER_STACK_BYTES: usize = 256 << 10;

/// Takes the main thread's stack down to what the daemon's threads have. To be called before libFuzzer sets its handlers.
///
/// # Panics
/// If the operating system refuses.
pub fn small_stack() {
    let limit = libc::rlimit {
        rlim_cur: STACK_BYTES,
        rlim_max: STACK_BYTES,
    };
    let handler_stack = libc::stack_t {
        ss_sp: Vec::leak(vec![0_u8; HANDLER_STACK_BYTES])
            .as_mut_ptr()
            .cast(),
        ss_flags: 0,
        ss_size: HANDLER_STACK_BYTES,
    };
    // SAFETY: each call gets valid pointers; the handler's stack lives as long as the process and serves nothing else; the
    // action is the default one.
    let results = unsafe {
        // libFuzzer keeps this flag when it sets its own handler.
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        action.sa_flags = libc::SA_ONSTACK;
        [
            libc::setrlimit(libc::RLIMIT_STACK, &limit),
            libc::sigaltstack(&handler_stack, ptr::null_mut()),
            libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()),
        ]
    };
    let error = io::Error::last_os_error();
    assert_eq!(results, [0; 3], "{error}");
}
