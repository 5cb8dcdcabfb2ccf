//! Documents and what is read of them.

use super::*;

const KIND: CodeKind = CodeKind {
    codes: Codes {
        family: "Xid",
        version: 1,
        possible: |_| true,
        listed: |_| true,
    },
    has_threshold: true,
    key_pattern: "^[0-9]+$",
    overrides: &[(94, 1000)],
    further_properties: r#""product":{"type":"string"},"#,
};

#[test]
fn reads_thresholds_and_the_window() {
    // Document, since for now = 2,000,000 s, thresholds of 79, 94 and 31.
    for (document, since, thresholds) in [
        ("{}", 790_400, [2, 1000, 2]),
        (r#"{"lookback_seconds": 60}"#, 1_999_940, [2, 1000, 2]),
        (r#"{"lookback_seconds": "60"}"#, 790_400, [2, 1000, 2]),
        (
            r#"{"lookback_seconds": 99999999999999999999}"#,
            790_400,
            [2, 1000, 2],
        ),
        (
            r#"{"lookback_seconds": 18446744073709551615}"#,
            0,
            [2, 1000, 2],
        ),
        (
            r#"{"lookback_seconds": 0, "reboot_threshold": 0}"#,
            790_400,
            [2, 1000, 2],
        ),
        (
            r#"{"lookback_seconds": -5, "reboot_threshold": -5}"#,
            790_400,
            [2, 1000, 2],
        ),
        (r#"{"reboot_threshold": 3}"#, 790_400, [3, 1000, 3]),
        (r#"{"overrides": {"79": 5}}"#, 790_400, [5, 1000, 2]),
        (
            r#"{"overrides": {"79": {"rebootThreshold": 4}}}"#,
            790_400,
            [4, 1000, 2],
        ),
        (
            r#"{"overrides": {"94": 7}, "reboot_threshold": 3}"#,
            790_400,
            [3, 7, 3],
        ),
        (r#"{"overrides": {"94": 0}}"#, 790_400, [2, 2, 2]),
        (
            r#"{"overrides": {"31": 99999999999}}"#,
            790_400,
            [2, 1000, u32::MAX],
        ),
        (
            r#"{"overrides": {"x": 1, "31": "many", "79": -1}, "other": 1}"#,
            790_400,
            [2, 1000, 2],
        ),
        (r#"{"overrides": [79]}"#, 790_400, [2, 1000, 2]),
    ] {
        let config = CodeConfig::read(document, &KIND).unwrap();
        assert_eq!(config.since(2_000_000_000), since * 1000, "{document}");
        let found = [79, 94, 31].map(|code| config.threshold(Key::of(code)));
        assert_eq!(found, thresholds, "{document}");
        assert!(config.policy().is_empty());
    }
}

#[test]
fn the_global_threshold_is_a_key_only_where_it_is_allowed() {
    let fixed = CodeKind {
        has_threshold: false,
        ..KIND
    };
    let config = CodeConfig::read(r#"{"reboot_threshold": 9}"#, &fixed).unwrap();
    assert_eq!(config.threshold(Key::of(79)), 2);
    let keys = |kind: &CodeKind| {
        let schema: Value = serde_json::from_str(&kind.schema()).unwrap();
        let keys = schema["properties"].as_object().unwrap().keys();
        keys.cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&fixed),
        ["lookback_seconds", "overrides", "policy", "product"]
    );
    assert_eq!(
        keys(&KIND),
        [
            "lookback_seconds",
            "overrides",
            "policy",
            "product",
            "reboot_threshold"
        ]
    );
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let error = |document| CodeConfig::read(document, &KIND).unwrap_err();
    assert!(error("{").starts_with("configuration: "));
    assert_eq!(
        error(r#"{"lookback_seconds": 60, "policy": 5}"#),
        "configuration: policy is no object of Xids"
    );
    let config = CodeConfig::read(r#"{"policy": {"79": {"severity": "info"}}}"#, &KIND);
    assert!(!config.unwrap().policy().is_empty());
}
