//! Tests the keys of the configuration that only SXids have, and the policy's names against the catalogue.

use gpud_sdk::error_codes::Key;

use super::*;
use crate::catalog_data::CODES;

#[test]
fn thresholds() {
    // The Xids' threshold is not ours, nor is their built-in one.
    let config = read(r#"{"reboot_threshold": 9, "overrides": {"20034": 5}}"#).unwrap();
    let found = [20_034, 12_028, 94].map(|code| config.codes().threshold(Key::of(code)));
    assert_eq!(found, [5, 2, 2]);
}

#[test]
fn every_entry_of_the_catalogue_can_be_named() {
    let pattern = regex::Regex::new(KIND.key_pattern).unwrap();
    for code in &CODES {
        let document = format!(r#"{{"policy":{{"{}":{{"severity":"info"}}}}}}"#, code.code);
        let config = read(&document).unwrap();
        assert!(config.policy().ruling(Key::of(code.code)).weight.is_some());
        assert!(pattern.is_match(&code.code.to_string()));
    }
}

#[test]
fn names_beyond_the_catalogue() {
    for (name, expected) in [
        ("28006", "has no such SXid; if it is meant"),
        ("9999", "there is no such SXid"),
        ("100000", "there is no such SXid"),
        ("20034.1", "there is no such SXid"),
        ("x", "names no SXid"),
    ] {
        let document = format!(r#"{{"policy":{{"{name}":{{"severity":"info"}}}}}}"#);
        let error = read(&document).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn the_schema_names_the_keys() {
    let schema: serde_json::Value = serde_json::from_str(&KIND.schema()).unwrap();
    assert!(schema["properties"]["reboot_threshold"].is_null());
    let patterns = schema["properties"]["policy"]["patternProperties"].as_object();
    assert_eq!(
        patterns.unwrap().keys().collect::<Vec<_>>(),
        [KIND.key_pattern]
    );
}

#[test]
fn the_page_s_example_is_read() {
    let page = include_str!("../../../../docs/components/accelerator-nvidia-error-sxid.md");
    let example = page.split("```json\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    assert!(!read(example).unwrap().policy().is_empty());
}
