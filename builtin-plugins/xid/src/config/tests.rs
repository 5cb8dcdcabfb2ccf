//! Tests the keys of the configuration that only Xids have, and the policy's names against the catalogue.

use gpud_sdk::error_codes::Key;

use super::*;
use crate::catalog_data::{CODES, RULES, STATUSES, SUB_CODES};

/// The pattern as a regular expression has it.
fn key_pattern() -> String {
    serde_json::from_str(&format!("\"{}\"", KIND.key_pattern)).unwrap()
}

#[test]
fn thresholds() {
    let config = read(r#"{"reboot_threshold": 3}"#).unwrap();
    assert_eq!(
        [79, 94].map(|code| config.codes().threshold(Key::of(code))),
        [3, 1000]
    );
}

#[test]
fn every_entry_of_the_catalogue_can_be_named() {
    let mut keys: Vec<Key> = CODES.iter().map(|code| Key::of(code.code)).collect();
    keys.extend(SUB_CODES.iter().map(|e| Key {
        status: None,
        ..catalog::key(e.xid, e.sub_code, 0)
    }));
    keys.extend(
        STATUSES
            .iter()
            .map(|e| catalog::key(e.xid, e.sub_code, e.status)),
    );
    let rule_key = |rule: &catalog::Rule| catalog::key(rule.xid, rule.v2.value >> 20, rule.status);
    keys.extend(RULES.iter().map(rule_key));
    let pattern = regex::Regex::new(&key_pattern()).unwrap();
    for key in keys {
        assert!(catalog::can_be(&key) && catalog::lists(&key), "{key}");
        let document = format!(r#"{{"policy":{{"{key}":{{"severity":"info"}}}}}}"#);
        let config = read(&document).unwrap();
        assert!(config.policy().ruling(key).weight.is_some(), "{key}");
        assert!(pattern.is_match(&key.to_string()), "{key}");
    }
}

#[test]
fn names_beyond_the_catalogue() {
    for (name, expected) in [
        ("133", None),
        ("177", Some("has no such Xid; if it is meant")),
        ("0", Some("there is no such Xid")),
        ("1000", Some("there is no such Xid")),
        ("79.1", Some("there is no such Xid")),
        ("79.1 (err status 0x00000000)", Some("there is no such Xid")),
        ("145.3", Some("has no such Xid; if it is meant")),
        ("149.64", Some("there is no such Xid")),
        ("149.63", Some("has no such Xid; if it is meant")),
        ("149.4", None),
        ("149.4 (err status 0x00000000)", None),
        (
            "149.4 (err status 0x00000009)",
            Some("has no such Xid; if it is meant"),
        ),
        ("149 (err status 0x00000000)", Some("names no Xid")),
    ] {
        let document = format!(r#"{{"policy":{{"{name}":{{"severity":"info"}}}}}}"#);
        let error = read(&document).err();
        let says = expected.is_none_or(|text| error.as_ref().unwrap().contains(text));
        assert!(
            says && error.is_some() == expected.is_some(),
            "{name}: {error:?}"
        );
    }
}

#[test]
fn the_schema_names_the_keys() {
    let schema: serde_json::Value = serde_json::from_str(&KIND.schema()).unwrap();
    assert_eq!(schema["properties"]["reboot_threshold"]["type"], "integer");
    let patterns = schema["properties"]["policy"]["patternProperties"].as_object();
    assert_eq!(
        patterns.unwrap().keys().collect::<Vec<_>>(),
        [&key_pattern()]
    );
}

#[test]
fn the_page_s_example_is_read() {
    let page = include_str!("../../../../docs/components/accelerator-nvidia-error-xid.md");
    let example = page.split("```json\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    assert!(!read(example).unwrap().policy().is_empty());
    // And the mistake that it shows.
    let error = read(r#"{"policy":{"79":{"severity":"fatale"}}}"#).unwrap_err();
    assert!(page.contains(&error), "{error}");
}
