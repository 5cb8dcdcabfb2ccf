//! Finds events and kernel lines that differ in their numbers only.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

use crate::model::Event;

/// Decimal numbers with at least this many digits are addresses, sectors, process ids and the like; counts have fewer.
const LONG: usize = 5;

/// Makes a number of an event's shape: boot, name, type, subject and either the merge key or the texts without addresses
/// and process ids.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    state: RandomState,
    text: Vec<u8>,
}

impl Shapes {
    /// Returns the number of an event's shape. Error codes and devices are part of it.
    pub fn of(&mut self, event: &Event, boot: usize) -> u64 {
        let mut hasher = self.state.build_hasher();
        hasher.write_usize(boot);
        let mut part = |bytes: &[u8]| {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        };
        part(event.name.as_bytes());
        part(event.event_type.as_str().as_bytes());
        if let Some(merge) = &event.merge {
            part(merge.key.as_bytes());
            return hasher.finish();
        }
        if let Some(subject) = &event.subject {
            part(format!("{subject:?}").as_bytes());
        }
        let extra = event.extra_info.iter();
        let texts = extra.flat_map(|(key, value)| [key.as_str(), value.as_str()]);
        for text in std::iter::once(event.message.as_str()).chain(texts) {
            self.text.clear();
            without_addresses(text.as_bytes(), &mut self.text);
            part(&self.text);
        }
        hasher.finish()
    }
}

/// Makes a number of a kernel line's shape: its text without addresses, process ids and other long numbers.
#[derive(Debug, Default)]
pub(super) struct LineShapes {
    state: RandomState,
    text: Vec<u8>,
}

impl LineShapes {
    /// Returns the number of a line's shape. PCI addresses, codes, names of devices and UUIDs are part of it.
    pub fn of(&mut self, line: &str) -> u64 {
        self.text.clear();
        without_numbers(line.as_bytes(), &mut self.text);
        self.state.hash_one(&self.text)
    }
}

/// Copies a line with `#` in place of hexadecimal and decimal numbers of [`LONG`] digits and more, of numbers that begin
/// with `0x`, and of process ids. What is a part of a name, a UUID or a PCI address stays.
fn without_numbers(line: &[u8], out: &mut Vec<u8>) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
    let mut rest = line;
    while let Some(&byte) = rest.first() {
        let before = out.last().copied();
        let length = rest.iter().take_while(|byte| is_word(byte)).count();
        let (word, after) = rest.split_at(length.max(1));
        rest = after;
        let follows_dash = before == Some(b'-');
        let is_domain = matches!(after, [b':', b1, b2, b':', ..] if is_hex(&[*b1, *b2]));
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        let is_prefixed = digits.len() < word.len();
        let is_long = word.len() >= LONG && word.iter().any(u8::is_ascii_digit);
        let is_number =
            byte.is_ascii_digit() && follows_pid(out) || is_hex(digits) && (is_prefixed || is_long);
        if byte.is_ascii_alphanumeric() && is_number && !follows_dash && !is_domain {
            out.push(b'#');
        } else {
            out.extend_from_slice(word);
        }
    }
}

fn is_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// Copies a text with `#` in place of addresses (`0x…`), long numbers and process ids.
fn without_addresses(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some((&byte, after)) = text.split_first() {
        let in_word = out
            .last()
            .is_some_and(|last| last.is_ascii_alphanumeric() || *last == b'-');
        if !byte.is_ascii_digit() || in_word {
            out.push(byte);
            text = after;
            continue;
        }
        if let Some(hex) = text.strip_prefix(b"0x") {
            let length = hex
                .iter()
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count();
            out.extend_from_slice(b"0x#");
            text = hex.get(length..).unwrap_or_default();
            continue;
        }
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = text.split_at(length);
        // The beginning of a hexadecimal number or of a device's name is left as it is.
        let whole = !rest.first().is_some_and(u8::is_ascii_alphabetic);
        if whole && (length >= LONG || follows_pid(out)) {
            out.push(b'#');
        } else {
            out.extend_from_slice(number);
        }
        text = rest;
    }
}

fn follows_pid(out: &[u8]) -> bool {
    let mut before = out;
    while let Some((b'=' | b':' | b' ' | b'\'' | b'"', rest)) = before.split_last() {
        before = rest;
    }
    let word = before.get(before.len().saturating_sub(3)..);
    before.len() < out.len() && word.is_some_and(|word| word.eq_ignore_ascii_case(b"pid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventType, Merge};

    fn shape(text: &str) -> String {
        let mut out = Vec::new();
        without_addresses(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn addresses_and_pids_go_and_codes_and_devices_stay() {
        for (text, expected) in [
            ("fault at 0xdead_beef, pid=42", "fault at 0x#_beef, pid=#"),
            (
                "Xid (PCI:0000:3b:00): 31, pid='1234'",
                "Xid (PCI:0000:3b:00): 31, pid='#'",
            ),
            (
                "I/O error, dev sda, sector 123456789",
                "I/O error, dev sda, sector #",
            ),
            (
                "nvme12345 CPU#63 pid: 7 25500b",
                "nvme12345 CPU#63 pid: # 25500b",
            ),
            ("GPU-12345678-1234", "GPU-12345678-1234"),
        ] {
            assert_eq!(shape(text), expected);
        }
    }

    #[test]
    fn lines_of_a_flood_have_one_shape_and_those_of_other_devices_another() {
        let mut shapes = LineShapes::default();
        let line = |bus: u32, pid: u32, channel: u32, address: u64| {
            format!(
                "NVRM: Xid (PCI:0001:{bus:02x}:00): 31, pid={pid}, name=python3, Ch {channel:08x}, faulted @ 0x7f12_{address:08x}"
            )
        };
        let one = shapes.of(&line(0x3b, 7, 0xabcd, 0x1000));
        assert_eq!(one, shapes.of(&line(0x3b, 12_345, 8, 0xffff_f000)));
        assert_ne!(one, shapes.of(&line(0x5e, 7, 0xabcd, 0x1000)));
        let text = |line: &str| {
            let mut out = Vec::new();
            without_numbers(line.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        for (line, expected) in [
            ("PCI:00000000:3B:00.0 x", "PCI:00000000:3B:00.0 x"),
            (
                "nvme0n1p2, sector 123456789 op 0x0",
                "nvme0n1p2, sector # op #",
            ),
            (
                "GPU-12345678-aaaa-bbbb-cccc-123456789012",
                "GPU-12345678-aaaa-bbbb-cccc-123456789012",
            ),
            (
                "mlx5_core deadbeef added faced 1a2b3",
                "mlx5_core deadbeef added faced #",
            ),
            (
                "Killed process 42 (a.out), pid: 9, UID 1000",
                "Killed process 42 (a.out), pid: #, UID 1000",
            ),
            ("é 99999", "é #"),
        ] {
            assert_eq!(text(line), expected);
        }
    }

    #[test]
    fn what_differs_in_more_is_another_shape() {
        let mut shapes = Shapes::default();
        let event = Event {
            name: "error".into(),
            message: "code 31 at 0x1".into(),
            ..Event::default()
        };
        let same = Event {
            message: "code 31 at 0xfff".into(),
            time: 9,
            ..event.clone()
        };
        let of_event = shapes.of(&event, 0);
        assert_eq!(of_event, shapes.of(&same, 0));
        let others = [
            Event {
                message: "code 79 at 0x1".into(),
                ..event.clone()
            },
            Event {
                event_type: EventType::Fatal,
                ..event.clone()
            },
            Event {
                merge: Some(Merge {
                    key: "k".into(),
                    window_seconds: 60,
                }),
                ..event.clone()
            },
        ];
        for other in &others {
            assert_ne!(of_event, shapes.of(other, 0), "{other:?}");
        }
        assert_ne!(of_event, shapes.of(&event, 1), "another boot");
    }
}
