//! The fields of the extended form, which NVLink errors have:
//!
//! ```text
//! [, pid=‹pid›, name=‹name›], ‹UNIT› ‹Nonfatal|Fatal› ‹XC0|XC1› i‹digits› Link ‹number› (0x‹hex› 0x‹hex› …
//! ```

use super::split_digits;

/// Longest unit name, bytes.
const MAX_UNIT: usize = 64;

/// The facts of the extended form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended<'a> {
    /// The unit that reports, for example `NETIR_LINK_EVT`; two names may be joined by `/`.
    pub unit: &'a str,
    /// True for `Fatal`.
    pub fatal: bool,
    /// First word: where the error comes from; bits 20 to 25 are the sub-code.
    pub intrinfo: u32,
    /// Second word: error status.
    pub status: u32,
}

/// Reads what follows the code. The unit is the first name after a comma and a blank from which the rest fits: a search
/// rather than a grammar of pid and name, because (lenient) a pid may be quoted and a name may have commas.
pub(super) fn find(text: &str) -> Option<Extended<'_>> {
    if !text.starts_with(", ") {
        return None;
    }
    text.match_indices(", ")
        .find_map(|(at, comma)| fields(text.get(at + comma.len()..)?))
}

fn fields(text: &str) -> Option<Extended<'_>> {
    let (unit, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    if unit.len() > MAX_UNIT || !unit.splitn(2, '/').all(is_unit) {
        return None;
    }
    let (severity, rest) = word(rest)?;
    let fatal = match severity {
        "Fatal" => true,
        // The second spelling (lenient) is that of NVIDIA's tables.
        "Nonfatal" | "Non-fatal" => false,
        _ => return None,
    };
    let (channel, rest) = word(rest)?;
    let (instance, rest) = word(rest)?;
    let (link, rest) = word(rest)?;
    let (number, rest) = word(rest)?;
    let fits = matches!(channel, "XC0" | "XC1")
        && is_number(instance.strip_prefix('i')?)
        && link == "Link"
        && is_number(number.strip_prefix('-').unwrap_or(number));
    if !fits {
        return None;
    }
    let (intrinfo, rest) = hexadecimal(rest.trim_ascii_start().strip_prefix('(')?)?;
    let words = rest.trim_ascii_start();
    if words.len() == rest.len() {
        return None;
    }
    let (status, _) = hexadecimal(words)?;
    Some(Extended {
        unit,
        fatal,
        intrinfo,
        status,
    })
}

/// The first word, blanks before it dropped, and what follows its blank.
fn word(text: &str) -> Option<(&str, &str)> {
    text.trim_ascii_start()
        .split_once(|c: char| c.is_ascii_whitespace())
}

/// Letters and underscores; lenient: also digits after the first.
fn is_unit(name: &str) -> bool {
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let mut bytes = name.bytes();
    bytes.next().is_some_and(upper) && bytes.all(|byte| upper(byte) || byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    let (digits, rest) = split_digits(text);
    !digits.is_empty() && rest.is_empty()
}

/// A word `0x‹hex›` of at most 32 bits, and what follows it.
fn hexadecimal(text: &str) -> Option<(u32, &str)> {
    let digits = text.strip_prefix("0x")?;
    let end = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (digits, rest) = digits.split_at_checked(end)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}
