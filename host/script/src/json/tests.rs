use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

/// A text, and what Go 1.26 (`json.NewDecoder` from the first `{` on, into a map) makes of it.
#[derive(Deserialize)]
struct JsonCase {
    base64: String,
    object: Option<String>,
    error: Option<String>,
}

#[test]
fn the_object_at_the_first_brace_as_go_reads_it() {
    let (mut good, mut bad) = (0, 0);
    for line in include_str!("testdata/go.jsonl").lines() {
        let case: JsonCase = serde_json::from_str(line).unwrap();
        let output = BASE64_STANDARD.decode(&case.base64).unwrap();
        let shown = String::from_utf8_lossy(&output);
        let Some(at) = output.iter().position(|byte| *byte == b'{') else {
            assert_eq!(find_object(&output), Ok(None));
            continue;
        };
        match object_at(&output[at..]) {
            Ok(value) => {
                let written = crate::wire::to_json(&value).unwrap();
                let written = String::from_utf8(written).unwrap();
                assert_eq!(Some(written), case.object, "{shown}");
                assert_eq!(find_object(&output), Ok(Some(value)), "{shown}");
                good += 1;
            }
            Err(Stop::Noise(_, why) | Stop::End(why)) => {
                assert!(case.error.is_some(), "{shown}");
                if let Err(error) = find_object(&output) {
                    let why = why.to_string();
                    assert_eq!(error, JsonError { at, why }, "{shown}");
                }
                bad += 1;
            }
        }
    }
    assert!(good > 70 && bad > 700);
}

#[test]
fn noise_is_passed_over_but_a_broken_document_is_not_searched() {
    let one = Ok(Some(json!({"a": 1.0})));
    for output in [
        r#"took {1.2s} {"a":1}"#,
        r#"{{{{ {"a":1} {"b":2}"#,
        r#"main() { echo; } {"a":1}"#,
        "{\"cut\": \"by a line\n{\"a\":1}",
        r#"${HOME} {x} {"a":1}"#,
        r#"{"broken": {"inner": 1}, oops} {"a":1}"#,
    ] {
        assert_eq!(find_object(output.as_bytes()), one, "{output}");
    }
    for (output, error) in [
        // What is inside of a broken document is not the document.
        (
            r#"{"a": {"b": 1}, "c": oops}"#,
            "invalid JSON from byte 0 of the output on: expected value at line 1 column 22",
        ),
        (
            r#"{"a": {"b": 1}, "c"#,
            "invalid JSON from byte 0 of the output on: EOF while parsing a string at line 1 column 18",
        ),
        (
            r#"{"a": 1e999} {"b": 1}"#,
            "invalid JSON from byte 0 of the output on: number out of range at line 1 column 11",
        ),
        // Nothing after the noise either: the first is reported.
        (
            r#"took {1.2s} {"a":1"#,
            "invalid JSON from byte 5 of the output on: key must be a string at line 1 column 2",
        ),
    ] {
        assert_eq!(
            find_object(output.as_bytes()).unwrap_err().to_string(),
            error,
            "{output}"
        );
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        format!("{}{}{}", r#"{"a":["#.repeat(depth), 1, "]}".repeat(depth)).into_bytes()
    };
    assert!(find_object(&nested(63)).unwrap().is_some());
    let too_deep = nested(64);
    for too_deep in [too_deep, nested(100_000)] {
        let error = find_object(&too_deep).unwrap_err();
        assert!(error.why.starts_with("recursion limit exceeded"), "{error}");
    }
    for (depth, taken) in [(127, true), (128, false)] {
        let objects = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert_eq!(find_object(objects.as_bytes()).is_ok(), taken);
    }
}

#[test]
fn many_braces_and_long_numbers_are_looked_at_once() {
    let braces = "{".repeat(1 << 20);
    let error = find_object(braces.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error,
        "invalid JSON from byte 0 of the output on: key must be a string at line 1 column 2"
    );
    let number = format!("{{\"a\":0.{}}}", "3".repeat(1 << 20));
    assert_eq!(
        find_object(number.as_bytes()),
        Ok(Some(json!({"a": 1.0 / 3.0})))
    );
}

/// Any JSON value, its numbers floats.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO)
            .prop_map(Value::from),
        any::<i64>().prop_map(|whole| Value::from(whole as f64)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_printed_is_found(value in value(), before in "[^{]{0,20}", after in any::<String>()) {
        let document = json!({"value": value});
        let output = format!("{before}{document}{after}");
        prop_assert_eq!(find_object(output.as_bytes()), Ok(Some(document)));
    }

    /// Nothing panics, and only text without a brace has no object and no error.
    #[test]
    fn any_bytes_are_read_or_refused(output in prop::collection::vec(any::<u8>(), 0..200)) {
        let found = find_object(&output);
        prop_assert_eq!(found == Ok(None), !output.contains(&b'{'));
    }

    #[test]
    fn pieces_of_json_too(pieces in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u", "d83d", "\\udE00", "1", "-", ".", "e", "0", "true", " ", "\n", "\u{e9}",
        "{\"k\":", "\"\\ud800\"", "\"k\":",
    ]), 0..24)) {
        let output = pieces.concat();
        let found = find_object(output.as_bytes());
        if let Ok(text) = serde_json::from_str::<Value>(&output) && text.is_object() {
            prop_assert!(matches!(found, Ok(Some(_))), "{output}");
        }
    }
}
