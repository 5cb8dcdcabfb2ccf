//! The JSON object in what a script printed.
//!
//! GPUd takes what stands at the first `{` and gives up if that is not JSON. Here an object that breaks off at a
//! character that cannot stand there is taken for noise (`took {1.2s}`), and the search goes on *from that character*.
//! So every byte is looked at once, and an object inside a broken one is never taken for the document. What ends the
//! search: an object, or one that is cut off by the end of the output, nested too deeply, or has a number too large.
//!
//! Decoded as by Go's `encoding/json` into generic values: every number a 64-bit float, of a repeated key the last,
//! invalid UTF-8 and lone halves of surrogate pairs as U+FFFD, all else strict. Go nests 10,000 deep, we 127.

mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Number, Value};

use scan::Stop;

/// Why there is no object, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// A character that cannot stand where it does.
    #[error("invalid character {} {place}", quoted(*.found))]
    Syntax {
        /// The character's (first) byte.
        found: u8,
        /// Where it was met.
        place: scan::Place,
    },
    /// The output ends inside the object.
    #[error("unexpected EOF")]
    Unfinished,
    /// More than 127 levels.
    #[error("exceeded max depth")]
    TooDeep,
    /// A number beyond 64-bit floats.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberRange(String),
    /// The decoder refused what we took for JSON. No text is known to do that.
    #[error("{0}")]
    Decoder(String),
}

/// A byte as Go puts it into an error: in single quotes, as the character of that number.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => {
            let text = crate::wire::go_quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

/// The first valid JSON object in the output, decoded; `None` if there is no `{` at all.
///
/// # Errors
/// What is wrong at the first `{`, if no object is found after it either.
pub fn find_object(output: &[u8]) -> Result<Option<Value>, JsonError> {
    let mut first = None;
    let mut rest = output;
    while let Some((_, object)) = rest
        .iter()
        .position(|byte| *byte == b'{')
        .and_then(|at| rest.split_at_checked(at))
    {
        match object_at(object) {
            Ok(value) => return Ok(Some(value)),
            Err(Stop { at, error }) => {
                let noise = matches!(error, JsonError::Syntax { .. });
                first.get_or_insert(error);
                if !noise {
                    break;
                }
                rest = object.get(at.max(1)..).unwrap_or_default();
            }
        }
    }
    first.map_or(Ok(None), Err)
}

/// Decodes the object that the text starts with. What follows it is not looked at.
fn object_at(text: &[u8]) -> Result<Value, Stop> {
    let end = scan::object(text)?;
    let text = as_go_reads_it(text.get(..end).unwrap_or(text));
    match serde_json::from_str(&text) {
        Ok(mut value) => {
            numbers_to_floats(&mut value);
            Ok(value)
        }
        Err(error) => Err(Stop {
            at: end,
            error: JsonError::Decoder(error.to_string()),
        }),
    }
}

fn numbers_to_floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().and_then(Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(numbers_to_floats),
        Value::Object(members) => members.values_mut().for_each(numbers_to_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Valid JSON with U+FFFD for what is no Unicode in it: each byte that is not UTF-8, each lone surrogate escape.
fn as_go_reads_it(object: &[u8]) -> Cow<'_, str> {
    let text = match std::str::from_utf8(object) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(object.len());
            for chunk in object.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Cow::Owned(text)
        }
    };
    if text.contains(r"\ud") || text.contains(r"\uD") {
        Cow::Owned(without_lone_surrogates(&text))
    } else {
        text
    }
}

/// Backslashes stand in strings only, and each starts an escape: the text is valid JSON.
fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let second = || escape.get(6..).and_then(utf16_unit);
        let (length, lone) = match utf16_unit(escape) {
            None => (2, false),
            Some(0xd800..=0xdbff) if matches!(second(), Some(0xdc00..=0xdfff)) => (12, false),
            Some(0xd800..=0xdfff) => (6, true),
            Some(_) => (6, false),
        };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(if lone { r"\ufffd" } else { escape });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value of a `\uXXXX` that the text starts with.
fn utf16_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
