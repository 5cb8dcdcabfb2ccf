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
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lays_out_as_gos_encoder_does() {
        // The right-hand sides were printed by `sigs.k8s.io/yaml` 1.4.
        for (value, yaml) in [
            (json!([]), "[]\n"),
            (json!({}), "{}\n"),
            (json!(null), "null\n"),
            (json!("x"), "x\n"),
            (
                json!([null, 1, 1.5, true, {}]),
                "- null\n- 1\n- 1.5\n- true\n- {}\n",
            ),
            (
                json!([{"a": [], "b": {}, "c": null, "d": [{"x": 1, "y": [1, 2]}], "e": [[1, 2], [3]], "w": 1_741_064_767_000_u64}]),
                "- a: []\n  b: {}\n  c: null\n  d:\n  - x: 1\n    \"y\":\n    - 1\n    - 2\n  e:\n  - - 1\n    - 2\n  - - 3\n  w: 1741064767000\n",
            ),
            (
                json!({"o": {"k": "line1\nline2"}}),
                "o:\n  k: |-\n    line1\n    line2\n",
            ),
            (
                json!({"o": {"k": "end\n\n"}, "p": 1}),
                "o:\n  k: |+\n    end\n\np: 1\n",
            ),
            (json!(["a\n\nb\n", "x"]), "- |\n  a\n\n  b\n- x\n"),
            (
                json!({"b": 1, "a10": 1, "a9": 1, "A": 0, "_": 1, "1": 2, "é": 1, "a.b": 1, "a_b": 1, "aB": 1, "": 3, "true": 1}),
                "\"\": 3\n_: 1\n\"1\": 2\nA: 0\na.b: 1\na_b: 1\na9: 1\na10: 1\naB: 1\nb: 1\n\"true\": 1\né: 1\n",
            ),
        ] {
            assert_eq!(emit(&value), yaml);
        }
    }

    #[test]
    fn a_long_key_is_written_explicitly() {
        let key = "k".repeat(200);
        assert_eq!(emit(&json!({ &key: [1] })), format!("? {key}\n:\n- 1\n"));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            any::<String>(),
            "[-+0-9a-zA-Z:. #\n'\"_{}~|>]{0,12}",
            "[ \n\tx]{0,6}"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e6..1e6_f64).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn another_yaml_reader_gets_the_same_document(value in any_value()) {
            let yaml = emit(&value);
            let read: Value = serde_yaml::from_str(&yaml).map_err(|e| TestCaseError::fail(format!("{yaml:?}: {e}")))?;
            prop_assert!(same(&read, &value), "{yaml}\n{read}\n{value}");
        }

        #[test]
        fn the_order_of_keys_is_total(mut keys in prop::collection::vec("[a-b0-1_]{0,5}", 0..8)) {
            keys.sort_by(|a, b| natural(a, b));
            for (at, a) in keys.iter().enumerate() {
                for b in &keys[at..] {
                    prop_assert_ne!(natural(a, b), Ordering::Greater);
                    prop_assert_eq!(natural(a, b) == Ordering::Equal, a == b);
                }
            }
        }
    }

    /// Equal, with numbers compared by value: a whole float is written as an integer.
    fn same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
            }
            _ => a == b,
        }
    }
}
