//! Bars system calls that nothing of gpud makes and that have given attackers the kernel, for this process and its children.
//!
//! Scripts inherit the filter, and no list of allowed calls fits all scripts: so the list names what is refused.
//! `table` says which calls, and `program` turns it into what the kernel runs.

mod program;
mod table;

use std::io;

use crate::error::SourceError;

/// Has the kernel refuse the calls of the table to this thread, to threads that it starts, and to their children. No program
/// can take the filter away. Call this before any other thread is started, and after new privileges are barred.
///
/// # Errors
/// The kernel has no such filters, or gpud has no table for this kind of processor. Nothing is barred then.
pub fn bar_dangerous() -> Result<(), SourceError> {
    let families = table::families(std::env::consts::ARCH);
    if families.is_empty() {
        let what = "a filter of system calls on this processor".to_owned();
        return Err(SourceError::NotSupported(what));
    }
    apply(&program::build(families)).map_err(|error| {
        SourceError::Other(format!(
            "the kernel takes no filter of system calls: {error}"
        ))
    })
}

/// Gives a program to the kernel.
#[expect(unsafe_code, reason = "there is no safe way to set a filter")]
fn apply(program: &[program::Instruction]) -> io::Result<()> {
    let mut filter: Vec<libc::sock_filter> = program
        .iter()
        .map(|instruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.if_true,
            jf: instruction.if_false,
            k: instruction.operand,
        })
        .collect();
    let length =
        u16::try_from(filter.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let given = libc::sock_fprog {
        len: length,
        filter: filter.as_mut_ptr(),
    };
    let none: libc::c_ulong = 0;
    // SAFETY: the kernel reads `given` and the `length` instructions behind its pointer, and both outlive the call.
    let result = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
            &raw const given,
            none,
            none,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
