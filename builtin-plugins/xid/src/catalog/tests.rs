//! The generated constants against the data file, and the look-ups.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

fn data() -> Value {
    serde_json::from_str(include_str!("../../catalog/xid.json")).unwrap()
}

fn word(severity: Severity) -> String {
    format!("{severity:?}")
}

fn same_entry(entry: &Entry, data: &Value) {
    assert_eq!(entry.label, data["label"], "{data}");
    assert_eq!(word(entry.severity), data["type"], "{data}");
    let actions: Vec<&str> = entry.actions.iter().map(|action| action.word()).collect();
    assert_eq!(serde_json::json!(actions), data["actions"], "{data}");
}

fn number(data: &Value) -> u32 {
    u32::from_str_radix(data.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

fn same_bits(bits: &Bits, data: &Value) {
    assert_eq!(
        (bits.mask, bits.value),
        (number(&data["mask"]), number(&data["value"]))
    );
}

#[test]
fn the_constants_are_the_data_file() {
    let data = data();
    assert_eq!(data["schema"], 1);
    let codes = data["codes"].as_array().unwrap();
    assert_eq!(codes.len(), CODES.len());
    for (code, data) in CODES.iter().zip(codes) {
        assert_eq!(code.code, data["code"]);
        assert_eq!(serde_json::json!(code.mnemonic), data["mnemonic"]);
        same_entry(&code.entry, data);
    }
    let nvlink = &data["nvlink"];
    let rules = nvlink["rules"].as_array().unwrap();
    assert_eq!(rules.len(), RULES.len());
    for (rule, data) in RULES.iter().zip(rules) {
        assert_eq!(rule.xid, data["xid"]);
        assert_eq!(serde_json::json!(rule.units), data["units"]);
        assert_eq!(rule.status, number(&data["status"]));
        same_bits(&rule.v1, &data["v1"]);
        same_bits(&rule.v2, &data["v2"]);
        assert_eq!(word(rule.severity), data["type"]);
        assert_eq!(
            rule.action.iter().map(|a| a.word()).collect::<Vec<_>>(),
            [&data["action"]]
        );
        assert_eq!(rule.hint, data["hint"]);
    }
    let sub_codes = nvlink["sub_codes"].as_array().unwrap();
    assert_eq!(sub_codes.len(), SUB_CODES.len());
    for (entry, data) in SUB_CODES.iter().zip(sub_codes) {
        assert_eq!(
            (entry.xid, entry.sub_code),
            (as_u32(&data["xid"]), as_u32(&data["sub_code"]))
        );
        same_entry(&entry.entry, data);
    }
    let statuses = nvlink["statuses"].as_array().unwrap();
    assert_eq!(statuses.len(), STATUSES.len());
    for (entry, data) in STATUSES.iter().zip(statuses) {
        assert_eq!(
            (entry.xid, entry.sub_code),
            (as_u32(&data["xid"]), as_u32(&data["sub_code"]))
        );
        assert_eq!(entry.status, number(&data["status"]));
        same_entry(&entry.entry, data);
    }
}

fn as_u32(data: &Value) -> u32 {
    u32::try_from(data.as_u64().unwrap()).unwrap()
}

#[test]
fn counts() {
    assert_eq!(CODES.len(), 172);
    let expected: Vec<u32> = (1..=173).filter(|code| *code != 133).collect();
    assert_eq!(
        CODES.iter().map(|code| code.code).collect::<Vec<_>>(),
        expected
    );
    let mut severities = BTreeMap::new();
    for code in &CODES {
        *severities.entry(code.entry.severity).or_insert(0) += 1;
    }
    let expected = [
        (Severity::Info, 7),
        (Severity::Warning, 122),
        (Severity::Fatal, 43),
    ];
    assert_eq!(severities.into_iter().collect::<Vec<_>>(), expected);

    let mut actions: BTreeMap<String, usize> = BTreeMap::new();
    for code in &CODES {
        let words: Vec<&str> = code
            .entry
            .actions
            .iter()
            .map(|action| action.word())
            .collect();
        *actions.entry(words.join(" ")).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> = [
        ("", 105),
        ("REBOOT_SYSTEM", 38),
        ("REBOOT_SYSTEM HARDWARE_INSPECTION", 19),
        ("CHECK_USER_APP_AND_GPU", 4),
        ("CHECK_USER_APP_AND_GPU HARDWARE_INSPECTION", 1),
        ("IGNORE_NO_ACTION_REQUIRED", 2),
        ("REBOOT_SYSTEM IGNORE_NO_ACTION_REQUIRED", 1),
        ("HARDWARE_INSPECTION", 2),
    ]
    .map(|(words, count)| (words.to_owned(), count))
    .into();
    assert_eq!(actions, expected);
    let unnamed = CODES.iter().filter(|code| code.mnemonic.is_none());
    assert_eq!(unnamed.map(|code| code.code).collect::<Vec<_>>(), [173]);

    assert_eq!((RULES.len(), SUB_CODES.len(), STATUSES.len()), (94, 27, 55));
    for (xid, count) in [
        (144, 6),
        (145, 33),
        (146, 20),
        (147, 2),
        (148, 1),
        (149, 31),
        (150, 1),
    ] {
        assert_eq!(
            RULES.iter().filter(|rule| rule.xid == xid).count(),
            count,
            "{xid}"
        );
    }
}

#[test]
fn the_tables_by_status_follow_from_the_rules() {
    // For each (code, sub-code, status): the most severe type and the union of the actions, sorted by their words.
    // The two that NVIDIA's partners treat by themselves (149.4 and 149.10) are exempt.
    for entry in STATUSES
        .iter()
        .filter(|e| !(e.xid == 149 && matches!(e.sub_code, 4 | 10)))
    {
        let rules: Vec<&Rule> = RULES
            .iter()
            .filter(|r| r.xid == entry.xid && r.status == entry.status)
            .filter(|r| (r.v2.value >> 20) & 0x3f == entry.sub_code)
            .collect();
        let severity = rules.iter().map(|rule| rule.severity).max().unwrap();
        assert_eq!(entry.entry.severity, severity, "{entry:?}");
        let mut words: Vec<&str> = rules
            .iter()
            .flat_map(|r| r.action)
            .map(|a| a.word())
            .collect();
        words.sort_unstable();
        words.dedup();
        let actions: Vec<&str> = entry
            .entry
            .actions
            .iter()
            .map(|action| action.word())
            .collect();
        assert_eq!(actions, words, "{entry:?}");
    }
}

#[test]
fn looks_up_from_the_most_to_the_least_exact() {
    let label = |number, sub_code, status| known(number, sub_code, status).map(|entry| entry.label);
    assert_eq!(label(79, 0, 0), Some("GPU has fallen off the bus"));
    assert_eq!(label(79, 3, 7), Some("GPU has fallen off the bus"));
    assert_eq!(label(133, 0, 0), None);
    assert_eq!(label(174, 0, 0), None);
    // By status, by sub-code, by sub-code 0.
    let severity = |sub_code, status| known(149, sub_code, status).unwrap().severity;
    assert_eq!(severity(38, 0), Severity::Fatal);
    assert_eq!(severity(38, 99), Severity::Warning);
    assert_eq!(severity(63, 99), Severity::Warning);
    let actions = known(149, 63, 0).unwrap().actions;
    assert_eq!(actions, [Action::Ignore, Action::Reboot]);
    assert_eq!(mnemonic(133), Some("ROBUST_CHANNEL_CE17_ERROR"));
    assert_eq!(mnemonic(173), None);
    assert_eq!(mnemonic(999), None);
}
