//! Facts that only many lines together show.

/// Lines that are looked at.
pub(super) const LINES: usize = 300;
/// Bytes that these may have.
pub(super) const BYTES: usize = 1 << 20;
/// Within so many bytes a kernel message names its subsystem.
const SUBSYSTEM: usize = 80;

/// Whether this is kernel messages without any stamp: at least half of the lines begin with `subsystem: `.
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
        named += usize::from(tagged && start.first().is_some_and(u8::is_ascii_alphanumeric));
    }
    count > 0 && named * 2 >= count
}
