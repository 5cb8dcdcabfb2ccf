//! The verdict.
//!
//! The files are those of `drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c`. GPUs that are joined form a hive and have the
//! same `xgmi_hive_id`; `xgmi_num_hops` and `xgmi_num_links` list a hexadecimal number for each GPU of it. Errors are
//! counted by the RAS block `xgmi_wafl`. The file `xgmi_error` is never read: reading clears the register behind it
//! (`amdgpu_xgmi_show_error`).

use std::collections::BTreeMap;

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::ras::{Counts, Growth, counts};
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;

/// The files. Those with a number for each GPU of a hive have three characters of it.
pub const FILES: [CardFile; 5] = [
    CardFile::short("xgmi_device_id"),
    CardFile::short(HIVE),
    CardFile {
        name: "xgmi_num_hops",
        max_bytes: 1_024,
    },
    CardFile {
        name: "xgmi_num_links",
        max_bytes: 1_024,
    },
    CardFile::short(ERRORS),
];
const HIVE: &str = "xgmi_hive_info/xgmi_hive_id";
const ERRORS: &str = "ras/xgmi_wafl_err_count";

/// Metric of uncorrected errors.
pub const UNCORRECTED: &str = "accelerator_amd_xgmi_uncorrected_errors";
/// Metric of corrected errors.
pub const CORRECTED: &str = "accelerator_amd_xgmi_corrected_errors";
/// Metric of the hive's size.
pub const HIVE_SIZE: &str = "accelerator_amd_xgmi_hive_size";

/// Most GPUs of a hive.
const MAX_PEERS: usize = 64;
const UNCORRECTED_ADVICE: &str = "Data on the links between GPUs was damaged. Drain the machine and reboot; if \
    it comes back, have the GPUs and the board between them looked at.";
const CORRECTED_ADVICE: &str =
    "No data was lost, but a link is bad: have the GPUs and the board between them looked at.";
const HIVE_ADVICE: &str = "GPUs that should be joined are not. Reboot; if that does not help, have the machine \
    looked at.";

struct Reading<'a> {
    card: &'a Card,
    hive: Option<u64>,
    hops: Vec<u8>,
    links: Vec<u8>,
    errors: Option<Counts>,
}

impl<'a> Reading<'a> {
    /// Nothing of a GPU without XGMI. One that could be joined and is not has a hive id of 0, and no folder.
    fn of(card: &'a Card) -> Option<Self> {
        let reading = Self {
            card,
            hive: card.number(HIVE).filter(|id| *id != 0),
            hops: numbers(card.text("xgmi_num_hops")),
            links: numbers(card.text("xgmi_num_links")),
            errors: card.text(ERRORS).and_then(counts),
        };
        let joined = reading.hive.is_some() || card.text("xgmi_device_id").is_some();
        (joined || reading.errors.is_some()).then_some(reading)
    }
}

/// `00 01 01 ` as numbers; nothing unless all are.
pub fn numbers(text: Option<&str>) -> Vec<u8> {
    let words = text.unwrap_or_default().split_ascii_whitespace();
    let numbers: Option<Vec<u8>> = words
        .take(MAX_PEERS)
        .map(|word| u8::from_str_radix(word, 16).ok())
        .collect();
    numbers.unwrap_or_default()
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    cards: &[Card],
    before: &RetainedState,
    growth: &Growth,
) -> (Report, RetainedState, Growth) {
    let readings: Vec<Reading> = cards.iter().filter_map(Reading::of).collect();
    if readings.is_empty()
        && let Some((report, past)) = nothing(context, cards, "no AMD GPU with XGMI links")
    {
        return (report, past, Growth::default());
    }
    let mut hives: BTreeMap<u64, Vec<&Card>> = BTreeMap::new();
    for reading in &readings {
        if let Some(hive) = reading.hive {
            hives.entry(hive).or_default().push(reading.card);
        }
    }
    let mut round = Round::begin(cards, before);
    let mut grown = growth.clone();
    for reading in &readings {
        judge_errors(context, config, reading, &mut grown, &mut round);
    }
    grown.retain(|key| cards.iter().any(|card| key.starts_with(&card.id)));
    // A GPU that cannot be read may well be joined.
    let all_read = cards
        .iter()
        .all(|card| card.unreadable().is_none() && !card.asleep);
    if all_read {
        judge_hives(config, &readings, &hives, &mut round);
    }
    let healthy = format!(
        "{} GPU(s) were checked, no XGMI issue found ({} hive(s))",
        readings.len(),
        hives.len()
    );
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = readings.iter().map(document).collect();
    let mut report = with_data(report, &json!({ "gpus": gpus }));
    for reading in &readings {
        let labels = [("bus_id", reading.card.id.as_str())];
        if let Some(errors) = reading.errors {
            report = report
                .gauge_with(UNCORRECTED, &labels, gauge(errors.uncorrected))
                .gauge_with(CORRECTED, &labels, gauge(errors.corrected));
        }
        let size = reading
            .hive
            .and_then(|hive| hives.get(&hive))
            .map_or(0, Vec::len);
        report.add_gauge(HIVE_SIZE, &labels, gauge(size as u64));
    }
    (report, after, grown)
}

fn judge_errors(
    context: &CheckContext,
    config: &Config,
    reading: &Reading,
    grown: &mut Growth,
    round: &mut Round,
) {
    let (card, Some(errors)) = (reading.card, reading.errors) else {
        return;
    };
    for (what, count, threshold, event, action, advice) in [
        (
            "uncorrected",
            errors.uncorrected,
            config.uncorrected_threshold,
            "amd_xgmi_uncorrected_errors",
            RepairAction::RebootSystem,
            UNCORRECTED_ADVICE,
        ),
        (
            "corrected",
            errors.corrected,
            config.corrected_threshold,
            "amd_xgmi_corrected_errors",
            RepairAction::HardwareInspection,
            CORRECTED_ADVICE,
        ),
    ] {
        let key = format!("{} {what}", card.id);
        let new = grown.add(context, config.window_seconds, key.clone(), count);
        if new >= threshold {
            let hours = config.window_seconds / 3_600;
            let text = format!(
                "GPU {}: {new} {what} error(s) of its XGMI links within {hours} h",
                card.label()
            );
            let finding = Finding::degraded(key, event, text).action(action, advice);
            round.add(finding.subject(card.subject()).from_file(card.path(ERRORS)));
        }
    }
}

fn judge_hives(
    config: &Config,
    readings: &[Reading],
    hives: &BTreeMap<u64, Vec<&Card>>,
    round: &mut Round,
) {
    if config.hive_size == 0 {
        return;
    }
    for reading in readings {
        let card = reading.card;
        let members = reading.hive.and_then(|hive| hives.get(&hive));
        let size = members.map_or(0, Vec::len) as u64;
        if size < config.hive_size {
            let text = format!(
                "GPU {} is in an XGMI hive of {size}, expected {}",
                card.label(),
                config.hive_size
            );
            let finding =
                Finding::unhealthy(format!("{} hive", card.id), "amd_xgmi_hive_too_small", text)
                    .action(RepairAction::RebootSystem, HIVE_ADVICE);
            round.add(finding.subject(card.subject()).from_file(card.path(HIVE)));
        }
    }
}

fn document(reading: &Reading) -> Value {
    json!({
        "bus_id": reading.card.id,
        "product": reading.card.product,
        // More than JSON's readers can be trusted with as a number.
        "hive_id": reading.hive.map(|hive| hive.to_string()),
        "hops": reading.hops,
        "links": reading.links,
        "uncorrected_errors": reading.errors.map(|errors| errors.uncorrected),
        "corrected_errors": reading.errors.map(|errors| errors.corrected),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_amd_common::testing::{Fixture, actions, context, data, metric, only_state};
    use gpud_sdk::Health;
    use proptest::prelude::*;

    const A: &str = "0000:03:00.0";
    const B: &str = "0000:26:00.0";

    fn joined(hive: &str) -> String {
        format!(
            "xgmi_device_id=17;xgmi_hive_info/xgmi_hive_id={hive};xgmi_num_hops=00 01 ;xgmi_num_links=00 01 ;\
             ras/xgmi_wafl_err_count=ue: 0\nce: 0"
        )
    }

    fn look(config: &str, tree: &Fixture) -> Report {
        let config = Config::parse(config).unwrap();
        let cards = tree.cards(&FILES);
        let context = context("accelerator-amd-xgmi");
        evaluate(
            &context,
            &config,
            &cards,
            &RetainedState::default(),
            &Growth::default(),
        )
        .0
    }

    #[test]
    fn verdicts() {
        let pair = |second: &str| Fixture::default().gpu(A, &joined("9")).gpu(B, second);
        let fine = |hives| format!("2 GPU(s) were checked, no XGMI issue found ({hives} hive(s))");
        let reboot: &[RepairAction] = &[RepairAction::RebootSystem];
        for (config, second, health, reason, action) in [
            ("{}", joined("9"), Health::Healthy, fine(1), &[][..]),
            ("{}", joined("8"), Health::Healthy, fine(2), &[]),
            (r#"{"hive_size":2}"#, joined("9"), Health::Healthy, fine(1), &[]),
            (
                r#"{"hive_size":2}"#,
                joined("8"),
                Health::Unhealthy,
                "GPU 0000:03:00.0 is in an XGMI hive of 1, expected 2; GPU 0000:26:00.0 is in an XGMI hive of 1, \
                 expected 2"
                    .to_owned(),
                reboot,
            ),
            (
                "{}",
                joined("9").replace("ue: 0", "ue: 3"),
                Health::Degraded,
                "GPU 0000:26:00.0: 3 uncorrected error(s) of its XGMI links within 24 h".to_owned(),
                reboot,
            ),
            (
                "{}",
                joined("9").replace("ce: 0", "ce: 20000"),
                Health::Degraded,
                "GPU 0000:26:00.0: 20000 corrected error(s) of its XGMI links within 24 h".to_owned(),
                &[RepairAction::HardwareInspection],
            ),
        ] {
            let report = look(config, &pair(&second));
            let state = only_state(&report);
            assert_eq!((&state.health, &state.reason), (&health, &reason), "{second}");
            assert_eq!(actions(&report), action);
        }
    }

    #[test]
    fn ordinary_machines() {
        let laptop = Fixture::default().gpu(A, "gpu_busy_percent=1");
        for tree in [Fixture::default(), laptop] {
            let report = look(r#"{"hive_size":8}"#, &tree);
            assert!(!report.supported);
            assert_eq!(only_state(&report).health, Health::Healthy);
        }
    }

    #[test]
    fn what_is_shown() {
        let tree = Fixture::default().gpu(A, &joined("18446744073709551615"));
        let report = look("{}", &tree);
        assert_eq!(metric(&report, HIVE_SIZE, A), Some(1.0));
        assert_eq!(metric(&report, UNCORRECTED, A), Some(0.0));
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["gpus"][0]["hive_id"], "18446744073709551615");
        assert_eq!(document["gpus"][0]["links"][1], 1);
    }

    #[test]
    fn reading_clears_nothing() {
        assert!(FILES.iter().all(|file| !file.name.ends_with("xgmi_error")));
        assert!(!include_str!("../manifest.json").contains("xgmi_error"));
    }

    #[test]
    fn lists_of_numbers() {
        for (text, expected) in [
            (Some("00 01 0a "), &[0, 1, 10][..]),
            (Some("00 100"), &[]),
            (Some("00 zz"), &[]),
            (Some(""), &[]),
            (None, &[]),
        ] {
            assert_eq!(numbers(text), expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_survived(text in "([0-9a-f]{1,3} |\\PC{0,4}){0,80}") {
            prop_assert!(numbers(Some(&text)).len() <= MAX_PEERS);
        }
    }
}
