//! Answers of PaesslerAG/jsonpath v0.1.1 on gval v1.0.0, recorded with Go 1.26: by hand along the reference, then at
//! random. Queries whose answer depends on Go's order of maps are left out.

use serde_json::{Value, json};

use super::{ask, floats};

#[test]
fn every_recorded_answer() {
    let documents: Value =
        serde_json::from_str(include_str!("../testdata/documents.json")).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in include_str!("../testdata/records.jsonl").lines() {
        let mut want: Value = serde_json::from_str(line).unwrap();
        let record = want.as_object_mut().unwrap();
        let query = record.remove("query").unwrap();
        let document = record.remove("document").unwrap();
        let got = match ask(
            query.as_str().unwrap(),
            &documents[document.as_str().unwrap()],
        ) {
            Ok(Some(value)) => json!({ "value": value }),
            Ok(None) => json!({ "missing": true }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        seen += 1;
        if got != floats(&want) {
            wrong.push(format!("{query} on {document}: want {want}, got {got}"));
        }
    }
    assert!(seen > 1000, "only {seen} records");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table of the reference.
#[test]
fn hard_errors_in_the_words_of_the_library() {
    let document = json!({"l": ["a"], "s": "x", "z": null, "g-0": 1});
    for (query, error) in [
        ("$.l[3]", "index 3 out of bounds"),
        ("$.l[-1]", "index -1 out of bounds"),
        (
            "$.l.size",
            "could not select value, invalid key: expected number but got size (string)",
        ),
        (
            "$.s.x",
            "unsupported value type string for select, expected map[string]interface{} or []interface{}",
        ),
        (
            "$.z.x",
            "unsupported value type <nil> for select, expected map[string]interface{} or []interface{}",
        ),
        (
            "$['s2']",
            "parsing error: $['s2']\t:1:3 - 1:7 could not parse string: invalid syntax",
        ),
        (
            "$.g-0",
            "parsing error: $.g-0\t:1:4 - 1:5 unexpected \"-\" while scanning operator",
        ),
        (
            "$.l[?(@.t>1)]",
            "parsing error: $.l[?(@.t>1)]\t:1:10 - 1:11 unexpected \">\" while scanning parentheses expected \")\"",
        ),
        (
            "",
            "parsing error: \t - 1:1 unexpected EOF while scanning extensions",
        ),
        ("s.x", "unknown parameter s.x"),
    ] {
        assert_eq!(
            ask(query, &document).unwrap_err().to_string(),
            error,
            "{query}"
        );
    }
}

#[test]
fn members_come_in_the_order_of_their_keys() {
    let document = json!({"b": {"y": 2, "x": 1}, "a": [0]});
    for (query, found) in [
        ("$.*", json!([[0.0], {"x": 1.0, "y": 2.0}])),
        ("$..*", json!([[0.0], {"x": 1.0, "y": 2.0}, 0.0, 1.0, 2.0])),
        ("$.b[?(@ != 0)]", json!([1.0, 2.0])),
    ] {
        assert_eq!(ask(query, &document).unwrap(), Some(found), "{query}");
    }
}

#[test]
fn data_that_says_unknown_key_is_not_a_missing_key() {
    // GPUd finds out by searching the error text.
    let document = json!({"s": "unknown key", "l": [1]});
    assert_eq!(
        ask("$.l[$.s]", &document).unwrap_err().to_string(),
        "could not select value, invalid key: expected number but got unknown key (string)"
    );
    assert_eq!(ask("$.l[$.nope]", &document), Ok(None));
}
