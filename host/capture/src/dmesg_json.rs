//! `dmesg --json`: one document, written with a field a line.
//!
//! ```text
//! {
//!    "dmesg": [
//!       {
//!          "pri": 6,
//!          "time":     5.140900,
//!          "msg": "NET: Registered protocol family 10"
//!       },{
//! ```
//!
//! With `-x` there is `"fac": "kern"` and `"pri": "info"`. dmesg passes invalid UTF-8 on, so a strict reader finds no
//! JSON. Source: util-linux, `sys-utils/dmesg.c` and its output.

use super::{
    escape::{self, Backslash},
    format::Format,
    line::Message,
    priority,
    scan::Scan,
    stamp::Stamp,
};

/// The role of a line in the document.
#[derive(Debug)]
pub(super) enum DocumentStep {
    /// No line of such a document.
    Outside,
    /// One without a message.
    Taken,
    /// The end of an object.
    Message(Message),
}

/// The place in the document.
#[derive(Debug, Default)]
pub(super) struct DmesgJson {
    inside: bool,
    object: Option<Object>,
}

#[derive(Debug, Default)]
struct Object {
    level: Option<u8>,
    facility: u32,
    micros: Option<u64>,
    text: Option<Vec<u8>>,
}

impl DmesgJson {
    /// Takes a line.
    pub fn take(&mut self, line: &[u8]) -> DocumentStep {
        let line = line.trim_ascii();
        if !self.inside {
            self.inside = line == br#""dmesg": ["#;
            return if self.inside || matches!(line, b"{" | b"}") {
                DocumentStep::Taken
            } else {
                DocumentStep::Outside
            };
        }
        match line {
            b"{" => self.object = Some(Object::default()),
            b"},{" => return finished(self.object.replace(Object::default())),
            b"}" | b"}," => return finished(self.object.take()),
            b"]" | b"]," => self.inside = false,
            _ => {
                let field = self.object.as_mut().and_then(|object| object.field(line));
                if field.is_none() {
                    return DocumentStep::Outside;
                }
            }
        }
        DocumentStep::Taken
    }
}

fn finished(object: Option<Object>) -> DocumentStep {
    let Some(Object {
        level,
        facility,
        micros,
        text: Some(text),
    }) = object
    else {
        return DocumentStep::Taken;
    };
    let text = escape::text(escape::without_line_end(&text), Backslash::Character);
    let stamp = micros.map_or(Stamp::None, Stamp::Boot);
    let mut message = Message::new(Format::DmesgJson, stamp, text);
    message.set_micros(micros);
    message.message.level = level.unwrap_or(priority::DEFAULT_LEVEL);
    message.message.facility = facility;
    DocumentStep::Message(message)
}

impl Object {
    /// `"key": value,`; keys that are not known are passed over.
    fn field(&mut self, line: &[u8]) -> Option<()> {
        let mut scan = Scan(line.strip_suffix(b",").unwrap_or(line));
        scan.literal(b"\"")?;
        let key = scan.take_while(|byte| byte != b'"');
        scan.literal(b"\":")?;
        scan.spaces();
        match key {
            b"pri" if scan.peek()? == b'"' => self.level = priority::level(&string(scan)?),
            b"pri" => {
                let prefix = u32::try_from(scan.number()?).ok()?;
                let (level, facility) = priority::split(prefix);
                self.level = Some(level);
                self.facility = facility;
            }
            b"fac" => self.facility = priority::facility(&string(scan)?)?,
            b"time" => self.micros = scan.seconds(),
            b"msg" => self.text = Some(string(scan)?),
            _ => {}
        }
        Some(())
    }
}

/// A string's bytes.
fn string(mut scan: Scan) -> Option<Vec<u8>> {
    scan.literal(b"\"")?;
    let mut out = Vec::with_capacity(scan.0.len());
    loop {
        out.extend_from_slice(scan.take_while(|byte| !matches!(byte, b'"' | b'\\')));
        if scan.maybe(b"\"") {
            return scan.0.is_empty().then_some(out);
        }
        scan.literal(b"\\")?;
        let (&escape, rest) = scan.0.split_first()?;
        scan.0 = rest;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'u' => push_unicode(&mut out, &mut scan)?,
            other => out.push(other),
        }
    }
}

/// `001b`; halves of a pair become the replacement character, as dmesg writes none.
fn push_unicode(out: &mut Vec<u8>, scan: &mut Scan) -> Option<()> {
    let (digits, rest) = scan.0.split_at_checked(4)?;
    scan.0 = rest;
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}
