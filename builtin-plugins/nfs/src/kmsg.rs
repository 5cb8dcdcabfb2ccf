//! Kernel messages of NFS clients in trouble. Sources: `net/sunrpc/clnt.c` (`call_timeout`, `rpc_check_timeout`),
//! `fs/nfs/nfs4state.c`, and stack traces through `fs/nfs/write.c`.

use gpud_sdk::incidents::is_driver_line;
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

/// The content of a kernel line.
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
    if !is_driver_line(message) {
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

/// Returns the NFS event of a kernel line; the first that matches.
pub fn find(line: &str) -> Option<Line<'_>> {
    if let Some(server) = server(line, " not responding") {
        return Some(Line::NotResponding(server));
    }
    if let Some(server) = server(line, " OK") {
        return Some(Line::Ok(server));
    }
    let of_client = line.strip_prefix("NFS: ").unwrap_or(line);
    if of_client.starts_with("nfs4_reclaim_open_state: Lock reclaim failed") {
        return Some(Line::LockReclaimFailed);
    }
    WRITEBACK
        .iter()
        .any(|function| is_in_trace(line, function))
        .then_some(Line::Writeback)
}

/// The server of `nfs: server ‹server›‹what›`: anything without a space.
fn server<'a>(line: &'a str, what: &str) -> Option<&'a str> {
    let rest = line.strip_prefix("nfs: server ")?;
    let end = rest.find(' ').filter(|&end| end > 0)?;
    let (server, rest) = rest.split_at_checked(end)?;
    rest.starts_with(what).then_some(server)
}

/// `‹function›+0x‹hexadecimal›/0x…` where a line of a stack trace has it: alone, behind an address (`[<ffffffff81>]`), a
/// `?`, or the name of a register. A process can be called `nfs_wb_all+0x1/`, and no longer.
fn is_in_trace(line: &str, function: &str) -> bool {
    let rest = line.trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let digits = |text: &str| text.bytes().take_while(|byte| is_hex(byte)).count();
    let address = rest.strip_prefix("[<").and_then(|rest| {
        let rest = rest.get(digits(rest)..)?;
        rest.strip_prefix(">] ")
    });
    let rest = address.unwrap_or(rest);
    let register = rest.strip_prefix("RIP: ").and_then(|rest| {
        let rest = rest.get(digits(rest)..)?.strip_prefix(':')?;
        Some(rest.strip_prefix(' ').unwrap_or(rest))
    });
    let marked = || {
        ["? ", "pc : ", "lr : "]
            .iter()
            .find_map(|mark| rest.strip_prefix(mark))
    };
    let rest = register.or_else(marked).unwrap_or(rest);
    rest.strip_prefix(function).is_some_and(|offset| {
        let length = digits(offset);
        let after = offset.get(length..).unwrap_or_default();
        length > 0 && (after.is_empty() || after.starts_with("/0x"))
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
