//! Finding an SXid in a line of the kernel log.
//!
//! The NVSwitch driver prints `nvidia-nvswitch‹n›: SXid (PCI:‹id›): ‹code, five digits›, …` (macro `NVSWITCH_PRINT_SXID`
//! in `common_nvswitch.h` of open-gpu-kernel-modules). Up to three lines follow one another: what happened (`Fatal, Link
//! 11 …`, `Non-fatal, …` or `Correctable, …`, `error_nvswitch.h`), then `Severity …` and `Data {…}` with the same code
//! (`_nvswitch_dump_error_entry` in `error_nvswitch.c`).
//!
//! GPUd's grammar is far wider: `SXid`, later on the line a colon, a blank, a number and a comma; the id is looked for by
//! itself. The name of a process, 15 bytes that it chooses, can look like that (`SXid: 20034,`), and the kernel prints such
//! names. So only what root wrote to `/dev/kmsg` (fault injection and tests) is read in the wide form; the kernel's own
//! lines have to have the driver's: `SXid (PCI:‹id›): ‹code›` anywhere, or behind `nvidia-nvswitch‹n›: ` also
//! `SXid (‹id›): ‹code›` and `SXid: ‹code›`. The driver's own name has 15 bytes already, so that no process can put a digit
//! behind it.

/// What every line has, anywhere in the text.
const MARK: &str = "SXid";
/// The driver's form begins so, followed by the id.
const HEADER: &str = "SXid (";
/// What the driver puts before it, followed by the switch's number.
const DRIVER: &str = "nvidia-nvswitch";

/// Longest text within the parentheses, bytes; longer is no id. Bounds what reaches messages and the store.
const MAX_ID: usize = 64;

/// Regular expressions that match all lines that [`parse`] understands, and few others.
pub const PATTERNS: [&str; 1] = [r"SXid.*: [0-9]"];

/// An SXid as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Which switch, as the driver wrote it: mostly `PCI:`, id, function; any letter case. The driver's name for it,
    /// `nvidia-nvswitch1`, where the line has no id; empty when it does not say at all.
    pub device: &'a str,
    /// The SXid.
    pub code: u64,
    /// True when the line has the driver's own form.
    pub by_driver: bool,
}

/// Reads a line. `from_kernel` is false for what user space wrote.
pub fn parse(text: &str, from_kernel: bool) -> Option<Line<'_>> {
    let own = driver_line(text);
    if from_kernel {
        return own;
    }
    let Some(digits) = wide_code(text) else {
        return own;
    };
    let code = digits.parse().ok()?;
    let own = own.filter(|own| own.code == code);
    let device = headers(text).next().map(|(device, _)| device);
    Some(Line {
        device: device.or(own.map(|own| own.device)).unwrap_or(""),
        code,
        by_driver: own.is_some(),
    })
}

/// The driver's form: id, then the code at once. Lenient: the comma may be missing where the line ends.
fn driver_line(text: &str) -> Option<Line<'_>> {
    headers(text)
        .chain(switches(text))
        .find_map(|(device, rest)| {
            let (digits, after) = split_digits(rest.strip_prefix(": ")?);
            let ends = after.is_empty() || after.starts_with([',', ' ', '\n']);
            Some(Line {
                device,
                code: digits.parse().ok().filter(|_| ends)?,
                by_driver: true,
            })
        })
}

/// Every `nvidia-nvswitch‹n›: SXid`, with an id of any spelling or none: id or switch, and what follows.
fn switches(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(DRIVER).filter_map(|(at, driver)| {
        let (number, rest) = split_digits(text.get(at + driver.len()..)?);
        let rest = rest.strip_prefix(": ")?.strip_prefix(MARK)?;
        if number.is_empty() || number.len() > 3 {
            return None;
        }
        match rest.strip_prefix(" (") {
            Some(rest) => {
                let (id, rest) = rest.split_once(')')?;
                is_id(id.strip_prefix("PCI:").unwrap_or(id)).then_some((id, rest))
            }
            None => Some((text.get(at..at + driver.len() + number.len())?, rest)),
        }
    })
}

fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(fits)
}

/// Every `SXid (PCI:‹id›)`: `PCI:` and id, and what follows the parenthesis.
fn headers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(HEADER).filter_map(|(at, header)| {
        let (device, rest) = text.get(at + header.len()..)?.split_once(')')?;
        let id = device.strip_prefix("PCI:")?;
        is_id(id).then_some((device, rest))
    })
}

/// The digits of the wide form's code.
fn wide_code(text: &str) -> Option<&str> {
    text.split('\n').find_map(|line| {
        let (_, rest) = line.split_once(MARK)?;
        rest.match_indices(": ").find_map(|(at, colon)| {
            let (digits, after) = split_digits(rest.get(at + colon.len()..)?);
            (!digits.is_empty() && after.starts_with(',')).then_some(digits)
        })
    })
}

/// Splits after the decimal digits that a text begins with.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
