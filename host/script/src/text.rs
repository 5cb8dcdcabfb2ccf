//! Values as text: what a pattern is matched against and `extra_info` shows.

use serde_json::Value;

use crate::wire;

/// A string is itself; a boolean `true` or `false`; a number as Go's `%v` prints a 64-bit float; an object or array
/// compact JSON in Go's spelling, keys sorted.
pub fn of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), float),
        // Values have a JSON form always.
        Value::Null | Value::Array(_) | Value::Object(_) => wire::to_json(value)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default(),
    }
}

/// The shortest digits that read back to the same value; from 1e6 on and below 1e-4 with an exponent of two digits at
/// least.
fn float(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e6).contains(&size) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_as_go_prints_them() {
        let mut count = 0;
        // Written as JSON, printed by Go 1.26 with `%v`, printed by it inside an array.
        for line in include_str!("json/testdata/numbers.jsonl").lines() {
            let [written, alone, inside]: [String; 3] = serde_json::from_str(line).unwrap();
            let document = format!("{{\"n\":{written},\"a\":[{written}]}}");
            let document = crate::json::find_object(document.as_bytes()).unwrap();
            let document = document.unwrap();
            assert_eq!(of(&document["n"]), alone, "{written}");
            assert_eq!(of(&document["a"]), inside, "{written}");
            count += 1;
        }
        assert!(count > 300);
    }

    #[test]
    fn everything_else_as_it_is_or_as_json() {
        for (value, text) in [
            (json!("a \"b\"\n<"), "a \"b\"\n<"),
            (json!(""), ""),
            (json!(true), "true"),
            (json!(false), "false"),
            (
                json!({"b": [1.0, null, "<&>\u{2028}\u{1}\u{8}é"], "B": {}, "a": 2.5e21}),
                r#"{"B":{},"a":2.5e+21,"b":[1,null,"\u003c\u0026\u003e\u2028\u0001\bé"]}"#,
            ),
            (json!([]), "[]"),
        ] {
            assert_eq!(of(&value), text);
        }
    }
}
