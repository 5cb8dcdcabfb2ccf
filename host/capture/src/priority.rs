//! Levels and facilities: by number in a record's prefix, by name where dmesg decodes them. Source: `syslog(3)`,
//! `dmesg(1)`.

use super::scan::Scan;

/// The level of a message that does not say it: 6, information, which is what journald and the kernel take as well.
pub(super) const DEFAULT_LEVEL: u8 = 6;

const LEVELS: [&[u8]; 8] = [
    b"emerg", b"alert", b"crit", b"err", b"warn", b"notice", b"info", b"debug",
];
/// Longer names of levels; Talos and some syslog templates write these.
const LONG_LEVELS: [(&[u8], u8); 4] = [
    (b"error", 3),
    (b"warning", 4),
    (b"critical", 2),
    (b"panic", 0),
];
const FACILITIES: [&[u8]; 24] = [
    b"kern",
    b"user",
    b"mail",
    b"daemon",
    b"auth",
    b"syslog",
    b"lpr",
    b"news",
    b"uucp",
    b"cron",
    b"authpriv",
    b"ftp",
    b"res0",
    b"res1",
    b"res2",
    b"res3",
    b"local0",
    b"local1",
    b"local2",
    b"local3",
    b"local4",
    b"local5",
    b"local6",
    b"local7",
];

/// `‹facility› × 8 + ‹level›`, taken apart.
pub(super) fn split(prefix: u32) -> (u8, u32) {
    ((prefix & 7) as u8, prefix >> 3)
}

/// `kern  :info  : `: the level and the facility.
pub(super) fn decoded(scan: &mut Scan) -> Option<(u8, u32)> {
    let facility = facility(padded(scan)?)?;
    // Talos writes spaces here.
    scan.spaces();
    let level = level(padded(scan)?)?;
    scan.literal(b" ")?;
    Some((level, facility))
}

/// `<4>`: the number within.
pub(super) fn bracketed(scan: &mut Scan) -> Option<u32> {
    scan.literal(b"<")?;
    let prefix = u32::try_from(scan.number()?).ok()?;
    scan.literal(b">")?;
    Some(prefix)
}

/// The level that a word of a syslog template names: `err`, `ERR`, `kern.err`, `kern:err`.
pub(super) fn word(word: &[u8]) -> Option<u8> {
    if !(3..=16).contains(&word.len()) {
        return None;
    }
    let word = word.strip_suffix(b":").unwrap_or(word);
    let name = match word.iter().position(|&byte| matches!(byte, b'.' | b':')) {
        Some(at) => {
            facility(word.get(..at)?)?;
            word.get(at + 1..)?
        }
        None => word,
    };
    (0..)
        .zip(LEVELS)
        .map(|(level, name)| (name, level))
        .chain(LONG_LEVELS)
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, level)| level)
}

/// A name, filled up with spaces, and a colon.
fn padded<'a>(scan: &mut Scan<'a>) -> Option<&'a [u8]> {
    let name = scan.take_while(|byte| byte.is_ascii_alphanumeric());
    scan.spaces();
    scan.literal(b":")?;
    Some(name)
}

/// The level of this name.
pub(super) fn level(name: &[u8]) -> Option<u8> {
    number_of(name, &LEVELS).or_else(|| {
        let mut long = LONG_LEVELS.into_iter();
        long.find(|(long, _)| *long == name).map(|(_, level)| level)
    })
}

/// The facility of this name.
pub(super) fn facility(name: &[u8]) -> Option<u32> {
    number_of(name, &FACILITIES).map(u32::from)
}

fn number_of(name: &[u8], names: &[&[u8]]) -> Option<u8> {
    let at = names.iter().position(|known| *known == name)?;
    u8::try_from(at).ok()
}
