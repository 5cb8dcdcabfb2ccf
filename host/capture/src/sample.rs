//! Facts that only many lines together show.

use super::{
    scan::Scan,
    stamp::{self, Decimals},
};

/// Lines that are looked at.
pub(super) const LINES: usize = 300;
/// Bytes that these may have.
pub(super) const BYTES: usize = 1 << 20;
/// Within so many bytes a kernel message names its subsystem.
const SUBSYSTEM: usize = 80;

/// Whether this is kernel messages without any stamp: at least half of the lines begin with `subsystem: `. Lines with a
/// time are of a format that is not known; taken for messages, they would hide faults behind their prefix.
pub(super) fn is_plain<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut count = 0_usize;
    let mut named = 0_usize;
    for line in lines.filter(|line| !line.is_empty()) {
        if line.contains(&0) {
            return false;
        }
        count += 1;
        let start = line.get(..SUBSYSTEM).unwrap_or(line);
        let tagged = start.windows(2).any(|two| two == b": ");
        let is_message = tagged && start.first().is_some_and(u8::is_ascii_alphanumeric);
        named += usize::from(is_message && !has_stamp(start));
    }
    count > 0 && named * 2 >= count
}

/// Whether a time of day or the kernel's own stamp stands here.
fn has_stamp(text: &[u8]) -> bool {
    let mut before = 0;
    (0..text.len()).any(|at| {
        let rest = text.get(at..).unwrap_or_default();
        // Within an address of PCI or SCSI.
        let is_inside = before == b':' || u8::is_ascii_digit(&before);
        before = rest.first().copied().unwrap_or_default();
        !is_inside && is_time(rest) || stamp::kernel(&mut Scan(rest), Decimals::Six).is_some()
    })
}

/// Whether a text begins with `08:00:00`, and no further part of an address follows.
fn is_time(text: &[u8]) -> bool {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let is_colon = |at: usize| text.get(at) == Some(&b':');
    [0, 1, 3, 4, 6, 7].into_iter().all(is_digit) && is_colon(2) && is_colon(5) && !is_colon(8)
}
