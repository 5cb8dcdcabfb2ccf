//! Lines about a log rather than of it: journalctl's separators, headers of `tail -f`, clush and ansible, code fences.

use super::hosts::{self, HostId};

/// The shortest line of dashes that is one: clush writes 15.
const DASHES: usize = 10;

/// The content of such a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note<'a> {
    /// The following lines are of another boot, with its id.
    Boot(Option<&'a [u8]>),
    /// The following lines are of this host.
    Host(&'a [u8]),
    /// Nothing that matters.
    Text,
}

/// The content of earlier notes.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The host whose lines follow.
    pub host: HostId,
    after_dashes: bool,
}

impl Notes {
    /// Takes a line; `None` if it is no note.
    pub fn take<'a>(&mut self, line: &'a [u8]) -> Option<Note<'a>> {
        let after_dashes = std::mem::take(&mut self.after_dashes);
        match line.first() {
            Some(b'-') => {}
            Some(b'=') => {
                let header = line.starts_with(b"==> ") && line.ends_with(b" <==");
                return header.then_some(Note::Text);
            }
            Some(b'`') => return line.starts_with(b"```").then_some(Note::Text),
            _ => return of_host(line, after_dashes),
        }
        if line.len() >= DASHES && line.iter().all(|&byte| byte == b'-') {
            // clush: dashes, the host, dashes.
            self.after_dashes = true;
            return Some(Note::Text);
        }
        let note = line.strip_prefix(b"-- ")?;
        let Some(note) = note.strip_suffix(b" --") else {
            return note.starts_with(b"cursor: ").then_some(Note::Text);
        };
        let mut words = note.split(|&byte| byte == b' ');
        Some(match words.next() {
            Some(b"Boot" | b"Reboot") => {
                // Another boot of the same host, whichever that is.
                let id = words
                    .next()
                    .filter(|id| super::boots::boot_id(id).is_some());
                Note::Boot(id)
            }
            _ => Note::Text,
        })
    }
}

/// `n1 | CHANGED | rc=0 >>` of ansible, and `n1` between two lines of dashes.
fn of_host(line: &[u8], after_dashes: bool) -> Option<Note<'_>> {
    if after_dashes && hosts::is_host(line) {
        return Some(Note::Host(line));
    }
    let end = line.strip_suffix(b">>")?;
    let at = end.iter().position(|&byte| byte == b'|')?;
    let host = end.get(..at)?.trim_ascii();
    let is_result = end.windows(3).any(|three| three == b"rc=");
    (is_result && hosts::is_host(host)).then_some(Note::Host(host))
}
