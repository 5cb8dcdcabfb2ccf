//! Finding an SXid in a line of the kernel log.
//!
//! The NVSwitch driver prints `nvidia-nvswitch‹n›: SXid (PCI:‹id›): ‹code, five digits›, …` (macro `NVSWITCH_PRINT_SXID`
//! in `common_nvswitch.h` of open-gpu-kernel-modules). Up to three lines follow one another: what happened (`Fatal, Link
//! 11 …`, `Non-fatal, …` or `Correctable, …`, `error_nvswitch.h`), then `Severity …` and `Data {…}` with the same code
//! (`_nvswitch_dump_error_entry` in `error_nvswitch.c`).
//!
//! Lines are read at their beginning: users choose mount options, files and processes that the kernel names further on.
//!
//! GPUd's grammar is far wider: `SXid` anywhere, later on the line a colon, a blank, a number and a comma; the id is looked
//! for by itself. The name of a process, 15 bytes that it chooses, can look like that (`SXid: 20034,`), and the kernel
//! prints such names. So only what root wrote to `/dev/kmsg` (fault injection and tests) is read in the wide form, at the
//! beginning of the line too; the kernel's own lines have to have the driver's. Lenient: the driver's form may lack `PCI:`
//! or the whole id after `nvidia-nvswitch‹n›:`, which no name of a process is long enough for.

/// The mark of every line, after the switch.
const MARK: &str = "SXid";
/// The driver's form begins so, followed by the id.
const HEADER: &str = "SXid (";

/// The driver's name of a switch, followed by its number and a colon.
const SWITCH: &str = "nvidia-nvswitch";

/// Longest text of a line that is stored, bytes.
const MAX_DETAIL: usize = 256;

/// Longest text within the parentheses, bytes; longer is no id. Bounds what reaches messages and the store.
const MAX_ID: usize = 64;
/// Shortest id. With what is around it that is longer than the name of a process.
const MIN_ID: usize = 3;

/// Regular expressions that match all lines that [`parse`] understands, and few others.
pub const PATTERNS: [&str; 1] = [r"^(nvidia-nvswitch[0-9]+: )?SXid.*: [0-9]"];

/// An SXid as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Which switch, as the driver wrote it: `PCI:`, id, function; any letter case. Empty when the line does not say.
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
    Some(Line {
        device: headers(text).next().map_or("", |(device, _)| device),
        code,
        by_driver: own.is_some_and(|own| own.code == code),
    })
}

/// The driver's form: id, then the code at once. Lenient: the comma may be missing where the line ends. Lenient:
/// `nvidia-nvswitch1: SXid (0000:c3:00.0): 12028, …` and `nvidia-nvswitch1: SXid: 12028, …`. Without an id the switch is
/// named as the driver does.
fn driver_line(text: &str) -> Option<Line<'_>> {
    let (switch, rest) = split_switch(text);
    let rest = rest.strip_prefix(MARK)?;
    let (device, rest) = match rest.strip_prefix(" (") {
        Some(rest) => rest.split_once(')').filter(|(device, _)| {
            let id = device.strip_prefix("PCI:");
            is_id(id.unwrap_or(device)) && (id.is_some() || !switch.is_empty())
        })?,
        None if switch.is_empty() => return None,
        None => (switch, rest),
    };
    let (digits, after) = split_digits(rest.strip_prefix(": ")?);
    let ends = after.is_empty() || after.starts_with([',', ' ', '\n']);
    Some(Line {
        device,
        code: digits.parse().ok().filter(|_| ends)?,
        by_driver: true,
    })
}

/// The switch that a line begins with, and what follows its colon; empty and all of the line where there is none.
fn split_switch(text: &str) -> (&str, &str) {
    let of_switch = || {
        let (number, rest) = split_digits(text.strip_prefix(SWITCH)?);
        let name = text.get(..SWITCH.len() + number.len())?;
        let rest = rest.strip_prefix(": ")?;
        (!number.is_empty()).then_some((name, rest))
    };
    of_switch().unwrap_or(("", text))
}

/// Hexadecimal digits, dots and colons, one at least.
fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    (MIN_ID..=MAX_ID).contains(&id.len()) && id.contains(':') && id.bytes().all(fits)
}

/// What an SXid line says beside switch and code: the driver's severity word, and the link.
pub fn details(text: &str) -> [(&'static str, Option<&str>); 3] {
    let rest = text.split_once("SXid").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['\n', '\r']).next().unwrap_or(rest);
    let severity = ["Non-fatal", "Fatal", "Correctable"]
        .into_iter()
        .find(|word| rest.contains(&[", ", word].concat()));
    let link = rest
        .split_once("Link ")
        .map(|(_, rest)| split_digits(rest).0);
    let detail = rest.split_once("): ").or_else(|| rest.split_once(": "));
    let detail = detail.map(|(_, detail)| detail.trim_ascii());
    let mut end = MAX_DETAIL.min(detail.map_or(0, str::len));
    while detail.is_some_and(|detail| !detail.is_char_boundary(end)) {
        end -= 1;
    }
    [
        ("severity", severity),
        ("link", link.filter(|link| !link.is_empty())),
        (
            "detail",
            detail
                .and_then(|detail| detail.get(..end))
                .filter(|detail| !detail.is_empty()),
        ),
    ]
}

/// Every `SXid (PCI:‹id›)`: `PCI:` and id, and what follows the parenthesis.
fn headers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(HEADER).filter_map(|(at, header)| {
        let (device, rest) = text.get(at + header.len()..)?.split_once(')')?;
        is_id(device.strip_prefix("PCI:")?).then_some((device, rest))
    })
}

/// The digits of the wide form's code.
fn wide_code(text: &str) -> Option<&str> {
    let (_, rest) = split_switch(text.split('\n').next()?);
    let rest = rest.strip_prefix(MARK)?;
    rest.match_indices(": ").find_map(|(at, colon)| {
        let (digits, after) = split_digits(rest.get(at + colon.len()..)?);
        (!digits.is_empty() && after.starts_with(',')).then_some(digits)
    })
}

/// Splits after the decimal digits that a text begins with.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
