//! The words that both kinds of policy share, and what is said of wrong ones.

use std::fmt::{self, Write};

use serde_json::Value;

use crate::catalog::{Action, Severity};

/// Key of the policy in a configuration document, and in a state's facts.
pub const POLICY: &str = "policy";
/// The end of a reason whose verdict the policy changed.
pub const MARK: &str = " (site policy)";

/// Words of a severity.
pub(super) const SEVERITIES: [(&str, Weight); 5] = [
    ("info", Weight::Is(Severity::Info)),
    ("warning", Weight::Is(Severity::Warning)),
    ("critical", Weight::Is(Severity::Critical)),
    ("fatal", Weight::Is(Severity::Fatal)),
    ("ignore", Weight::Ignored),
];
/// Most mistakes that one message reports.
const MAX_MISTAKES: usize = 8;
/// Longest part of a wrong word that is quoted, characters.
const MAX_QUOTED: usize = 64;

/// How an error weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// As one of this severity.
    Is(Severity),
    /// Not at all: as if it had not happened.
    Ignored,
}

/// Refuses a policy that has mistakes, and names the first of them.
///
/// # Errors
/// There are mistakes.
pub(super) fn refuse(mut mistakes: Vec<String>) -> Result<(), String> {
    if mistakes.is_empty() {
        return Ok(());
    }
    let more = mistakes.len().saturating_sub(MAX_MISTAKES);
    mistakes.truncate(MAX_MISTAKES);
    if more > 0 {
        mistakes.push(format!("and {more} more"));
    }
    Err(format!("configuration: {}", mistakes.join("; ")))
}

/// A JSON list of words, which need no escapes.
pub(super) fn list<'a>(
    f: &mut impl Write,
    words: impl IntoIterator<Item = &'a str>,
) -> fmt::Result {
    let mut between = "[\"";
    for word in words {
        f.write_str(between)?;
        f.write_str(word)?;
        between = "\",\"";
    }
    f.write_str(if between == "[\"" { "[]" } else { "\"]" })
}

/// Reads a severity, or that an event is ignored.
pub(super) fn read_weight(value: &Value) -> Result<Weight, String> {
    let word = value.as_str();
    let found = SEVERITIES.iter().find(|(known, _)| Some(*known) == word);
    found.map(|(_, weight)| *weight).ok_or_else(|| {
        let words = SEVERITIES.map(|(word, _)| word).join(", ");
        format!("is {}, which is none of {words}", shown(value))
    })
}

/// Reads a list of repair actions.
pub(super) fn read_actions(value: &Value) -> Result<Vec<Action>, String> {
    let words = || Action::ALL.map(Action::word).join(", ");
    let given = value
        .as_array()
        .ok_or_else(|| format!("is no list of words, of which there are {}", words()))?;
    let read = given.iter().map(|value| {
        let action = value.as_str().and_then(Action::of);
        action.ok_or_else(|| format!("has {}, which is none of {}", shown(value), words()))
    });
    read.collect()
}

/// A value, short enough for a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => return quoted(text),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => return number.to_string(),
            (None, Some(number)) => return number.to_string(),
            (None, None) => "no whole number",
        },
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Null => "null",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
    .to_owned()
}

/// A text, short enough for a message, on one line.
pub(super) fn quoted(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let inside = bare(text).chars().map(shown);
    ['"'].into_iter().chain(inside).chain(['"']).collect()
}

/// Returns the beginning of a text, short enough for a message.
pub(super) fn bare(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_QUOTED);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
