//! The JSON object in what a script printed.
//!
//! GPUd takes what stands at the first `{` and gives up if that is not JSON. Here an object that breaks off at a
//! character that cannot stand there is taken for noise (`took {1.2s}`), and the search goes on *from that character*.
//! So every byte is looked at once, and an object inside a broken one is never taken for the document. What ends the
//! search: an object, or one that is cut off by the end of the output, nested too deeply, or has a number too large.
//!
//! Decoded as by Go's `encoding/json` into generic values: every number a 64-bit float, of a repeated key the last,
//! invalid UTF-8 and lone halves of surrogate pairs as U+FFFD, all else strict. Go nests 10,000 deep, we 127.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Number, Value};

/// Why there is no object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON from byte {at} of the output on: {why}")]
pub struct JsonError {
    /// The position at which the object begins.
    at: usize,
    /// The problem with it; lines and columns are counted from where it begins.
    why: String,
}

/// How the search continues after text that is no object.
enum Stop {
    /// It was noise up to this byte.
    Noise(usize, serde_json::Error),
    /// It was meant to be the document.
    End(serde_json::Error),
}

/// The first valid JSON object in the output, decoded; `None` if there is no `{` at all.
///
/// # Errors
/// The problem at the first `{`, if no object is found after it either.
pub fn find_object(output: &[u8]) -> Result<Option<Value>, JsonError> {
    let mut first = None;
    let mut from = 0;
    loop {
        let rest = output.get(from..).unwrap_or_default();
        let Some(brace) = rest.iter().position(|byte| *byte == b'{') else {
            return first.map_or(Ok(None), Err);
        };
        let at = from + brace;
        let (error, next) = match object_at(output.get(at..).unwrap_or_default()) {
            Ok(value) => return Ok(Some(value)),
            Err(Stop::Noise(length, error)) => (error, Some(at + length.max(1))),
            Err(Stop::End(error)) => (error, None),
        };
        let first = first.get_or_insert_with(|| JsonError {
            at,
            why: error.to_string(),
        });
        match next {
            Some(next) => from = next,
            None => return Err(first.clone()),
        }
    }
}

/// Decodes the object that the text starts with. What follows it is not looked at.
fn object_at(text: &[u8]) -> Result<Value, Stop> {
    // First only where it ends: what is decoded may have other bytes, and numbers may be out of range.
    let mut stream = Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    if let Some(Err(error)) = stream.next() {
        return Err(match error.is_eof() {
            true => Stop::End(error),
            false => Stop::Noise(offset(text, &error), error),
        });
    }
    let text = as_go_reads_it(text.get(..stream.byte_offset()).unwrap_or(text));
    let mut value = serde_json::from_str(&text).map_err(Stop::End)?;
    numbers_to_floats(&mut value);
    Ok(value)
}

/// The byte that an error is about.
fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut line_starts = newlines.map(|(at, _)| at + 1);
    let line = match error.line().checked_sub(2) {
        Some(line) => line_starts.nth(line).unwrap_or(0),
        None => 0,
    };
    (line + error.column()).saturating_sub(1)
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

/// Backslashes occur in strings only, and each starts an escape: the text is valid JSON.
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
