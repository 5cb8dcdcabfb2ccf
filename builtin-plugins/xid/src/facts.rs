//! Further facts of an Xid line: process, channel, link, row, address, recovery action. Nothing of it decides which error it
//! is ([`crate::line`] does), but people need it to find the job or the part.

use crate::recovery::{self, Recovery};

/// Longest text of a line that is stored, bytes.
const MAX_DETAIL: usize = 512;
/// Longest single value, bytes.
const MAX_VALUE: usize = 128;

/// Facts of a line. Texts are as the driver wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts<'a> {
    /// Process id.
    pub pid: Option<&'a str>,
    /// Name of the process.
    pub process: Option<&'a str>,
    /// Channel of the process on the GPU.
    pub channel: Option<&'a str>,
    /// Number of the NVLink.
    pub link: Option<&'a str>,
    /// Address of a row that was or could not be remapped.
    pub row: Option<&'a str>,
    /// Physical address of a memory error, or virtual address of a fault.
    pub address: Option<&'a str>,
    /// Memory partition.
    pub partition: Option<&'a str>,
    /// Memory subpartition.
    pub subpartition: Option<&'a str>,
    /// The Xid that the driver names as the cause of this one.
    pub caused_by: Option<u32>,
    /// Recovery action before and after.
    pub recovery: Option<(Recovery<'a>, Recovery<'a>)>,
    /// The line from the code on.
    pub detail: &'a str,
}

impl<'a> Facts<'a> {
    /// Reads the facts of an Xid line. A line in another form has few.
    pub fn of(text: &'a str) -> Self {
        let after = text.split_once("NVRM: Xid (").map_or(text, |(_, rest)| {
            rest.split_once("): ").map_or(rest, |(_, rest)| rest)
        });
        // Line ends within a record appear as `\n` or as the kernel's escape.
        let line = after.split(['\n', '\r']).next().unwrap_or(after);
        let line = line.split("\\x0a").next().unwrap_or(line).trim_ascii();
        let row_remapper = is_row_remapper(line);
        Self {
            pid: value(line, "pid=", &[',']),
            process: process(line),
            channel: ["Ch ", "channel 0x", "Channel ID ", "channel "]
                .iter()
                .find_map(|key| value(line, key, &[',', ' '])),
            link: [" Link ", " on link "]
                .iter()
                .find_map(|key| value(line, key, &[' ', ',', '('])),
            row: row_remapper.then(|| value(line, "(", &[')'])).flatten(),
            address: ["physAddr ", "faulted @ "]
                .iter()
                .find_map(|key| value(line, key, &[' ', ',']))
                .map(|address| address.trim_end_matches('.')),
            partition: [" partition ", "FBPA "]
                .iter()
                .find_map(|key| number(line, key)),
            subpartition: number(line, "subpartition "),
            caused_by: number(line, "caused by previous Xid ").and_then(|code| code.parse().ok()),
            recovery: recovery::read(line),
            detail: cut(line, MAX_DETAIL),
        }
    }

    /// True when the line itself says that the GPU remaps rows.
    pub fn remaps_rows(&self) -> bool {
        is_row_remapper(self.detail)
    }

    /// All as keys and values, those that are known.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let texts = [
            ("pid", self.pid),
            ("process", self.process),
            ("channel", self.channel),
            ("link", self.link),
            ("row", self.row),
            ("address", self.address),
            ("partition", self.partition),
            ("subpartition", self.subpartition),
            ("detail", Some(self.detail).filter(|text| !text.is_empty())),
        ];
        let mut pairs: Vec<_> = texts
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?.to_owned())))
            .collect();
        if let Some(code) = self.caused_by {
            pairs.push((CAUSED_BY, code.to_string()));
        }
        if let Some((from, to)) = self.recovery {
            pairs.push(("recovery_action_before", words(from)));
            pairs.push((RECOVERY, to.number.to_string()));
            pairs.push((RECOVERY_LABEL, to.label.to_owned()));
        }
        pairs
    }
}

/// Key of the Xid that caused another.
pub const CAUSED_BY: &str = "caused_by";
/// Key of the number of a recovery action.
pub const RECOVERY: &str = "recovery_action";
/// Key of the driver's words for it.
pub const RECOVERY_LABEL: &str = "recovery_action_label";

fn words(recovery: Recovery<'_>) -> String {
    if recovery.label.is_empty() {
        recovery.number.to_string()
    } else {
        recovery.label.to_owned()
    }
}

/// Whether the driver's row remapper speaks. More than these two words, which a process can be called.
fn is_row_remapper(line: &str) -> bool {
    ["Row Remapper: New row ", "Row Remapper Error: "]
        .iter()
        .any(|words| line.contains(words))
}

/// The value after a key, up to any of some characters, without quotes. `<unknown>` is no value.
fn value<'a>(line: &'a str, key: &str, ends: &[char]) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    let value = rest.split(ends).next()?.trim_matches('\'').trim_ascii();
    let is_value = !value.is_empty() && value != "<unknown>";
    is_value.then(|| cut(value, MAX_VALUE))
}

/// The decimal number after a key.
fn number<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..end).filter(|digits| !digits.is_empty())
}

/// The name may have commas; the next field begins with a comma and a blank.
fn process(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("name=")?;
    let name = rest.split_once(", ").map_or(rest, |(name, _)| name);
    let name = name.trim_ascii();
    let is_name = !name.is_empty() && name != "<unknown>";
    is_name.then(|| cut(name, MAX_VALUE))
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(&'static str, String)> {
        let mut pairs = Facts::of(text).pairs();
        pairs.retain(|(key, _)| *key != "detail");
        pairs
    }

    #[test]
    fn what_lines_say_is_read() {
        for (text, expected) in [
            (
                "NVRM: Xid (PCI:0000:00:05): 43, pid=1045001, name=pt_main_thread, Ch 00000008",
                vec![
                    ("pid", "1045001"),
                    ("process", "pt_main_thread"),
                    ("channel", "00000008"),
                ],
            ),
            (
                "NVRM: Xid (PCI:0000:2b:00): 31, pid=1942, name=llama,bench, channel 0x00000002, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ 0x6f6f_320c2000. Fault is of type FAULT_PDE",
                vec![
                    ("pid", "1942"),
                    ("process", "llama,bench"),
                    ("channel", "00000002"),
                    ("address", "0x6f6f_320c2000"),
                ],
            ),
            (
                "NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31e00 partition 16, subpartition 3.",
                vec![
                    ("address", "0x18f31e00"),
                    ("partition", "16"),
                    ("subpartition", "3"),
                ],
            ),
            (
                "NVRM: Xid (PCI:0000:52:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000018f31e00) marked for remapping, reset gpu to activate.",
                vec![("row", "0x0000000018f31e00")],
            ),
            (
                "NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper Error: (0x0000000bd1f3d200) - All reserved rows for bank are remapped",
                vec![("row", "0x0000000bd1f3d200")],
            ),
            (
                "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 03 (0x020465c6 0x00000000)",
                vec![("link", "03")],
            ),
            (
                "NVRM: Xid (PCI:0000:3b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
                vec![("link", "4")],
            ),
            (
                "NVRM: Xid (PCI:0000:0b:00): 45, pid=7, name=python3, channel 0x00000008 caused by previous Xid 149",
                vec![
                    ("pid", "7"),
                    ("process", "python3"),
                    ("channel", "00000008"),
                    ("caused_by", "149"),
                ],
            ),
            (
                "NVRM: Xid (PCI:0000:0d:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)",
                vec![
                    ("recovery_action_before", "None"),
                    ("recovery_action", "1"),
                    ("recovery_action_label", "PF FLR"),
                ],
            ),
            (
                "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
                vec![],
            ),
        ] {
            let found = pairs(text);
            let found: Vec<_> = found
                .iter()
                .map(|(key, value)| (*key, value.as_str()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_rest_of_the_line_is_stored_and_bounded() {
        let facts = Facts::of("NVRM: Xid (PCI:0000:07:00): 62, 323f0f30 0000c3d8\\x0a");
        assert_eq!(facts.detail, "62, 323f0f30 0000c3d8");
        let long = format!("NVRM: Xid (PCI:0000:07:00): 62, name={}", "ä".repeat(600));
        let facts = Facts::of(&long);
        assert!(facts.detail.len() <= MAX_DETAIL);
        assert!(facts.process.is_some_and(|name| name.len() <= MAX_VALUE));
        assert_eq!(Facts::of("").pairs(), []);
    }
}
