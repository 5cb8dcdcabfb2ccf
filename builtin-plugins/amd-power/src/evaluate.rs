//! The verdict.
//!
//! The files are those of `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, in microwatts. A GPU has `power1_average`, or
//! `power1_input` (the present value), or both. The limit in force is `power1_cap`; `power1_cap_default` is the one
//! that the board came with. For an integrated GPU the power is that of the whole processor.

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;

/// The files.
pub const FILES: [CardFile; 5] = [
    CardFile::short("hwmon/hwmon*/power1_average"),
    CardFile::short("hwmon/hwmon*/power1_input"),
    CardFile::short("hwmon/hwmon*/power1_cap"),
    CardFile::short("hwmon/hwmon*/power1_cap_default"),
    CardFile::short("hwmon/hwmon*/power1_cap_max"),
];
/// Metric of the power drawn.
pub const USAGE: &str = "accelerator_amd_power_watts";
/// Metric of the limit.
pub const CAP: &str = "accelerator_amd_power_cap_watts";
/// Metric of the share.
pub const USED: &str = "accelerator_amd_power_used_percent";

/// What is a power, watts.
const PLAUSIBLE: std::ops::Range<f64> = 0.0..100_000.0;
const ADVICE: &str = "Raise the limit (`amd-smi set --power-cap`), or find out who lowered it.";

/// The readings of one GPU, watts.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading<'a> {
    card: &'a Card,
    usage: Option<f64>,
    cap: Option<f64>,
    default: Option<f64>,
    max: Option<f64>,
}

impl<'a> Reading<'a> {
    fn of(card: &'a Card) -> Option<Self> {
        let watts = |file: &str| {
            let mut texts = card.between("hwmon/", file);
            let microwatts: u64 = texts.find_map(|(_, text)| text.parse().ok())?;
            #[expect(
                clippy::cast_precision_loss,
                reason = "beyond 2^53 it is not plausible"
            )]
            let watts = microwatts as f64 / 1e6;
            Some(watts).filter(|watts| PLAUSIBLE.contains(watts))
        };
        let reading = Self {
            card,
            usage: watts("/power1_average").or_else(|| watts("/power1_input")),
            cap: watts("/power1_cap").filter(|cap| *cap > 0.0),
            default: watts("/power1_cap_default").filter(|cap| *cap > 0.0),
            max: watts("/power1_cap_max").filter(|cap| *cap > 0.0),
        };
        (reading.usage.is_some() || reading.cap.is_some()).then_some(reading)
    }

    fn used_percent(&self) -> Option<f64> {
        Some(self.usage? * 100.0 / self.cap?)
    }
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    cards: &[Card],
    before: &RetainedState,
) -> (Report, RetainedState) {
    let readings: Vec<Reading> = cards.iter().filter_map(Reading::of).collect();
    let asleep = cards.iter().any(|card| card.asleep);
    if readings.is_empty()
        && !asleep
        && let Some(nothing) = nothing(context, cards, "no AMD GPU reports its power")
    {
        return nothing;
    }
    let mut round = Round::begin(cards, before);
    for reading in &readings {
        if let Some(cap) = reading
            .cap
            .filter(|cap| *cap < f64::from(config.min_cap_watts))
        {
            let card = reading.card;
            let text = format!(
                "GPU {}: the power limit is {cap:.0} W, expected {} W",
                card.label(),
                config.min_cap_watts
            );
            let finding =
                Finding::degraded(format!("{} cap", card.id), "amd_gpu_power_cap_low", text)
                    .action(RepairAction::CheckUserAppAndGpu, ADVICE);
            round.add(finding.subject(card.subject()));
        }
    }
    let healthy = format!(
        "{} GPU(s) were checked, no power issue found",
        readings.len()
    );
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = readings
        .iter()
        .map(|reading| {
            json!({
                "bus_id": reading.card.id,
                "product": reading.card.product,
                "usage_watts": reading.usage,
                "cap_watts": reading.cap,
                "default_cap_watts": reading.default,
                "max_cap_watts": reading.max,
            })
        })
        .collect();
    let mut report = with_data(report, &json!({ "gpus": gpus }));
    for reading in &readings {
        let labels = [("bus_id", reading.card.id.as_str())];
        for (name, value) in [
            (USAGE, reading.usage),
            (CAP, reading.cap),
            (USED, reading.used_percent()),
        ] {
            if let Some(value) = value {
                report.add_gauge(name, &labels, value);
            }
        }
    }
    (report, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_amd_common::testing::{Fixture, actions, context, data, metric, only_state};
    use gpud_sdk::Health;
    use proptest::prelude::*;

    const ID: &str = "0000:03:00.0";

    fn look(config: &str, files: &str) -> Report {
        let cards = Fixture::default().gpu(ID, files).cards(&FILES);
        let config = Config::parse(config).unwrap();
        evaluate(
            &context("accelerator-amd-power"),
            &config,
            &cards,
            &RetainedState::default(),
        )
        .0
    }

    #[test]
    fn verdicts() {
        let fine = "1 GPU(s) were checked, no power issue found";
        let mi300 = "hwmon/hwmon4/power1_input=140000000;hwmon/hwmon4/power1_cap=550000000;\
                     hwmon/hwmon4/power1_cap_default=750000000;hwmon/hwmon4/power1_cap_max=750000000";
        for (config, files, health, reason) in [
            // A lower limit is a site's own business, unless it said otherwise.
            ("{}", mi300, Health::Healthy, fine),
            (r#"{"min_cap_watts":550}"#, mi300, Health::Healthy, fine),
            (
                r#"{"min_cap_watts":750}"#,
                mi300,
                Health::Degraded,
                "GPU 0000:03:00.0: the power limit is 550 W, expected 750 W",
            ),
            (
                r#"{"min_cap_watts":750}"#,
                "hwmon/hwmon4/power1_average=4000000",
                Health::Healthy,
                fine,
            ),
            (
                r#"{"min_cap_watts":750}"#,
                "hwmon/hwmon4/power1_average=4000000;hwmon/hwmon4/power1_cap=0",
                Health::Healthy,
                fine,
            ),
        ] {
            let report = look(config, files);
            let state = only_state(&report);
            assert_eq!(
                (&state.health, state.reason.as_str()),
                (&health, reason),
                "{config} {files}"
            );
            assert_eq!(actions(&report).is_empty(), health == Health::Healthy);
        }
    }

    #[test]
    fn what_is_shown() {
        let report = look(
            "{}",
            "hwmon/hwmon4/power1_average=150000000;hwmon/hwmon4/power1_input=999;hwmon/hwmon4/power1_cap=300000000",
        );
        assert_eq!(metric(&report, USAGE, ID), Some(150.0));
        assert_eq!(metric(&report, CAP, ID), Some(300.0));
        assert_eq!(metric(&report, USED, ID), Some(50.0));
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["gpus"][0]["cap_watts"], 300.0);
        assert!(!look("{}", "gpu_busy_percent=1").supported);
        assert!(!look("{}", "hwmon/hwmon4/power1_average=-3").supported);
        assert!(look("{}", "power/runtime_status=suspended").supported);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

        #[test]
        fn any_text_is_survived(usage in "-?[0-9]{0,22}|\\PC{0,10}", cap in "-?[0-9]{0,22}") {
            let files = format!("hwmon/hwmon4/power1_input={usage};hwmon/hwmon4/power1_cap={cap}");
            let report = look(r#"{"min_cap_watts":1}"#, &files);
            prop_assert!(report.metrics.iter().all(|metric| metric.value.is_finite()));
        }
    }
}
