//! Tests what a policy may contain, which documents are refused and how, and which entry counts.

use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::catalog::Severity;

/// Codes 1 to 99, of which 10, 20, 20.1 and 20.1 with status 4 are listed; 20 and 30 have parts.
const CODES: Codes = Codes {
    family: "Xid",
    version: 7,
    possible: |key| {
        (1..100).contains(&key.code) && (key.sub_code.is_none() || matches!(key.code, 20 | 30))
    },
    listed: |key| {
        matches!(
            (key.code, key.sub_code, key.status),
            (10 | 20, None, None) | (20, Some(1), None | Some(4))
        )
    },
};

fn read(text: &str) -> Result<CodePolicy, String> {
    CodePolicy::read(&serde_json::from_str(text).unwrap(), CODES)
}

fn key(code: u32, sub_code: u32, status: u32) -> Key {
    Key {
        code,
        sub_code: Some(sub_code),
        status: Some(status),
    }
}

#[test]
fn every_word_is_read() {
    for (word, weight) in [
        ("info", Weight::Is(Severity::Info)),
        ("warning", Weight::Is(Severity::Warning)),
        ("critical", Weight::Is(Severity::Critical)),
        ("fatal", Weight::Is(Severity::Fatal)),
        ("ignore", Weight::Ignored),
    ] {
        let policy = read(&format!(r#"{{"10":{{"severity":"{word}"}}}}"#)).unwrap();
        let expected = Ruling {
            weight: Some(weight),
            ..Ruling::default()
        };
        assert_eq!(policy.ruling(Key::of(10)), expected, "{word}");
        assert_eq!(policy.ruling(Key::of(11)), Ruling::default());
    }
    let words = Action::ALL.map(|action| format!("{:?}", action.word()));
    let policy = format!(
        r#"{{"10":{{"actions":[{}],"reboot_threshold":3}}}}"#,
        words.join(",")
    );
    let expected = Ruling {
        weight: None,
        actions: Some(&Action::ALL),
        reboot_threshold: Some(3),
    };
    assert_eq!(read(&policy).unwrap().ruling(Key::of(10)), expected);
    assert_eq!(
        read(r#"{"10":{"actions":[]}}"#)
            .unwrap()
            .ruling(Key::of(10))
            .actions,
        Some(&[][..])
    );
    assert!(read("{}").unwrap().is_empty());
}

#[test]
fn each_part_comes_from_the_most_exact_entry() {
    let policy = read(
        r#"{
            "20": {"severity": "fatal", "actions": ["REBOOT_SYSTEM"], "reboot_threshold": 9},
            "20.1": {"actions": ["HARDWARE_INSPECTION"], "reboot_threshold": 5},
            "20.1 (err status 0x00000004)": {"severity": "ignore"}
        }"#,
    )
    .unwrap();
    let seen = |sub_code, status| {
        let ruling = policy.ruling(key(20, sub_code, status));
        (ruling.weight, ruling.actions, ruling.reboot_threshold)
    };
    let (fatal, ignored) = (Some(Weight::Is(Severity::Fatal)), Some(Weight::Ignored));
    let (reboot, inspect) = (Some(&[Action::Reboot][..]), Some(&[Action::Inspect][..]));
    assert_eq!(seen(1, 4), (ignored, inspect, Some(5)));
    assert_eq!(seen(1, 0), (fatal, inspect, Some(5)));
    assert_eq!(seen(2, 4), (fatal, reboot, Some(9)));
}

#[test]
fn keys_are_written_as_reasons_have_them() {
    for (text, expected) in [
        ("10", Some(Key::of(10))),
        ("010", Some(Key::of(10))),
        ("20.1 (err status 0x00000004)", Some(key(20, 1, 4))),
        ("20.1 (err status 0x4)", Some(key(20, 1, 4))),
        ("20.1 (err status 0xFFFFFFFF)", Some(key(20, 1, u32::MAX))),
        ("20.1 (err status 0x100000000)", None),
        ("20.1 (err status 0x)", None),
        ("20.1 (err status 0x+4)", None),
        ("20.1 (err status 0x4", None),
        ("20.1 (err status 4)", None),
        ("20 (err status 0x4)", None),
        ("20.", None),
        (".1", None),
        ("20.1.1", None),
        ("+10", None),
        ("XID 10", None),
        ("4294967306", None),
        ("", None),
    ] {
        assert_eq!(read_key(text), expected, "{text}");
    }
}

#[test]
fn mistakes_are_named_with_place_and_what_is_allowed() {
    let actions =
        "IGNORE_NO_ACTION_REQUIRED, REBOOT_SYSTEM, HARDWARE_INSPECTION, CHECK_USER_APP_AND_GPU";
    let fields = "severity, actions, reboot_threshold, unlisted";
    for (text, expected) in [
        ("[]", "policy is no object of Xids".to_owned()),
        (
            r#"{"x":{"severity":"info"}}"#,
            r#"policy["x"] names no Xid; written are they as reasons have them: 79, 145.3 or 145.3 (err status 0x00000004)"#.to_owned(),
        ),
        (
            r#"{"10":"ignore"}"#,
            format!(r#"policy["10"] is no object; allowed in it: {fields}"#),
        ),
        (
            r#"{"10":{}}"#,
            format!(r#"policy["10"] says nothing; allowed in it: {fields}"#),
        ),
        (
            r#"{"10":{"unlisted":true}}"#,
            format!(r#"policy["10"] says nothing; allowed in it: {fields}"#),
        ),
        (
            r#"{"10":{"colour":1}}"#,
            format!(r#"policy["10"].colour is not known; allowed: {fields}"#),
        ),
        (
            r#"{"10":{"severity":"Fatal"}}"#,
            r#"policy["10"].severity is "Fatal", which is none of info, warning, critical, fatal, ignore"#.to_owned(),
        ),
        (
            r#"{"10":{"severity":3}}"#,
            r#"policy["10"].severity is 3, which is none of info, warning, critical, fatal, ignore"#.to_owned(),
        ),
        (
            r#"{"10":{"actions":"REBOOT_SYSTEM"}}"#,
            format!(r#"policy["10"].actions is no list of words, of which there are {actions}"#),
        ),
        (
            r#"{"10":{"actions":["REBOOT_SYSTEM","REBOOT"]}}"#,
            format!(r#"policy["10"].actions has "REBOOT", which is none of {actions}"#),
        ),
        (
            r#"{"10":{"reboot_threshold":0}}"#,
            r#"policy["10"].reboot_threshold is 0, not a number from 1"#.to_owned(),
        ),
        (
            r#"{"10":{"reboot_threshold":"2"}}"#,
            r#"policy["10"].reboot_threshold is "2", not a number from 1"#.to_owned(),
        ),
        (
            r#"{"10":{"reboot_threshold":-2}}"#,
            r#"policy["10"].reboot_threshold is -2, not a number from 1"#.to_owned(),
        ),
        (
            r#"{"10":{"reboot_threshold":1.5}}"#,
            r#"policy["10"].reboot_threshold is no whole number, not a number from 1"#.to_owned(),
        ),
        (
            r#"{"10":{"reboot_threshold":[2]}}"#,
            r#"policy["10"].reboot_threshold is a list, not a number from 1"#.to_owned(),
        ),
        (
            r#"{"11":{"severity":"info"}}"#,
            r#"policy["11"]: version 7 of the catalogue has no such Xid; if it is meant, add "unlisted": true"#.to_owned(),
        ),
        (
            r#"{"20.2":{"severity":"info"}}"#,
            r#"policy["20.2"]: version 7 of the catalogue has no such Xid; if it is meant, add "unlisted": true"#.to_owned(),
        ),
        (
            r#"{"11":{"severity":"info","unlisted":1}}"#,
            r#"policy["11"].unlisted is neither true nor false; policy["11"]: version 7 of the catalogue has no such Xid; if it is meant, add "unlisted": true"#.to_owned(),
        ),
        (
            r#"{"100":{"severity":"info","unlisted":true}}"#,
            r#"policy["100"]: there is no such Xid"#.to_owned(),
        ),
        (
            r#"{"10.1":{"severity":"info"}}"#,
            r#"policy["10.1"]: there is no such Xid"#.to_owned(),
        ),
        (
            r#"{"010":{"severity":"info"},"10":{"severity":"info"}}"#,
            r#"policy["10"]: given twice"#.to_owned(),
        ),
        (
            r#"{"10":{"severity":"x"},"20":{"severity":"y"}}"#,
            r#"policy["10"].severity is "x", which is none of info, warning, critical, fatal, ignore; policy["20"].severity is "y", which is none of info, warning, critical, fatal, ignore"#.to_owned(),
        ),
    ] {
        assert_eq!(read(text), Err(format!("configuration: {expected}")), "{text}");
    }
    // Bounded, however much is wrong.
    let many: Vec<String> = (1..=50).map(|code| format!(r#""{code}x":1"#)).collect();
    let error = read(&format!("{{{}}}", many.join(","))).unwrap_err();
    assert!(error.ends_with("; and 42 more"), "{error}");
    let long = format!(r#"{{"{}":{{"severity":1}}}}"#, "é".repeat(1000));
    assert!(read(&long).unwrap_err().len() < 400);
}

#[test]
fn errors_beyond_the_catalogue_are_said_to_be_meant() {
    let policy = read(
        r#"{"11":{"severity":"fatal","unlisted":true},"30.2":{"severity":"info","unlisted":true},"10":{"severity":"info","unlisted":true}}"#,
    );
    let policy = policy.unwrap();
    let weight = |key| policy.ruling(key).weight;
    assert_eq!(weight(Key::of(11)), Some(Weight::Is(Severity::Fatal)));
    assert_eq!(weight(key(30, 2, 9)), Some(Weight::Is(Severity::Info)));
    assert_eq!(weight(Key::of(10)), Some(Weight::Is(Severity::Info)));
}

#[test]
fn the_document_lists_the_used_parts() {
    let policy = read(
        r#"{"10":{"severity":"info"},"20":{"reboot_threshold":9},"20.1":{"severity":"ignore"}}"#,
    );
    let policy = policy.unwrap();
    assert_eq!(
        policy.document([key(20, 1, 4), key(20, 1, 4), Key::of(12)]),
        r#"{"policy":{"20":{"reboot_threshold":9},"20.1":{"severity":"ignore"}}}"#
    );
    assert_eq!(policy.document([Key::of(12)]), r#"{"policy":{}}"#);
    // All of an entry, and read again as it was.
    for entry in [
        r#"{"severity":"fatal","actions":["REBOOT_SYSTEM","HARDWARE_INSPECTION"],"reboot_threshold":3,"unlisted":true}"#,
        r#"{"actions":[],"unlisted":true}"#,
        r#"{"actions":["IGNORE_NO_ACTION_REQUIRED"]}"#,
        r#"{"reboot_threshold":1}"#,
    ] {
        let policy = read(&format!(r#"{{"10":{entry}}}"#)).unwrap();
        assert_eq!(
            policy.document([Key::of(10)]),
            format!(r#"{{"policy":{{"10":{entry}}}}}"#)
        );
    }
}

#[test]
fn the_schema_has_the_reader_s_words() {
    let schema: Value = serde_json::from_str(&schema("^[0-9]+$")).unwrap();
    let entry = &schema["patternProperties"]["^[0-9]+$"]["properties"];
    for word in entry["severity"]["enum"].as_array().unwrap() {
        assert!(read_weight(word).is_ok(), "{word}");
    }
    assert!(read_actions(&entry["actions"]["items"]["enum"]).is_ok());
    assert_eq!(entry.as_object().unwrap().len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn keys_are_read_as_they_are_shown(code in any::<u32>(), sub_code in any::<Option<u32>>(), status in any::<u32>()) {
        let key = Key { code, sub_code, status: sub_code.map(|_| status) };
        prop_assert_eq!(read_key(&key.to_string()), Some(key));
    }

    #[test]
    fn no_name_is_too_odd(name in ".{0,100}", word in ".{0,100}") {
        let mut fields = Map::new();
        fields.insert(SEVERITY.to_owned(), word.into());
        let value = Value::Object(Map::from_iter([(name, fields.into())]));
        let _ = CodePolicy::read(&value, CODES);
    }
}
