//! The generated constants against the data file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::catalog_data::VERSION;

fn data() -> Vec<Value> {
    let data: Value = serde_json::from_str(include_str!("../../catalog/sxid.json")).unwrap();
    assert_eq!(data["schema"], 1);
    assert_eq!(VERSION, data["version"]);
    let sources = data["sources"].as_array().unwrap();
    let told = |source: &Value| source.as_str().is_some_and(|text| !text.is_empty());
    assert!(!sources.is_empty() && sources.iter().all(told));
    data["codes"].as_array().unwrap().clone()
}

#[test]
fn the_constants_are_the_data_file() {
    let data = data();
    assert_eq!(data.len(), CODES.len());
    for (known, data) in CODES.iter().zip(&data) {
        assert_eq!(known.code, data["code"]);
        assert_eq!(known.name, data["name"], "{data}");
        assert_eq!(format!("{:?}", known.severity), data["type"], "{data}");
        let actions: Vec<&str> = known.actions.iter().map(|action| action.word()).collect();
        assert_eq!(serde_json::json!(actions), data["actions"], "{data}");
        assert!(std::ptr::eq(code(known.code).unwrap(), known));
    }
    assert!(CODES.is_sorted_by(|one, next| one.code < next.code));
    for unlisted in [0, 10_000, 11_002, 12_029, 24_008, 99_999] {
        assert!(code(unlisted).is_none(), "{unlisted}");
    }
}

#[test]
fn every_entry_makes_sense_by_itself() {
    for known in &CODES {
        assert!(POSSIBLE.contains(&known.code), "{known:?}");
        assert!(!known.name.trim().is_empty(), "{known:?}");
        assert!(
            matches!(known.severity, Severity::Warning | Severity::Fatal),
            "{known:?}"
        );
        // What cannot go on needs something done; what can does not.
        assert_eq!(
            known.severity == Severity::Fatal,
            !known.actions.is_empty(),
            "{known:?}"
        );
        for (at, action) in known.actions.iter().enumerate() {
            assert!(!known.actions[..at].contains(action), "{known:?}");
        }
    }
    for data in data() {
        let class = data["class"].as_str().unwrap();
        assert!(
            ["always_fatal", "potentially_fatal", "non_fatal_or_other"].contains(&class),
            "{data}"
        );
    }
}

#[test]
fn counts() {
    let mut kinds: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for known in &CODES {
        let words: Vec<&str> = known.actions.iter().map(|action| action.word()).collect();
        let severity = match known.severity {
            Severity::Warning => "Warning",
            Severity::Fatal => "Fatal",
            other => panic!("{other:?}"),
        };
        *kinds.entry((severity, words.join(" "))).or_default() += 1;
    }
    let expected = [
        (("Fatal", "REBOOT_SYSTEM".to_owned()), 3),
        (
            ("Fatal", "REBOOT_SYSTEM HARDWARE_INSPECTION".to_owned()),
            61,
        ),
        (("Warning", String::new()), 29),
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    for only_reboot in [11_004, 12_028, 19_084] {
        assert_eq!(code(only_reboot).unwrap().actions, [Action::Reboot]);
    }
    let classes = data().into_iter().map(|data| data["class"].clone());
    let count = |class: &str| classes.clone().filter(|of| of == class).count();
    assert_eq!(
        ["always_fatal", "potentially_fatal", "non_fatal_or_other"].map(count),
        [21, 46, 26]
    );
}
