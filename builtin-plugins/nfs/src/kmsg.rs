//! Kernel messages of NFS clients in trouble. Sources: `net/sunrpc/clnt.c` (`call_timeout`, `rpc_check_timeout`),
//! `fs/nfs/nfs4state.c`, and stack traces through `fs/nfs/write.c`.

use gpud_sdk::incidents::is_kernel_line;
use gpud_sdk::{CheckContext, Event, EventType, Evidence, Message, Subject};

/// A server does not answer.
pub const NOT_RESPONDING: &str = "nfs_server_not_responding";
/// It answers again.
pub const OK: &str = "nfs_server_ok";
/// Locks could not be taken back from a server that restarted.
pub const LOCK_RECLAIM_FAILED: &str = "nfs_lock_reclaim_failed";
/// A process hangs while it writes back.
pub const WRITEBACK_HANG: &str = "nfs_writeback_hang";

/// Message of [`NOT_RESPONDING`] before the server's name.
pub const NOT_RESPONDING_MESSAGE: &str = "NFS server not responding: ";
/// Message of [`OK`] before the server's name.
pub const OK_MESSAGE: &str = "NFS server recovered: ";

/// Repeats of the same message within this time are counted, not stored.
const MERGE_SECONDS: u32 = 300;
/// Longest name of a server that is taken from a line, bytes (a host name has 255 at most).
const MAX_SERVER: usize = 256;
/// Longest name of a subject that the host takes, bytes.
const MAX_SUBJECT: usize = 128;

/// What the host delivers: no narrower than [`find`].
pub const PATTERNS: [&str; 3] = [
    "nfs: server [^ ]+ (not responding|OK)",
    "nfs4_reclaim_open_state: Lock reclaim failed",
    r"nfs_(lock_and_join_requests|wb_all|page_async_flush|writepages_callback)\+0x[0-9a-f]",
];

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
    let (name, text, server) = match find(&message.text)? {
        Line::NotResponding(server) => (
            NOT_RESPONDING,
            format!("{NOT_RESPONDING_MESSAGE}{}", clip(server)),
            Some(server),
        ),
        Line::Ok(server) => (OK, format!("{OK_MESSAGE}{}", clip(server)), Some(server)),
        Line::LockReclaimFailed => (
            LOCK_RECLAIM_FAILED,
            "NFS lock reclaim failed (state manager unable to recover)".to_owned(),
            None,
        ),
        Line::Writeback => (
            WRITEBACK_HANG,
            "NFS client stuck in kernel writeback path".to_owned(),
            None,
        ),
    };
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let time = message.time.min(context.now);
    // By boot, so that what happened after a reboot is not counted to what was before.
    let key = format!("{} {text}", context.boot_id);
    let mut event = Event::new(time, name, EventType::Warning, text).merged_by(key, MERGE_SECONDS);
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
