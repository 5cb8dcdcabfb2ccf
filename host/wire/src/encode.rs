//! Turns a document into the bytes that Go would send: compact JSON, indented JSON, or YAML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::{float, yaml};

/// A document that has no JSON form (a map whose keys are not text). No type of this crate is such.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the answer: {0}")]
pub struct EncodeError(#[from] serde_json::Error);

/// The form of an answer that a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One line, no newline at the end.
    Json,
    /// Four spaces a level, no newline at the end.
    JsonIndented,
    /// Block style with sorted keys, newline at the end.
    Yaml,
}

/// Anything that can be written in any [`Form`]; every `Serialize` type is.
pub trait Render: Send {
    /// The document's bytes, always UTF-8.
    fn render(&self, form: Form) -> Result<Vec<u8>, EncodeError>;
}

impl<T: Serialize + Send> Render for T {
    fn render(&self, form: Form) -> Result<Vec<u8>, EncodeError> {
        match form {
            Form::Json => to_json(self),
            Form::JsonIndented => to_json_indented(self),
            Form::Yaml => to_yaml(self),
        }
    }
}

/// Compact JSON in Go's spelling. A float that is not finite becomes `null`.
pub fn to_json<T: Serialize + ?Sized>(document: &T) -> Result<Vec<u8>, EncodeError> {
    write_json(document, CompactFormatter)
}

/// JSON in Go's spelling, indented by four spaces a level.
pub fn to_json_indented<T: Serialize + ?Sized>(document: &T) -> Result<Vec<u8>, EncodeError> {
    write_json(document, PrettyFormatter::with_indent(b"    "))
}

/// YAML with the keys of the JSON form, sorted, as Go's JSON-to-YAML conversion writes it.
pub fn to_yaml<T: Serialize + ?Sized>(document: &T) -> Result<Vec<u8>, EncodeError> {
    Ok(yaml::emit(&serde_json::to_value(document)?).into_bytes())
}

fn write_json<T: Serialize + ?Sized>(
    document: &T,
    layout: impl Formatter,
) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(1024);
    document.serialize(&mut Serializer::with_formatter(
        &mut out,
        GoSpelling(layout),
    ))?;
    Ok(out)
}

/// Go's floats and HTML-safe strings on top of another formatter's layout.
struct GoSpelling<L>(L);

impl<L: Formatter> Formatter for GoSpelling<L> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float::json(value).as_bytes())
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_key(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests;
