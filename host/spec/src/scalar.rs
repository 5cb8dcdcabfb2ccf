//! The meaning of an unquoted scalar in YAML 1.1, and its text where a text is expected.
//!
//! GPUd reads specs with a YAML 1.1 library and converts numbers and truth values to text where its types ask for text:
//! `field: y` is the field `true`, `tags: [010]` is the tag `8`. Spec files rely on it, knowingly or not.

use std::borrow::Cow;

/// A scalar with its YAML 1.1 type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Typed<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// Too large for `Int`.
    Uint(u64),
    Float(f64),
    Text(&'t str),
}

/// Types the text of a plain scalar.
pub(super) fn resolve(text: &str) -> Typed<'_> {
    match text.as_bytes().first() {
        None => Typed::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text).unwrap_or(Typed::Text(text))
        }
        Some(b'.') => word(text)
            .or_else(|| point_float(text).map(Typed::Float))
            .unwrap_or(Typed::Text(text)),
        Some(b'+' | b'-' | b'0'..=b'9') => word(text)
            .or_else(|| number(text))
            .unwrap_or(Typed::Text(text)),
        Some(_) => Typed::Text(text),
    }
}

/// The words with a meaning.
fn word(text: &str) -> Option<Typed<'static>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Typed::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Typed::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Typed::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Typed::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Typed::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Typed::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// Integers in any base and floats, underscores anywhere but in front.
fn number(text: &str) -> Option<Typed<'static>> {
    let bare: Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    let (negative, digits) = match bare.as_bytes().first() {
        Some(b'-') => (true, bare.get(1..)?),
        Some(b'+') => (false, bare.get(1..)?),
        _ => (false, &*bare),
    };
    if let Some(size) = magnitude(digits) {
        return if negative {
            0_i64.checked_sub_unsigned(size).map(Typed::Int)
        } else if let Ok(value) = i64::try_from(size) {
            Some(Typed::Int(value))
        } else {
            // An explicit sign keeps a number out of the unsigned range.
            (!bare.starts_with('+')).then_some(Typed::Uint(size))
        }
        .or_else(|| float(&bare).map(Typed::Float));
    }
    // GPUd's library looks for a sign behind this prefix as well.
    if let Some(binary) = bare.strip_prefix("0b").filter(|rest| !rest.is_empty()) {
        return i64::from_str_radix(binary, 2).ok().map(Typed::Int);
    }
    float(&bare).map(Typed::Float)
}

/// An unsigned integer: decimal, `0x`, `0b`, `0o`, or octal with a leading zero.
fn magnitude(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // Rust would take another sign here.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A decimal float; what does not fit 64 bits stays text.
fn float(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    plain
        .then(|| text.parse::<f64>().ok())
        .flatten()
        .filter(|value| value.is_finite())
}

/// A float that starts with its point. Unlike in other numbers, an underscore must be between digits.
fn point_float(text: &str) -> Option<f64> {
    let digit_at = |at: Option<usize>| {
        let byte = at.and_then(|at| text.as_bytes().get(at));
        byte.is_some_and(u8::is_ascii_digit)
    };
    text.match_indices('_')
        .all(|(at, _)| digit_at(at.checked_sub(1)) && digit_at(Some(at + 1)))
        .then(|| float(&text.replace('_', "")))
        .flatten()
}

impl<'t> Typed<'t> {
    /// Where a text is wanted. `None` for null, which is the same as leaving the key out.
    pub fn text(self) -> Option<Cow<'t, str>> {
        Some(match self {
            Self::Null => return None,
            Self::Float(value) => single_precision(value).into(),
            other => other.exact()?,
        })
    }

    /// As the key of a mapping. `None` for null, which cannot be a key.
    pub fn key(self) -> Option<Cow<'t, str>> {
        Some(match self {
            Self::Null => return None,
            Self::Float(value) => match single_precision(value).as_str() {
                "NaN" => ".nan".into(),
                "+Inf" => ".inf".into(),
                "-Inf" => "-.inf".into(),
                digits => digits.to_owned().into(),
            },
            other => other.exact()?,
        })
    }

    /// Everything but null and floats, which have one form only.
    fn exact(self) -> Option<Cow<'t, str>> {
        Some(match self {
            Self::Bool(true) => "true".into(),
            Self::Bool(false) => "false".into(),
            Self::Int(value) => value.to_string().into(),
            Self::Uint(value) => value.to_string().into(),
            Self::Text(text) => text.into(),
            Self::Null | Self::Float(_) => return None,
        })
    }

    /// Returns the name of its type in Go's JSON decoder.
    pub fn go_kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) | Self::Float(_) => "number",
            Self::Text(_) => "string",
        }
    }
}

/// A float as GPUd makes text of it: rounded to 32 bits, shortest digits, an exponent below 1e-4 and from 1e6 on.
fn single_precision(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the rounding is what is wanted"
    )]
    let value = value as f32;
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    match exponent {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}
