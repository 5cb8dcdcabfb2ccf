//! Writes a JSON value as block YAML with sorted keys.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{
    float,
    yaml_scalar::{self, Style},
};

/// A longer key is written in the explicit form `? key`, as YAML demands of keys beyond 1024 characters.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The whole document, with a newline at the end. Long lines are not folded.
pub(super) fn emit(value: &Value) -> String {
    let mut out = String::new();
    node(&mut out, value, 0);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Writes `value` from the current position on; what it holds starts in `column`.
fn node(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => mapping(out, map, column),
        Value::Array(items) if !items.is_empty() => sequence(out, items, column),
        leaf => scalar(out, leaf, column.max(2)),
    }
}

fn mapping(out: &mut String, map: &Map<String, Value>, column: usize) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| natural(a, b));
    for (at, (key, value)) in entries.into_iter().enumerate() {
        new_line(out, at, column);
        if key.len() > LONGEST_SIMPLE_KEY {
            out.push_str("? ");
            out.push_str(&one_line(key));
            new_line(out, 1, column);
        } else {
            out.push_str(&one_line(key));
        }
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                new_line(out, 1, column + 2);
                mapping(out, map, column + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                new_line(out, 1, column);
                sequence(out, items, column);
            }
            leaf => {
                out.push(' ');
                scalar(out, leaf, column + 2);
            }
        }
    }
}

fn sequence(out: &mut String, items: &[Value], column: usize) {
    for (at, item) in items.iter().enumerate() {
        new_line(out, at, column);
        out.push_str("- ");
        node(out, item, column + 2);
    }
}

/// Goes to `column` of a new line, unless this is the first entry, whose place is already reached.
fn new_line(out: &mut String, at: usize, column: usize) {
    if at > 0 {
        // A literal block has ended its last line itself.
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n(' ', column));
    }
}

fn scalar(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&self::number(number)),
        Value::String(text) if yaml_scalar::style(text) == Style::Literal => {
            literal(out, text, column)
        }
        Value::String(text) => out.push_str(&one_line(text)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn number(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => float::yaml(value),
        _ => number.to_string(),
    }
}

/// Never a block, for keys and one-line texts.
fn one_line(text: &str) -> String {
    match yaml_scalar::style(text) {
        Style::Plain => text.to_owned(),
        Style::Single => yaml_scalar::single(text),
        Style::Double | Style::Literal => yaml_scalar::double(text),
    }
}

fn literal(out: &mut String, text: &str, column: usize) {
    let body = text.trim_end_matches('\n');
    out.push_str(match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', column));
            out.push_str(line);
        }
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(
        '\n',
        (text.len() - body.len()).saturating_sub(1),
    ));
}

/// Go's order of YAML keys: signs before digits before letters, runs of digits by their value.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) else {
            // Texts that differ only in leading zeros still need an order.
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (digit_run(&mut left), digit_run(&mut right));
            m.len().cmp(&n.len()).then_with(|| m.cmp(n))
        } else {
            left = left.get(x.len_utf8()..).unwrap_or_default();
            right = right.get(y.len_utf8()..).unwrap_or_default();
            (rank(x), x).cmp(&(rank(y), y))
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Takes leading digits off `text` and gives them without leading zeros.
fn digit_run<'a>(text: &mut &'a str) -> &'a str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    run.trim_start_matches('0')
}

fn rank(c: char) -> u8 {
    if c.is_alphabetic() {
        2
    } else {
        u8::from(c.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests;
