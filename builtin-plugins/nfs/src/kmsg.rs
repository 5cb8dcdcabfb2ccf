//! Kernel messages of NFS clients in trouble. Sources: `net/sunrpc/clnt.c` (`call_timeout`, `rpc_check_timeout`),
//! `fs/nfs/nfs4state.c`, and stack traces through `fs/nfs/write.c`.

use gpud_sdk::incidents::is_kernel_line;
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject};

use crate::patterns;

/// A server does not answer.
pub const NOT_RESPONDING: &str = patterns::NFS_SERVER_NOT_RESPONDING.name;
/// It answers again.
pub const OK: &str = patterns::NFS_SERVER_OK.name;
/// Locks could not be taken back from a server that restarted.
pub const LOCK_RECLAIM_FAILED: &str = patterns::NFS_LOCK_RECLAIM_FAILED.name;
/// A process hangs while it writes back.
pub const WRITEBACK_HANG: &str = patterns::NFS_WRITEBACK_HANG.name;

/// Message of [`NOT_RESPONDING`] before the server's name.
pub const NOT_RESPONDING_MESSAGE: &str = patterns::NFS_SERVER_NOT_RESPONDING.message;
/// Message of [`OK`] before the server's name.
pub const OK_MESSAGE: &str = patterns::NFS_SERVER_OK.message;

/// Repeats of the same message within this time are counted, not stored.
const MERGE_SECONDS: u32 = 300;
/// Longest name of a server that is taken from a line, bytes (a host name has 255 at most).
const MAX_SERVER: usize = 256;
/// Longest name of a subject that the host takes, bytes.
const MAX_SUBJECT: usize = 128;

pub use crate::patterns::PATTERNS;

/// Functions of the writeback path.
const WRITEBACK: [&str; 4] = [
    "nfs_lock_and_join_requests+0x",
    "nfs_wb_all+0x",
    "nfs_page_async_flush+0x",
    "nfs_writepages_callback+0x",
];

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// This server does not answer.
    NotResponding(&'a str),
    /// This server answers again.
    Ok(&'a str),
    /// Locks are lost.
    LockReclaimFailed,
    /// A stack trace through the writeback path.
    Writeback,
}

/// The event that a message stands for, if any.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    if !is_kernel_line(message) {
        return None;
    }
    let (entry, server) = match find(&message.text)? {
        Line::NotResponding(server) => (&patterns::NFS_SERVER_NOT_RESPONDING, Some(server)),
        Line::Ok(server) => (&patterns::NFS_SERVER_OK, Some(server)),
        Line::LockReclaimFailed => (&patterns::NFS_LOCK_RECLAIM_FAILED, None),
        Line::Writeback => (&patterns::NFS_WRITEBACK_HANG, None),
    };
    let text = format!("{}{}", entry.message, server.map_or("", clip));
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let time = message.time.min(context.now);
    // By boot, so that what happened after a reboot is not counted to what was before.
    let key = format!("{} {text}", context.boot_id);
    let mut event =
        Event::new(time, entry.name, entry.event_type(), text).merged_by(key, MERGE_SECONDS);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    event.subject = server.map(subject);
    Some(event)
}

/// A server as a subject.
pub fn subject(server: &str) -> Subject {
    Subject::Other(("nfs-server".to_owned(), cut(server, MAX_SUBJECT).to_owned()))
}

/// What a kernel line tells of NFS; the first that fits.
pub fn find(line: &str) -> Option<Line<'_>> {
    if let Some(server) = server(line, " not responding") {
        return Some(Line::NotResponding(server));
    }
    if let Some(server) = server(line, " OK") {
        return Some(Line::Ok(server));
    }
    if line.contains("nfs4_reclaim_open_state: Lock reclaim failed") {
        return Some(Line::LockReclaimFailed);
    }
    WRITEBACK
        .iter()
        .any(|function| is_in_trace(line, function))
        .then_some(Line::Writeback)
}

/// The server of `nfs: server ‹server›‹what›`: anything without a space.
fn server<'a>(line: &'a str, what: &str) -> Option<&'a str> {
    const BEGIN: &str = "nfs: server ";
    line.match_indices(BEGIN).find_map(|(at, _)| {
        let rest = line.get(at + BEGIN.len()..)?;
        let end = rest.find(' ').filter(|&end| end > 0)?;
        let (server, rest) = rest.split_at_checked(end)?;
        rest.starts_with(what).then_some(server)
    })
}

/// `‹function›+0x‹hexadecimal›` at the beginning or after white space.
fn is_in_trace(line: &str, function: &str) -> bool {
    line.match_indices(function).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.bytes().next_back());
        let after = line
            .get(at + function.len()..)
            .and_then(|after| after.bytes().next());
        before.is_none_or(|b| b" \t\n\x0c\r".contains(&b))
            && after.is_some_and(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

fn clip(server: &str) -> &str {
    cut(server, MAX_SERVER)
}

fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
