//! The generated constants against the data file.

use std::collections::BTreeMap;

use gpud_builtin_shared::vendor::{differ, verdict_words};
use serde_json::Value;

use super::*;
use crate::catalog_data::VERSION;

fn data() -> Vec<Value> {
    let data: Value = serde_json::from_str(include_str!("../../catalog/sxid.json")).unwrap();
    assert_eq!(data["schema"], 2);
    assert_eq!(VERSION, data["version"]);
    let sources = data["sources"].as_object().unwrap();
    for code in data["codes"].as_array().unwrap() {
        for source in [&code["source"], &code["vendor_source"]] {
            let known = source.as_str().is_none_or(|name| sources[name].is_string());
            assert!(known, "{code}");
        }
        assert_eq!(code["vendor"].is_null(), code["vendor_source"].is_null());
    }
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
        let word = known.vendor.map(VendorAction::word);
        assert_eq!(serde_json::json!(word), data["vendor"]);
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

#[test]
fn the_guide_s_view_can_be_chosen() {
    let first = |code: u32, catalog| {
        let (severity, actions) = self::code(code).unwrap().verdict(catalog);
        (severity, actions.first().copied())
    };
    for (code, gpud, nvidia) in [
        (
            22_013,
            (Severity::Warning, None),
            (Severity::Info, Some(Action::Ignore)),
        ),
        (
            20_012,
            (Severity::Warning, None),
            (Severity::Critical, Some(Action::Inspect)),
        ),
        (
            10_003,
            (Severity::Warning, None),
            (Severity::Fatal, Some(Action::Reboot)),
        ),
        (
            12_028,
            (Severity::Fatal, Some(Action::Reboot)),
            (Severity::Fatal, Some(Action::Reboot)),
        ),
        (
            20_034,
            (Severity::Fatal, Some(Action::Reboot)),
            (Severity::Fatal, Some(Action::Reboot)),
        ),
        (20_009, (Severity::Warning, None), (Severity::Warning, None)),
    ] {
        assert_eq!(first(code, ErrorView::Gpud), gpud, "{code}");
        assert_eq!(first(code, ErrorView::Nvidia), nvidia, "{code}");
    }
}

#[test]
fn the_page_of_differences_is_that_of_the_catalogue() {
    let page = include_str!("../../../../docs/components/xid-catalogues.md");
    let table = page.split("## SXid\n").nth(1).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
        .collect();
    let of = |known: &Code, catalog| {
        let (severity, actions) = known.verdict(catalog);
        (severity, actions.first().map(|action| action.word()))
    };
    let mut expected = Vec::new();
    for known in &CODES {
        let (gpud, nvidia) = (of(known, ErrorView::Gpud), of(known, ErrorView::Nvidia));
        if differ(gpud, nvidia) {
            expected.push(format!(
                "| {} | {} | {} | `{}` | {} |",
                known.code,
                known.name,
                verdict_words(gpud.0, gpud.1),
                known.vendor.unwrap().word(),
                verdict_words(nvidia.0, nvidia.1),
            ));
        }
    }
    assert_eq!(
        rows, expected,
        "run builtin-plugins/xid/catalog/generate.py"
    );
}
