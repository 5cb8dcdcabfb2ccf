//! A line of `journalctl -o json` (also `json-seq` and `json-sse`): an object with the entry's fields.
//!
//! A value is a string, an array of bytes where it is not printable, `null` where it is long (without `--all`), or an
//! array of values where the entry has the field several times. Sources: `journalctl(1)`, `systemd.journal-fields(7)`
//! and systemd's "Journal Export Formats".

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};

use super::{
    Context,
    escape::{self, Backslash},
    format::Format,
    line::{Line, Message},
    stamp::Stamp,
};

/// An entry's fields, as far as they matter here.
#[derive(Deserialize, Default)]
pub(super) struct JournalEntry<'a> {
    #[serde(rename = "MESSAGE", borrow)]
    message: Field<'a>,
    #[serde(rename = "PRIORITY", borrow, default)]
    priority: Field<'a>,
    #[serde(rename = "SYSLOG_FACILITY", borrow, default)]
    facility: Field<'a>,
    #[serde(rename = "SYSLOG_IDENTIFIER", borrow, default)]
    identifier: Field<'a>,
    #[serde(rename = "SYSLOG_PID", borrow, default)]
    pid: Field<'a>,
    #[serde(rename = "_TRANSPORT", borrow, default)]
    transport: Field<'a>,
    #[serde(rename = "__REALTIME_TIMESTAMP", borrow, default)]
    realtime: Field<'a>,
    #[serde(rename = "_SOURCE_MONOTONIC_TIMESTAMP", borrow, default)]
    source_monotonic: Field<'a>,
    #[serde(rename = "__MONOTONIC_TIMESTAMP", borrow, default)]
    monotonic: Field<'a>,
    #[serde(rename = "_BOOT_ID", borrow, default)]
    boot: Field<'a>,
    #[serde(rename = "_KERNEL_SUBSYSTEM", borrow, default)]
    subsystem: Field<'a>,
    #[serde(rename = "_KERNEL_DEVICE", borrow, default)]
    device: Field<'a>,
    #[serde(rename = "_HOSTNAME", borrow, default)]
    host: Field<'a>,
}

/// Reads a line; `None` if it is no entry.
pub(super) fn read(line: &[u8], context: &mut Context) -> Option<Line> {
    let object = line.strip_prefix(b"\x1e").unwrap_or(line);
    let object = object.strip_prefix(b"data: ").unwrap_or(object);
    if object.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    // Checked as a whole: much quicker than string by string.
    let entry: JournalEntry = serde_json::from_str(str::from_utf8(object).ok()?).ok()?;
    entry.to_line(context)
}

impl<'a> JournalEntry<'a> {
    /// The entry of these fields; others than those that matter are passed over.
    pub fn of_fields(fields: &'a [(String, Vec<u8>)]) -> Self {
        let mut entry = Self::default();
        for (key, value) in fields {
            let field = match key.as_str() {
                "MESSAGE" => &mut entry.message,
                "PRIORITY" => &mut entry.priority,
                "SYSLOG_FACILITY" => &mut entry.facility,
                "SYSLOG_IDENTIFIER" => &mut entry.identifier,
                "SYSLOG_PID" => &mut entry.pid,
                "_TRANSPORT" => &mut entry.transport,
                "__REALTIME_TIMESTAMP" => &mut entry.realtime,
                "_SOURCE_MONOTONIC_TIMESTAMP" => &mut entry.source_monotonic,
                "__MONOTONIC_TIMESTAMP" => &mut entry.monotonic,
                "_BOOT_ID" => &mut entry.boot,
                "_KERNEL_SUBSYSTEM" => &mut entry.subsystem,
                "_KERNEL_DEVICE" => &mut entry.device,
                "_HOSTNAME" => &mut entry.host,
                _ => continue,
            };
            *field = Field::Bytes(value.clone());
        }
        entry
    }

    /// The line that the entry stands for; `None` if it has no message.
    pub fn to_line(&self, context: &mut Context) -> Option<Line> {
        let entry = self;
        let identifier = entry.identifier.bytes().unwrap_or_default();
        let from_kernel = entry.transport.bytes() == Some(b"kernel");
        if !from_kernel && identifier != b"kernel" {
            return Some(Line::Other(Format::JournalJson));
        }
        let mut text = String::new();
        // What user space writes into the kernel log: journald splits `name[pid]: ` off.
        if !matches!(identifier, b"kernel" | b"") {
            escape::push(&mut text, identifier, Backslash::Character);
            if let Some(pid) = entry.pid.bytes() {
                text.push('[');
                escape::push(&mut text, pid, Backslash::Character);
                text.push(']');
            }
            text.push_str(": ");
        }
        let body = escape::without_line_end(entry.message.bytes()?);
        escape::push(&mut text, body, Backslash::Character);

        let stamp = entry.realtime.number();
        let micros = (entry.source_monotonic.number()).or_else(|| entry.monotonic.number());
        let stamp = match (stamp, micros) {
            (Some(realtime), _) => Stamp::Wall(realtime / 1000),
            (None, Some(micros)) => Stamp::Boot(micros),
            (None, None) => Stamp::None,
        };
        let mut message = Message::new(Format::JournalJson, stamp, text);
        message.set_micros(micros);
        message.boot = entry.boot.bytes().and_then(super::boots::boot_id);
        let level = entry
            .priority
            .number()
            .and_then(|level| u8::try_from(level).ok());
        if let Some(level) = level.filter(|level| *level < 8) {
            message.message.level = level;
        }
        let facility = entry.facility.number();
        message.message.facility = facility
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0);
        for (key, field) in [("SUBSYSTEM", &entry.subsystem), ("DEVICE", &entry.device)] {
            if let Some(value) = field.bytes() {
                let value = escape::text(value, Backslash::Character);
                message.message.dictionary.push((key.into(), value));
            }
        }
        message.host = context.hosts.number(entry.host.bytes().unwrap_or_default());
        Some(Line::Message(message))
    }
}

/// A field's value; of several the first.
#[derive(Default)]
enum Field<'a> {
    /// Not there, or `null`.
    #[default]
    None,
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
    Number(u64),
}

impl Field<'_> {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            Self::None | Self::Number(_) => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => str::from_utf8(self.bytes()?).ok()?.parse().ok(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = Field<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string, bytes, null or several of them")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Field::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Field::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Field::Number(number))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Field::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let mut bytes = match values.next_element()? {
            None => return Ok(Field::None),
            Some(Field::Number(byte)) => vec![byte_of(byte)],
            Some(first) => {
                while values.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(first);
            }
        };
        while let Some(value) = values.next_element::<u64>()? {
            bytes.push(byte_of(value));
        }
        Ok(Field::Bytes(bytes))
    }
}

/// Converts a number to a byte. A number that is no byte becomes one that occurs in no text.
fn byte_of(value: u64) -> u8 {
    u8::try_from(value).unwrap_or(0xff)
}
