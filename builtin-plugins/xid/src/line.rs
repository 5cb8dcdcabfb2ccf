//! Finding an Xid in a line of the kernel log.
//!
//! Three forms, tried in this order on the whole text: the extended form of NVLink errors ([`extended`]), the general
//! form, and a GPU that fell off the bus, which is Xid 79 even where the driver does not say the number
//! ([`mod@off_the_bus`]). The driver prints the first two from `kernel_rc.c` (open-gpu-kernel-modules); on a GPU in MIG mode
//! ` GPU-I:‹nn›` and ` GPU-CI:‹nn›` follow the PCI id within the parentheses.
//!
//! Lines of GPUd's grammar give what they give there, if the driver can have written them: GPUd reads them anywhere in a
//! text, we at its beginning, and with `PCI:` or a colon in the id. Any user can have a mount option, a file or a
//! process called like such a line, and the kernel prints these names within its own lines; a name that a line begins with
//! has 15 bytes, which are too few for driver and id. Beyond the grammar, marked `lenient` below, lines of real drivers
//! are read that it drops or only half understands.

mod extended;
mod off_the_bus;

use std::borrow::Cow;

pub use extended::Extended;
use gpud_sdk::incidents::begins_with_process;

/// The prefix of every line of the driver.
const DRIVER: &str = "NVRM:";
/// What follows it in every line but the implied ones.
const XID: &str = " Xid (";

/// Longest text within the parentheses, bytes; longer is no id. Bounds what reaches messages and the store.
const MAX_ID: usize = 64;

/// An Xid as a line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Which GPU, as the driver wrote it: with or without `PCI:`, any letter case and domain width; without function 0.
    pub device: Cow<'a, str>,
    /// Further words within the parentheses (`GPU-I:05 GPU-CI:00`: which MIG instance); usually empty.
    pub instance: &'a str,
    /// The Xid.
    pub code: u64,
    /// The extended form's fields.
    pub extended: Option<Extended<'a>>,
}

/// Shortest id without `PCI:`. With the driver's words around it that is longer than the name of a process.
const MIN_ID: usize = 3;

/// Regular expressions that match all lines that [`parse`] understands, and few others.
pub const PATTERNS: [&str; 3] = [
    r"^NVRM: Xid \(",
    r"^NVRM:\s*GPU [0-9a-fA-F:]+\.0:\s*GPU has fallen off the bus",
    r"^NVRM:\s*The NVIDIA GPU [0-9a-fA-F:]+\.0.*fallen off the bus and is not responding to commands\.",
];

/// Reads a line. `accept` says of an extended line's code whether it is one that has such lines; else the line is read
/// in the general form.
pub fn parse(text: &str, accept: impl Fn(u64) -> bool) -> Option<Line<'_>> {
    let line = text
        .strip_prefix(DRIVER)
        .filter(|_| !begins_with_process(text))?;
    let Some(rest) = line.strip_prefix(XID) else {
        return Some(Line {
            device: off_the_bus::device(line)?.into(),
            instance: "",
            code: 79,
            extended: None,
        });
    };
    let header = header(rest)?;
    let extended = || {
        let (code, rest) = direct_code(header.rest).filter(|(code, _)| accept(*code))?;
        Some(header.line(code, Some(extended::find(rest)?)))
    };
    extended().or_else(|| {
        // Code 0 is no code.
        let code = general_code(header.rest).filter(|code| *code != 0)?;
        Some(header.line(code, None))
    })
}

/// The part of a line up to the closing parenthesis.
struct Header<'a> {
    device: &'a str,
    instance: &'a str,
    /// What follows the parenthesis, up to the end of the text.
    rest: &'a str,
}

impl<'a> Header<'a> {
    fn line(&self, code: u64, extended: Option<Extended<'a>>) -> Line<'a> {
        Line {
            device: self.device.into(),
            instance: self.instance,
            code,
            extended,
        }
    }
}

fn header(text: &str) -> Option<Header<'_>> {
    let (inside, rest) = text.split_once(')')?;
    if inside.len() > MAX_ID {
        return None;
    }
    // Lenient: words after the id. Without this every error of a GPU in MIG mode would be lost.
    let (device, instance) = inside.split_once(' ').unwrap_or((inside, ""));
    let id = device.strip_prefix("PCI:").unwrap_or(device);
    // Lenient: a function. 0 is the GPU itself; others are virtual functions and stay part of the id.
    let (id, function) = id.split_once('.').unwrap_or((id, "0"));
    let digits =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
    let is_whole = device.starts_with("PCI:") || id.len() >= MIN_ID && id.contains(':');
    if !digits(id) || !digits(function) || !is_whole {
        return None;
    }
    let device = if function == "0" {
        device.strip_suffix(".0").unwrap_or(device)
    } else {
        device
    };
    Some(Header {
        device,
        instance: instance.trim(),
        rest,
    })
}

/// The number that follows the parenthesis at once, and what comes after it.
fn direct_code(rest: &str) -> Option<(u64, &str)> {
    let (digits, rest) = split_digits(rest.strip_prefix(": ")?);
    Some((digits.parse().ok()?, rest))
}

/// The code of the general form: the first decimal number of this line after a colon and a blank and with a comma
/// after it.
fn general_code(rest: &str) -> Option<u64> {
    let line = rest.split('\n').next().unwrap_or(rest);
    // Lenient: no comma, because the line ends there or the driver left it out.
    if let Some((code, after)) = direct_code(line)
        && (after.is_empty() || after.starts_with(|c: char| c.is_ascii_whitespace()))
    {
        return Some(code);
    }
    let found = line.match_indices(": ").find_map(|(at, colon)| {
        let (digits, after) = split_digits(line.get(at + colon.len()..)?);
        (!digits.is_empty() && after.starts_with(',')).then_some(digits)
    })?;
    // One that overflows is no code, and the search is over.
    found.parse().ok()
}

/// Splits after the decimal digits that a text begins with.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
