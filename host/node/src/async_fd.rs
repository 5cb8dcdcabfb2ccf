//! Descriptors that a task waits for.

use std::{io, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// Has the reactor wait until a descriptor can be read.
///
/// # Errors
/// Those of `epoll_ctl`.
#[expect(unsafe_code, reason = "the descriptor has to stay valid")]
pub fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the `AsyncFd` owns the descriptor, and nobody replaces or closes it before it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}
