//! What can only be told from many lines.

use super::{escape, line};

/// Lines that are looked at.
const SAMPLE: usize = 300;
/// Within so many bytes a kernel message names its subsystem.
const SUBSYSTEM: usize = 80;

/// The lines without their ends.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').map(|line| {
        let mut line = line;
        while let Some(shorter) = line.strip_suffix(b"\r") {
            line = shorter;
        }
        line
    })
}

/// Whether a host and a program follow seconds since boot: a program follows every such stamp, and one is the kernel.
pub(super) fn has_programs(bytes: &[u8]) -> bool {
    let mut kernel = false;
    for line in lines(bytes).take(SAMPLE) {
        match line::names_a_program(&escape::strip_terminal(line)) {
            None => {}
            Some(None) => return false,
            Some(Some(is_kernel)) => kernel |= is_kernel,
        }
    }
    kernel
}

/// Whether this is kernel messages without any stamp: at least half of the lines begin with `subsystem: `.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let mut count = 0_usize;
    let mut named = 0_usize;
    for line in lines(bytes).filter(|line| !line.is_empty()).take(SAMPLE) {
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
