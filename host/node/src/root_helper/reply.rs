//! The root helper's answers as bytes. The numbers and texts are those of requests.

use std::time::Duration;

use super::request::{put_bytes, put_number, take, take_bytes, take_number, take_text};
use crate::{error::SourceError, process::Output};

/// Largest answer, bytes: two streams of output, and room for the fields.
pub const MAX_REPLY: u64 = 2 * super::server::MAX_OUTPUT as u64 + 64;

const KERNEL_LOG: u8 = 1;
const ENDED: u8 = 2;
const FAILED: u8 = 3;

const HAS_CODE: u8 = 1;
const HAS_SIGNAL: u8 = 2;
const DUMPED_CORE: u8 = 4;
const CUT_STDOUT: u8 = 8;
const CUT_STDERR: u8 = 16;

const DENIED: u8 = 1;
const NOT_FOUND: u8 = 2;
const TIMED_OUT: u8 = 3;
const OTHER: u8 = 4;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The kernel log is open; its descriptor comes with this answer.
    KernelLog,
    /// The program or script ended.
    Ended(Output),
    /// It was refused, or failed.
    Failed(SourceError),
}

impl Reply {
    /// Returns the bytes to send.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::KernelLog => bytes.push(KERNEL_LOG),
            Self::Ended(output) => put_output(&mut bytes, output),
            Self::Failed(error) => {
                let (kind, after, text) = match error {
                    SourceError::Denied(what) => (DENIED, Duration::ZERO, what.clone()),
                    SourceError::NotFound(what) => (NOT_FOUND, Duration::ZERO, what.clone()),
                    SourceError::TimedOut { what, after, .. } => (TIMED_OUT, *after, what.clone()),
                    other => (OTHER, Duration::ZERO, other.to_string()),
                };
                bytes.extend([FAILED, kind]);
                put_number(&mut bytes, milliseconds(after));
                put_bytes(&mut bytes, text.as_bytes());
            }
        }
        bytes
    }

    /// Reads an answer; `None` where the helper ended before it had sent all of it.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let reply = take_reply(&mut rest)?;
        rest.is_empty().then_some(reply)
    }
}

fn put_output(bytes: &mut Vec<u8>, output: &Output) {
    let flags = [
        (output.exit_code.is_some(), HAS_CODE),
        (output.signal.is_some(), HAS_SIGNAL),
        (output.core_dumped, DUMPED_CORE),
        (output.stdout_truncated, CUT_STDOUT),
        (output.stderr_truncated, CUT_STDERR),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    bytes.extend([ENDED, set.fold(0_u8, |all, (_, flag)| all | flag)]);
    put_number(bytes, output.exit_code.unwrap_or(0).cast_unsigned());
    put_number(bytes, output.signal.unwrap_or(0).cast_unsigned());
    put_number(bytes, milliseconds(output.duration));
    put_bytes(bytes, &output.stdout);
    put_bytes(bytes, &output.stderr);
}

fn take_reply(rest: &mut &[u8]) -> Option<Reply> {
    match *take(rest, 1)?.first()? {
        KERNEL_LOG => Some(Reply::KernelLog),
        ENDED => take_output(rest).map(Reply::Ended),
        FAILED => {
            let kind = *take(rest, 1)?.first()?;
            let after = Duration::from_millis(take_number(rest)?.into());
            let text = take_text(rest)?;
            Some(Reply::Failed(match kind {
                DENIED => SourceError::Denied(text),
                NOT_FOUND => SourceError::NotFound(text),
                TIMED_OUT => SourceError::TimedOut {
                    what: text,
                    after,
                    last_good: None,
                },
                OTHER => SourceError::Other(text),
                _ => return None,
            }))
        }
        _ => None,
    }
}

fn take_output(rest: &mut &[u8]) -> Option<Output> {
    let flags = *take(rest, 1)?.first()?;
    let has = |flag: u8| flags & flag != 0;
    let code = take_number(rest)?.cast_signed();
    let signal = take_number(rest)?.cast_signed();
    let duration = Duration::from_millis(take_number(rest)?.into());
    Some(Output {
        exit_code: has(HAS_CODE).then_some(code),
        signal: has(HAS_SIGNAL).then_some(signal),
        core_dumped: has(DUMPED_CORE),
        stdout: take_bytes(rest)?.to_vec(),
        stderr: take_bytes(rest)?.to_vec(),
        stdout_truncated: has(CUT_STDOUT),
        stderr_truncated: has(CUT_STDERR),
        duration,
    })
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
