//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_edac::counters::Dimm;
use gpud_builtin_edac::memory::Memory as Counters;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

/// Gauge: corrected errors.
pub const CORRECTED: &str = "server_memory_corrected_errors";
/// Gauge: uncorrected errors.
pub const UNCORRECTED: &str = "server_memory_uncorrected_errors";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_corrected": {
      "description": "Corrected errors of a DIMM within the window that are put up with.",
      "type": "integer", "minimum": 0, "default": 100
    },
    "window_hours": {
      "description": "The window of corrected errors.",
      "type": "integer", "minimum": 1, "maximum": 720, "default": 24
    },
    "expected_dimms": {
      "description": "DIMMs that have to be there; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 1024, "default": 0
    },
    "slots": {
      "description": "What the board has printed beside a slot, by controller and DIMM: {\"mc0/dimm3\": \"P1-DIMMB1\"}.",
      "type": "object", "maxProperties": 256, "additionalProperties": { "type": "string" }, "default": {}
    }
  }
}"#;

const REPLACE: &str = "Have the memory module in this slot replaced.";
const RESEAT: &str =
    "Look for a memory module that is not seated or that the firmware has disabled.";
/// Longest name of a slot, bytes.
const MAX_NAME: usize = 64;
/// Names of slots that are taken.
const MAX_SLOTS: usize = 256;
/// Slots with metrics; no machine has as many.
const MAX_METRICS: usize = 1_024;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    max_corrected: u64,
    window_seconds: u64,
    expected: u64,
    slots: BTreeMap<String, String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let value: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
        let slots = value.get("slots").and_then(Value::as_object);
        let slots = slots.into_iter().flatten().filter_map(|(place, name)| {
            let name = name.as_str().filter(|name| !name.is_empty())?;
            let short = name.get(..name.floor_char_boundary(MAX_NAME))?;
            Some((place.clone(), short.to_owned()))
        });
        Ok(Self {
            max_corrected: settings.number("max_corrected", 100, 0..=u64::MAX),
            window_seconds: settings.number("window_hours", 24, 1..=720) * 3_600,
            expected: settings.number("expected_dimms", 0, 0..=1_024),
            slots: slots.take(MAX_SLOTS).collect(),
        })
    }

    /// Whether modules have to be there.
    pub fn expects_modules(&self) -> bool {
        self.expected > 0
    }

    fn name<'a>(&'a self, dimm: &'a Dimm) -> &'a str {
        self.slots
            .get(&dimm.id())
            .map_or_else(|| dimm.name(), String::as_str)
    }
}

/// Judges the counters. `counters` is what the last check of this boot kept; gives the report, what is open, and what
/// to keep.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    dimms: &[Dimm],
    counters: Option<&Counters>,
    before: &Memory,
) -> (Report, Memory, Counters) {
    let window = config.window_seconds;
    let (readings, kept) = Counters::take(counters, context, window, dimms, |_| 0);
    let fitted = dimms.iter().filter(|dimm| !dimm.slot.is_empty()).count() as u64;
    let mut found = Vec::new();
    if fitted < config.expected {
        let text = format!(
            "{fitted} memory modules are there, expected {}",
            config.expected
        );
        found.push(
            Finding::degraded("modules", "server_memory_missing", text)
                .action(RepairAction::HardwareInspection, RESEAT),
        );
    }
    for (dimm, reading) in dimms.iter().zip(&readings) {
        let (name, id) = (config.name(dimm), dimm.id());
        let place = match dimm.location.as_str() {
            "" => id.clone(),
            location => format!("{id}, {location}"),
        };
        if reading.uncorrected > 0 {
            let text = format!(
                "{name} ({place}): {} uncorrected memory errors since the machine started",
                reading.uncorrected
            );
            found.push(
                Finding::unhealthy(format!("{id} lost"), "server_memory_uncorrected", text)
                    .action(RepairAction::HardwareInspection, REPLACE)
                    .about("dimm", name),
            );
        }
        if reading.corrected > config.max_corrected {
            let text = format!(
                "{name} ({place}): {} corrected memory errors within {} h",
                reading.corrected,
                window / 3_600
            );
            found.push(
                Finding::degraded(format!("{id} corrected"), "server_memory_corrected", text)
                    .action(RepairAction::HardwareInspection, REPLACE)
                    .about("dimm", name),
            );
        }
    }
    let healthy = format!("{fitted} memory modules, none with too many errors");
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    let mut shown = Vec::new();
    for dimm in dimms.iter().take(MAX_METRICS) {
        let id = dimm.id();
        let labels = [("dimm", id.as_str()), ("slot", config.name(dimm))];
        report = report
            .gauge_with(CORRECTED, &labels, gauge(dimm.corrected))
            .gauge_with(UNCORRECTED, &labels, gauge(dimm.uncorrected));
        shown.push(json!({
            "dimm": id, "slot": config.name(dimm), "location": dimm.location,
            "corrected": dimm.corrected, "uncorrected": dimm.uncorrected,
        }));
    }
    let report = findings::with_data(report, &json!({ "dimms": shown }));
    (report, after, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_edac::counters;
    use gpud_sdk::testing::test_context;
    use gpud_sdk::{Health, Trigger};
    use proptest::prelude::*;

    fn dimms(corrected: u64, uncorrected: u64) -> Vec<Dimm> {
        let file = |name: &str| format!("/sys/devices/system/edac/mc/mc0/{name}");
        let files = [
            (file("ce_noinfo_count"), "0".to_owned()),
            (file("dimm3/dimm_ce_count"), corrected.to_string()),
            (file("dimm3/dimm_ue_count"), uncorrected.to_string()),
            (file("dimm3/dimm_label"), "DIMM_B1".to_owned()),
            (file("dimm3/dimm_location"), "channel 1 slot 0 ".to_owned()),
        ];
        let files = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_bytes()));
        counters::read(files)
    }

    /// Checks after hours, with corrected and uncorrected errors: health and reason of the last one, and all events.
    fn run(config: &str, checks: &[(u64, u64, u64, Trigger)]) -> (Health, String, Vec<String>) {
        let config = Config::parse(config).unwrap();
        let (mut kept, mut memory) = (None, Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (hours, corrected, uncorrected, trigger) in checks {
            let mut context = test_context("server-memory", 1_800_000_000_000 + hours * 3_600_000);
            context.trigger = trigger.clone();
            let (report, after, counters) = judge(
                &context,
                &config,
                &dimms(*corrected, *uncorrected),
                kept.as_ref(),
                &memory,
            );
            (memory, kept) = (after, Some(counters));
            answer.0 = report.states[0].health.clone();
            answer.1.clone_from(&report.states[0].reason);
            answer
                .2
                .extend(report.events.into_iter().map(|event| event.name));
        }
        answer
    }

    #[test]
    fn verdicts() {
        use Trigger::{Scheduled, SetHealthy};
        let fine = "1 memory modules, none with too many errors";
        for (config, checks, health, reason, events) in [
            ("{}", vec![(0, 0, 0, Scheduled)], Health::Healthy, fine, 0),
            // Errors that were counted before the first check may be old.
            ("{}", vec![(0, 500, 0, Scheduled)], Health::Healthy, fine, 0),
            (
                "{}",
                vec![(0, 0, 0, Scheduled), (1, 100, 0, Scheduled)],
                Health::Healthy,
                fine,
                0,
            ),
            (
                "{}",
                vec![(0, 0, 0, Scheduled), (1, 101, 0, Scheduled)],
                Health::Degraded,
                "DIMM_B1 (mc0/dimm3, channel 1 slot 0): 101 corrected memory errors within 24 h",
                1,
            ),
            (
                "{}",
                vec![
                    (0, 0, 0, Scheduled),
                    (1, 101, 0, Scheduled),
                    (30, 101, 0, Scheduled),
                ],
                Health::Healthy,
                fine,
                2,
            ),
            (
                r#"{"max_corrected":9,"window_hours":1}"#,
                vec![(0, 0, 0, Scheduled), (1, 10, 0, Scheduled)],
                Health::Degraded,
                "DIMM_B1 (mc0/dimm3, channel 1 slot 0): 10 corrected memory errors within 1 h",
                1,
            ),
            (
                "{}",
                vec![(0, 0, 1, Scheduled)],
                Health::Unhealthy,
                "DIMM_B1 (mc0/dimm3, channel 1 slot 0): 1 uncorrected memory errors since the machine started",
                1,
            ),
            (
                "{}",
                vec![
                    (0, 0, 1, Scheduled),
                    (1, 0, 1, SetHealthy),
                    (2, 0, 1, Scheduled),
                ],
                Health::Healthy,
                fine,
                2,
            ),
            (
                r#"{"slots":{"mc0/dimm3":"P1-B1"}}"#,
                vec![(0, 0, 2, Scheduled)],
                Health::Unhealthy,
                "P1-B1 (mc0/dimm3, channel 1 slot 0): 2 uncorrected memory errors since the machine started",
                1,
            ),
            (
                r#"{"expected_dimms":2}"#,
                vec![(0, 0, 0, Scheduled)],
                Health::Degraded,
                "1 memory modules are there, expected 2",
                1,
            ),
        ] {
            let (found, said, reported) = run(config, &checks);
            assert_eq!(
                (found, said.as_str(), reported.len()),
                (health, reason, events),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let defaults = schema["properties"].as_object().unwrap().iter();
        let defaults: serde_json::Map<_, _> = defaults
            .map(|(key, value)| (key.clone(), value["default"].clone()))
            .collect();
        assert_eq!(
            Config::parse(&Value::Object(defaults).to_string()),
            Config::parse("{}")
        );
        assert!(Config::parse("{").is_err());
    }

    proptest! {
        #[test]
        fn any_files_are_survived(files in prop::collection::vec(("[a-z0-9/_]{0,24}", any::<Vec<u8>>()), 0..12), now in any::<u64>()) {
            let files: Vec<_> = files
                .into_iter()
                .map(|(path, bytes)| (format!("/sys/devices/system/edac/mc/mc0/{path}"), bytes))
                .collect();
            let dimms = counters::read(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
            let context = test_context("server-memory", now);
            let (report, ..) = judge(&context, &Config::parse("{}").unwrap(), &dimms, None, &Memory::default());
            prop_assert_eq!(report.states.len(), 1);
        }
    }
}
