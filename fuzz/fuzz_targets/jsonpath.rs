//! A query (the first line) over a document (the rest).

#![no_main]

use std::str;

use gpud_fuzz::{
    script::{json::find_object, query::Query, text},
    small_stack, split,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(init: small_stack(), |input: &[u8]| {
    let (query, document) = split(input, b"\n");
    let Ok(query) = str::from_utf8(query) else {
        return;
    };
    let query = match Query::parse(query) {
        Ok(query) => query,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let Ok(Some(document)) = find_object(document) else {
        return;
    };
    let selected = query.select(&document);
    match &selected {
        Ok(Some(value)) => {
            assert_ne!(value, &Value::Null, "null is missing");
            text::of(value);
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert_eq!(selected, query.select(&document));
});
