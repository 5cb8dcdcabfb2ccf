//! No query costs more than stated.

use serde_json::{Value, json};

use super::super::{Limit, MAX_NESTING, MAX_QUERY_BYTES, Query, QueryError};
use super::ask;

fn limited(query: &str, document: &Value) -> Limit {
    match ask(query, document) {
        Err(QueryError::Limit(limit)) => limit,
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn length() {
    let longest = format!("$.{}", "a".repeat(MAX_QUERY_BYTES - 2));
    assert_eq!(ask(&longest, &json!({})), Ok(None));
    let error = ask(&format!("{longest}a"), &json!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parsing error: query of 65537 bytes is longer than 65536"
    );
}

#[test]
fn nesting_in_every_form() {
    for (open, inside, close) in [
        ("(", "$", ")"),
        ("- ", "1", ""),
        ("$[", "\"a\"", "]"),
        ("$[0,", "\"a\"", "]"),
        ("$[0:", "1", "]"),
        ("$[?", "@", "]"),
        ("$..[?(", "@", ")]"),
        ("$(", "@", ")"),
        ("a[", "0", "]"),
        ("a(", "0", ")"),
    ] {
        let nested = |levels: usize| {
            let text = format!("{}{inside}{}", open.repeat(levels), close.repeat(levels));
            Query::parse(&text)
        };
        let opens = open.matches(['(', '[', '-']).count();
        let most = (MAX_NESTING - 1) / opens;
        // Evaluated too: the stack must hold it.
        let deepest = nested(most).unwrap();
        let _ = deepest.select(&json!({"a": [{"a": [1.0]}]}));
        let longest = MAX_QUERY_BYTES / (open.len() + inside.len() + close.len());
        for levels in [most + 1, 1_000, longest] {
            let error = nested(levels).unwrap_err().to_string();
            assert!(
                error.ends_with("nested deeper than 64 levels"),
                "{open}: {error}"
            );
        }
    }
}

#[test]
fn long_queries_that_do_not_nest() {
    let document = json!({"a": [1]});
    for query in [
        format!("$.a[0]{}", " == 1".repeat(10_000)),
        format!("$.a{}", "(@)".repeat(20_000)),
        format!("$.a{}", "[:]".repeat(20_000)),
        format!("a{}", "[1]".repeat(20_000)),
    ] {
        assert!(ask(&query, &document).is_ok());
    }
}

#[test]
fn nodes() {
    let wide = json!({"l": vec![vec![0; 30]; 300]});
    assert!(ask("$..*", &wide).is_ok());
    for query in ["$..*..*(@)..*($..*)", "$..*($)", "$..($..*)"] {
        assert_eq!(limited(query, &wide), Limit::Nodes, "{query}");
    }
}

#[test]
fn text() {
    let long = json!({"a": "x".repeat(1 << 20), "l": [1]});
    let copies = |count| format!("$[{}]", vec!["\"a\""; count].join(","));
    assert!(ask(&copies(50), &long).is_ok());
    assert_eq!(limited(&copies(100), &long), Limit::Nodes);
    // As a key the whole document becomes text.
    assert_eq!(
        limited(&format!("$[{}0]", "$,".repeat(100)), &long),
        Limit::Nodes
    );
}

#[test]
fn steps() {
    let twins = json!({"a": vec![vec![0; 10]; 400], "b": vec![vec![0; 10]; 400]});
    assert_eq!(ask("$.a == $.b", &twins), Ok(Some(Value::Bool(true))));
    assert_eq!(limited("$..[?($.a == $.b)]", &twins), Limit::Steps);
    // Long texts are expensive to compare, to read as numbers and to use as keys.
    let text = "1".repeat(1 << 20);
    let long = json!({"s": text, "t": text, "l": vec![0; 1_000]});
    for condition in ["$.s", "-$.s == 1", "$.l[$.s]", "$.s == $.t", "s[$.s]"] {
        let query = format!("$.l[?({condition})]");
        assert_eq!(limited(&query, &long), Limit::Steps, "{condition}");
    }
}

#[test]
fn lists_in_lists() {
    let wrap = |times| format!("$.l(@[:]){}", "(@..(@))(@[0:1])".repeat(times));
    assert!(ask(&wrap(20), &json!({"l": [[1]]})).is_ok());
    assert_eq!(limited(&wrap(80), &json!({"l": [[1]]})), Limit::Lists);
}

#[test]
fn long_values_are_cut_in_messages() {
    let document = json!({"l": [1], "o": vec!["text"; 10_000]});
    let error = ask("$.l[$.o]", &document).unwrap_err().to_string();
    assert!(error.len() < 8192, "{}", error.len());
    assert!(error.contains("[text text ") && error.ends_with("… ([]interface {})"));
}

#[test]
fn the_deepest_document() {
    // As deep as serde_json decodes.
    let text = format!("{{\"a\":{}{}}}", "[".repeat(126), "]".repeat(126));
    let document: Value = serde_json::from_str(&text).unwrap();
    let found = ask("$..*", &document).unwrap().unwrap();
    assert_eq!(found.as_array().map(Vec::len), Some(126));
    assert_eq!(
        ask("$.a != $.a(@..*)", &document),
        Ok(Some(Value::Bool(true)))
    );
}

#[test]
fn queries_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Query>();
    shared::<QueryError>();
}
