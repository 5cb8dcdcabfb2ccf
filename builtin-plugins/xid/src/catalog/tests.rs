//! The generated constants against the data file, and the look-ups.

use std::collections::BTreeMap;

use gpud_builtin_shared::vendor::{ErrorView, differ, verdict_words};
use serde_json::Value;

use super::*;
use crate::catalog_data::VERSION;

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
    assert_eq!(data["schema"], 2);
    assert_eq!(VERSION, data["version"]);
    let codes = data["codes"].as_array().unwrap();
    assert_eq!(codes.len(), CODES.len());
    for (code, data) in CODES.iter().zip(codes) {
        assert_eq!(code.code, data["code"]);
        assert_eq!(serde_json::json!(code.mnemonic), data["mnemonic"]);
        same_entry(&code.entry, data);
    }
    let mnemonics = data["mnemonics"].as_array().unwrap();
    assert_eq!(mnemonics.len(), MNEMONICS.len());
    for ((code, mnemonic), data) in MNEMONICS.iter().zip(mnemonics) {
        assert_eq!(*code, data["code"]);
        assert_eq!(*mnemonic, data["mnemonic"]);
    }
    let changed = codes.iter().filter(|code| code.get("gpud").is_some());
    let changed: Vec<_> = changed.map(|code| &code["code"]).collect();
    let known: Vec<_> = GPUD.iter().map(|(code, _)| *code).collect();
    assert_eq!(serde_json::json!(changed), serde_json::json!(known));
    assert_eq!(gpud_verdict(109), Some("Warning, no action"));
    assert_eq!(gpud_verdict(175), Some("not listed"));
    assert_eq!(gpud_verdict(79), None);
    let vendor = data["vendor"].as_array().unwrap();
    assert_eq!(vendor.len(), VENDOR.len());
    for (known, data) in VENDOR.iter().zip(vendor) {
        assert_eq!(known.code, data["code"]);
        assert_eq!(known.mnemonic, data["mnemonic"]);
        assert_eq!(known.means, data["means"].as_str().unwrap_or_default());
        assert_eq!(known.investigate, data["investigate"]);
        let word = known.immediate.map(VendorAction::word);
        assert_eq!(serde_json::json!(word), data["immediate"]);
        let unused = data_list(&self::data()["vendor_unused"]);
        assert!(!unused.contains(&known.code), "{data}");
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
        assert_eq!(rule.vendor.word(), data["vendor"]);
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

fn data_list(data: &Value) -> Vec<u32> {
    data.as_array().unwrap().iter().map(as_u32).collect()
}

fn as_u32(data: &Value) -> u32 {
    u32::try_from(data.as_u64().unwrap()).unwrap()
}

#[test]
fn every_entry_makes_sense_by_itself() {
    let data = data();
    let sources = data["sources"].as_object().unwrap();
    let nvlink = &data["nvlink"];
    for list in [
        &data["codes"],
        &data["vendor"],
        &nvlink["rules"],
        &nvlink["sub_codes"],
        &nvlink["statuses"],
    ] {
        for entry in list.as_array().unwrap() {
            let source = entry["source"].as_str().unwrap();
            assert!(!sources[source].as_str().unwrap().is_empty(), "{entry}");
        }
    }
    assert!(VENDOR.is_sorted_by(|one, next| one.code < next.code));
    // Ascending, so unique; shown, so not empty; within what a line can have.
    assert!(CODES.is_sorted_by(|one, next| one.code < next.code));
    for Code {
        code,
        mnemonic,
        entry,
    } in &CODES
    {
        assert!((1..=MAX_CODE).contains(code), "{code}");
        assert!(
            mnemonic.is_none_or(|name| !name.trim().is_empty()),
            "{code}"
        );
        // The driver has these codes without a description.
        if !matches!(code, 174 | 176) {
            sensible(entry, &code.to_string());
        }
        // What cannot go on needs something done.
        assert!(
            entry.severity < Severity::Critical || !entry.actions.is_empty(),
            "{code}"
        );
    }
    for (number, mnemonic) in &MNEMONICS {
        assert!(code(*number).is_none() && !mnemonic.is_empty(), "{number}");
    }
    for entry in &SUB_CODES {
        sensible(&entry.entry, &format!("{entry:?}"));
    }
    for entry in &STATUSES {
        sensible(&entry.entry, &format!("{entry:?}"));
    }
}

fn sensible(entry: &Entry, whose: &str) {
    assert!(!entry.label.trim().is_empty(), "{whose}");
    assert_ne!(entry.severity, Severity::Unknown, "{whose}");
    for (at, action) in entry.actions.iter().enumerate() {
        assert!(
            !entry.actions[..at].contains(action),
            "{whose}: {action:?} twice"
        );
    }
}

#[test]
fn the_nvlink_tables_fit_one_another() {
    let sub_code = |bits: &Bits| (bits.value >> 20) & 0x3f;
    for (at, rule) in RULES.iter().enumerate() {
        assert!(is_nvlink(rule.xid) && code(rule.xid).is_some(), "{rule:?}");
        assert_eq!(rule.action.len(), 1, "{rule:?}");
        assert!(rule.severity >= Severity::Warning, "{rule:?}");
        // Values within their masks, and both generations of one sub-code, which the masks cover.
        for bits in [&rule.v1, &rule.v2] {
            assert_eq!(bits.value & !bits.mask, 0, "{rule:?}");
            assert_eq!((bits.mask >> 20) & 0x3f, 0x3f, "{rule:?}");
        }
        assert_eq!(sub_code(&rule.v1), sub_code(&rule.v2), "{rule:?}");
        // Units in the form in which a log's are compared.
        let normal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(!rule.units.is_empty(), "{rule:?}");
        for unit in rule.units {
            assert!(!unit.is_empty() && unit.chars().all(normal), "{rule:?}");
            assert!(rule.names(unit), "{rule:?}");
        }
        // No rule hides a later one that says something else.
        for later in &RULES[at + 1..] {
            let same_pattern = rule.v2.mask == later.v2.mask && rule.v2.value == later.v2.value;
            let same = rule.xid == later.xid && rule.status == later.status && same_pattern;
            let shared = rule.units.iter().any(|unit| later.units.contains(unit));
            let agree = (rule.severity, rule.action) == (later.severity, later.action);
            assert!(!(same && shared) || agree, "{rule:?} {later:?}");
        }
        // What it says can be looked up without the unit, too.
        let key = |status| Key {
            status,
            ..self::key(rule.xid, sub_code(&rule.v2), 0)
        };
        assert!(
            lists(&key(None)) && lists(&key(Some(rule.status))),
            "{rule:?}"
        );
    }
    let has_rule = |xid, number, status: Option<u32>| {
        RULES.iter().any(|rule| {
            let at_status = status.is_none_or(|status| status == rule.status);
            rule.xid == xid && sub_code(&rule.v2) == number && at_status
        })
    };
    let mut seen = std::collections::BTreeSet::new();
    for e in &SUB_CODES {
        assert!(has_rule(e.xid, e.sub_code, None), "{e:?}");
        assert!(seen.insert((e.xid, e.sub_code, None)), "{e:?} twice");
    }
    for e in &STATUSES {
        assert!(has_rule(e.xid, e.sub_code, Some(e.status)), "{e:?}");
        assert!(
            seen.insert((e.xid, e.sub_code, Some(e.status))),
            "{e:?} twice"
        );
    }
}

#[test]
fn counts() {
    let expected: Vec<u32> = (1..=176).filter(|code| *code != 133).collect();
    assert_eq!(
        CODES.iter().map(|code| code.code).collect::<Vec<_>>(),
        expected
    );
    // Each code has GPUd's verdict but those where the vendor's is the default.
    let data = data();
    let (mut severities, mut actions) = (BTreeMap::new(), BTreeMap::new());
    let mut changed = Vec::new();
    for code in data["codes"].as_array().unwrap() {
        let gpud = match code.get("gpud") {
            None => code,
            Some(gpud) => {
                changed.push(as_u32(&code["code"]));
                gpud
            }
        };
        if gpud.is_object() {
            *severities
                .entry(gpud["type"].as_str().unwrap())
                .or_insert(0) += 1;
            let words: Vec<&str> = gpud["actions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|word| word.as_str().unwrap())
                .collect();
            *actions.entry(words.join(" ")).or_insert(0) += 1;
        }
    }
    assert_eq!(changed, [54, 109, 136, 142, 158, 173, 174, 175, 176]);
    let expected = [("Fatal", 43), ("Info", 7), ("Warning", 122)];
    assert_eq!(severities.into_iter().collect::<Vec<_>>(), expected);
    let expected: BTreeMap<String, i32> = [
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
    assert_eq!(
        unnamed.map(|code| code.code).collect::<Vec<_>>(),
        [173, 174, 176]
    );

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
    assert_eq!(label(177, 0, 0), None);
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

/// The verdict of a code by itself.
fn verdict(code: u32, catalog: ErrorView) -> (Severity, Option<&'static str>) {
    let line = format!("NVRM: Xid (PCI:0000:3b:00): {code}, x");
    let xid = crate::xid::decode(&line).unwrap();
    let (severity, actions) = xid.verdict(catalog, None);
    (severity, actions.first().map(|action| action.word()))
}

#[test]
fn gpud_s_hard_verdicts_are_the_default_and_the_vendor_s_can_be_chosen() {
    use Severity::{Critical, Fatal, Info, Warning};
    let (reboot, inspect) = (Some("REBOOT_SYSTEM"), Some("HARDWARE_INSPECTION"));
    let (app, ignore) = (
        Some("CHECK_USER_APP_AND_GPU"),
        Some("IGNORE_NO_ACTION_REQUIRED"),
    );
    for (code, gpud, nvidia) in [
        (32, (Fatal, reboot), (Warning, app)),
        (38, (Fatal, reboot), (Info, ignore)),
        (44, (Fatal, reboot), (Info, ignore)),
        (63, (Fatal, reboot), (Info, ignore)),
        (68, (Fatal, reboot), (Warning, app)),
        (69, (Fatal, reboot), (Warning, app)),
        (94, (Fatal, reboot), (Warning, app)),
        (121, (Fatal, reboot), (Info, ignore)),
        (54, (Critical, inspect), (Critical, inspect)),
        (109, (Fatal, reboot), (Fatal, reboot)),
        (136, (Fatal, reboot), (Fatal, reboot)),
        (142, (Critical, inspect), (Critical, inspect)),
        (158, (Fatal, reboot), (Fatal, reboot)),
        (173, (Fatal, reboot), (Fatal, reboot)),
        (175, (Fatal, reboot), (Fatal, reboot)),
        (79, (Fatal, reboot), (Fatal, reboot)),
        (151, (Warning, reboot), (Fatal, reboot)),
        (51, (Warning, None), (Warning, None)),
        (45, (Warning, ignore), (Warning, ignore)),
        (133, (Warning, None), (Warning, app)),
        (999, (Warning, None), (Warning, None)),
    ] {
        assert_eq!(verdict(code, ErrorView::Gpud), gpud, "{code}");
        assert_eq!(verdict(code, ErrorView::Nvidia), nvidia, "{code}");
    }
}

#[test]
fn present_names() {
    for (code, means) in [
        (126, "Copy engine 10 error"),
        (133, "Copy engine 17 error"),
        (135, "Copy engine 19 error"),
        (142, "Video encoder 3 (NVENC3) error"),
        (175, "Memory subsystem error"),
    ] {
        assert_eq!(vendor(code).unwrap().means, means);
    }
    assert!(vendor(51).is_none() && code(51).is_some());
    assert!(is_known(133) && is_known(51) && is_known(176) && !is_known(177));
}

#[test]
fn the_page_of_differences_is_that_of_the_catalogue() {
    let page = include_str!("../../../../docs/components/xid-catalogues.md");
    let table = page.split("## Xid\n").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
        .collect();
    let mut expected = Vec::new();
    for known in &VENDOR {
        let (gpud, nvidia) = (
            verdict(known.code, ErrorView::Gpud),
            verdict(known.code, ErrorView::Nvidia),
        );
        if differ(gpud, nvidia) {
            expected.push(format!(
                "| {} | {} | {} | `{}` | {} |",
                known.code,
                known.mnemonic,
                verdict_words(gpud.0, gpud.1),
                known.immediate.unwrap().word(),
                verdict_words(nvidia.0, nvidia.1),
            ));
        }
    }
    assert_eq!(
        rows, expected,
        "run builtin-plugins/xid/catalog/generate.py"
    );
    // The page lists the defaults that are not GPUd's, too.
    for code in [54, 109, 136, 142, 158, 173, 174, 175, 176] {
        let (severity, action) = verdict(code, ErrorView::Gpud);
        let words = verdict_words(severity, action);
        assert!(
            page.lines()
                .any(|line| line.starts_with(&format!("| {code} | ")) && line.contains(&words)),
            "{code}: {words}"
        );
    }
}

#[test]
fn nvlink_errors_without_a_rule_follow_unit_severity_and_status() {
    for (code, unit, fatal, status, word) in [
        (144, "SAW_MVB", false, 0x2, "RESET_GPU"),
        (144, "SAW_MVB", false, 0x10, "RESET_GPU"),
        (144, "SAW_MVB", false, 0x1, "WORKFLOW_NVLINK5_ERR"),
        (145, "RLW_CTRL", true, 0, "RESET_GPU"),
        (145, "RLW_SRC_TRACK", false, 0x8, "XID_154"),
        (145, "RLW_REMAP", false, 0x20, "XID_154"),
        (145, "RLW_RXPIPE", false, 0x8, "WORKFLOW_NVLINK5_ERR"),
        (146, "TLW_RX", false, 0x4, "RESET_GPU"),
        (147, "TREX", true, 0, "IGNORE"),
        (148, "NVLPW_CTRL", true, 0, "IGNORE"),
        (149, "NETIR_BER_EVENT", false, 1, "IGNORE"),
        (149, "NETIR_LINK_DOWN", true, 0, "RESET_GPU"),
        (149, "NETIR_MFDE", true, 0, "RESET_GPU"),
        (149, "NETIR_INT", true, 0, "RESET_GPU"),
        (150, "MSE_WATCHDOG", true, 0, "RESET_GPU"),
    ] {
        let action = nvlink_action(code, unit, fatal, status);
        assert_eq!(action.word(), word, "{code} {unit} {status:x}");
    }
}
