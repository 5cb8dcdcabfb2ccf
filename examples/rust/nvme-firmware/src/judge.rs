//! The verdict, from plain values. Pure.

use std::collections::BTreeMap;

use gpud_sdk::{CheckContext, Event, EventType, Evidence, HealthState, Report, Subject};
use serde::Deserialize;

use crate::drives::Drive;

/// Name of the metric.
pub const METRIC: &str = "nvme_firmware_info";
/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
  "firmware": {"type": "object", "maxProperties": 256,
    "description": "Versions that are allowed, by model; other models have to run the same on all drives",
    "additionalProperties": {"type": "array", "minItems": 1, "maxItems": 32, "items": {"type": "string"}}}}}"#;
/// Drives that are named in one state.
const MAX_NAMED: usize = 5;

/// The operator's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Allowed versions by model.
    pub firmware: BTreeMap<String, Vec<String>>,
}

impl Config {
    /// Of the whole document.
    ///
    /// # Errors
    /// In words.
    pub fn parse(document: &str) -> Result<Self, String> {
        serde_json::from_str(document).map_err(|error| format!("config: {error}"))
    }
}

/// Firmware of each drive by serial number.
pub type FirmwareBySerial = BTreeMap<String, String>;

/// From what `save` gave; anything else is nothing.
pub fn restore(saved: &str) -> FirmwareBySerial {
    serde_json::from_str(saved).unwrap_or_default()
}

/// As text.
pub fn save(seen: &FirmwareBySerial) -> String {
    serde_json::to_string(seen).unwrap_or_default()
}

/// Judges drives. `before` is what each ran at the last check; the answer, what it runs now.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    drives: &[Drive],
    before: &FirmwareBySerial,
) -> (Report, FirmwareBySerial) {
    if drives.is_empty() {
        let state = HealthState::healthy(context, "this machine has no NVMe drive of its own");
        return (Report::unsupported(state), FirmwareBySerial::new());
    }
    let usual = usual(drives);
    let mut wrong: Vec<(&Drive, String)> = Vec::new();
    let mut unread = Vec::new();
    let mut seen = FirmwareBySerial::new();
    let mut events = Vec::new();
    for drive in drives {
        if drive.firmware.is_empty() || drive.model.is_empty() {
            unread.push(drive.name.as_str());
            if let Some(known) = before.get(&drive.serial) {
                seen.insert(drive.serial.clone(), known.clone());
            }
            continue;
        }
        if !drive.serial.is_empty() {
            if let Some(was) = before
                .get(&drive.serial)
                .filter(|was| **was != drive.firmware)
            {
                events.push(changed(context, drive, was));
            }
            seen.insert(drive.serial.clone(), drive.firmware.clone());
        }
        if let Some(text) = trouble(config, &usual, drive) {
            wrong.push((drive, text));
        }
    }
    let state = verdict(context, drives.len(), &unread, &wrong);
    let known = drives.iter().filter(|drive| !drive.firmware.is_empty());
    let mut report = known.fold(Report::of(state), |report, drive| {
        let labels = [
            ("device", &*drive.name),
            ("model", &*drive.model),
            ("firmware", &*drive.firmware),
        ];
        report.gauge_with(METRIC, &labels, 1.0)
    });
    report.events = events;
    (report, seen)
}

/// What is wrong with a drive's firmware.
fn trouble(config: &Config, usual: &BTreeMap<&str, &str>, drive: &Drive) -> Option<String> {
    let wanted = match config.firmware.get(&drive.model) {
        Some(allowed) if allowed.contains(&drive.firmware) => return None,
        Some(allowed) => format!("allowed is {}", allowed.join(", ")),
        None => match usual.get(drive.model.as_str()) {
            Some(most) if *most != drive.firmware => {
                format!("other drives of this model run {most}")
            }
            _ => return None,
        },
    };
    Some(format!(
        "{} ({}) runs firmware {}, {wanted}",
        drive.name, drive.model, drive.firmware
    ))
}

/// The state of so many drives: those that cannot be read by name, and what is wrong with which.
fn verdict(
    context: &CheckContext,
    drives: usize,
    unread: &[&str],
    wrong: &[(&Drive, String)],
) -> HealthState {
    let mut state = if unread.len() == drives {
        HealthState::degraded(
            context,
            format!("the firmware of none of {drives} drives can be read"),
        )
    } else if wrong.is_empty() {
        HealthState::healthy(
            context,
            format!(
                "{} drives run the firmware that they should",
                drives - unread.len()
            ),
        )
    } else {
        let named: Vec<&str> = wrong
            .iter()
            .take(MAX_NAMED)
            .map(|(_, text)| text.as_str())
            .collect();
        let mut reason = named.join("; ");
        if wrong.len() > MAX_NAMED {
            reason += &format!("; and {} more", wrong.len() - MAX_NAMED);
        }
        HealthState::degraded(context, reason)
    };
    if !unread.is_empty() {
        state = state.info("unreadable", unread.join(", "));
    }
    let file =
        |drive: &Drive| Evidence::File(format!("/sys/class/nvme/{}/firmware_rev", drive.name));
    state.evidence = wrong
        .iter()
        .take(MAX_NAMED)
        .map(|(drive, _)| file(drive))
        .collect();
    state
}

/// What most drives of each model run, where more than half of at least three do: of two that differ, neither is odd.
fn usual(drives: &[Drive]) -> BTreeMap<&str, &str> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for drive in drives.iter().filter(|drive| !drive.firmware.is_empty()) {
        *counts
            .entry(&drive.model)
            .or_default()
            .entry(&drive.firmware)
            .or_default() += 1;
    }
    let most = |(model, versions): (_, BTreeMap<_, usize>)| {
        let all: usize = versions.values().sum();
        let (version, count) = versions.into_iter().max_by_key(|(_, count)| *count)?;
        (all >= 3 && count * 2 > all).then_some((model, version))
    };
    counts.into_iter().filter_map(most).collect()
}

fn changed(context: &CheckContext, drive: &Drive, was: &str) -> Event {
    let text = format!(
        "{} ({}, serial number {}): firmware {was} became {}",
        drive.name, drive.model, drive.serial, drive.firmware
    );
    let mut event = Event::new(context.now, "nvme_firmware_changed", EventType::Info, text);
    event.subject = Some(Subject::Other(("nvme".to_owned(), drive.serial.clone())));
    event
}

#[cfg(test)]
mod tests {
    use gpud_sdk::{Health, Trigger};

    use super::*;

    fn context() -> CheckContext {
        CheckContext {
            component: "nvme-firmware".into(),
            now: 1,
            trigger: Trigger::Scheduled,
            boot_id: String::new(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn drives(firmwares: &[&str]) -> Vec<Drive> {
        let one = |(n, firmware): (usize, &&str)| Drive {
            name: format!("nvme{n}"),
            model: "M".into(),
            firmware: (*firmware).into(),
            serial: format!("S{n}"),
        };
        firmwares.iter().enumerate().map(one).collect()
    }

    #[test]
    fn verdicts() {
        let allowed = r#"{"firmware": {"M": ["2", "3"]}}"#;
        for (config, firmwares, health, reason) in [
            (
                "{}",
                &["1", "1", "1"][..],
                Health::Healthy,
                "3 drives run the firmware that they should",
            ),
            (
                "{}",
                &["1", "1", "2"],
                Health::Degraded,
                "nvme2 (M) runs firmware 2, other drives of this model run 1",
            ),
            (
                "{}",
                &["1", "2"],
                Health::Healthy,
                "2 drives run the firmware that they should",
            ),
            (
                "{}",
                &["1", "1", "2", "2"],
                Health::Healthy,
                "4 drives run the firmware that they should",
            ),
            (
                allowed,
                &["2", "3"],
                Health::Healthy,
                "2 drives run the firmware that they should",
            ),
            (
                allowed,
                &["1", "2"],
                Health::Degraded,
                "nvme0 (M) runs firmware 1, allowed is 2, 3",
            ),
            (
                allowed,
                &["", "2"],
                Health::Healthy,
                "1 drives run the firmware that they should",
            ),
            (
                allowed,
                &["", ""],
                Health::Degraded,
                "the firmware of none of 2 drives can be read",
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let (report, _) = judge(&context(), &config, &drives(firmwares), &FirmwareBySerial::new());
            let state = &report.states[0];
            assert_eq!(
                (&state.health, state.reason.as_str()),
                (&health, reason),
                "{firmwares:?}"
            );
            assert_eq!(
                report.metrics.len(),
                firmwares.iter().filter(|one| !one.is_empty()).count()
            );
        }
        let (report, _) = judge(&context(), &Config::default(), &[], &FirmwareBySerial::new());
        assert!(!report.supported);
        let (report, _) = judge(
            &context(),
            &Config::parse(allowed).unwrap(),
            &drives(&["1"; 7]),
            &FirmwareBySerial::new(),
        );
        assert!(report.states[0].reason.ends_with("; and 2 more"));
    }

    #[test]
    fn an_update_is_an_event() {
        let config = Config::default();
        let (report, seen) = judge(&context(), &config, &drives(&["1", "1"]), &FirmwareBySerial::new());
        assert!(report.events.is_empty());
        let (report, seen) = judge(
            &context(),
            &config,
            &drives(&["", "1"]),
            &restore(&save(&seen)),
        );
        assert!(
            report.events.is_empty(),
            "what cannot be read now is not forgotten"
        );
        let (report, seen) = judge(&context(), &config, &drives(&["2", "1"]), &seen);
        assert_eq!(report.events.len(), 1);
        assert_eq!(
            report.events[0].message,
            "nvme0 (M, serial number S0): firmware 1 became 2"
        );
        let (report, _) = judge(&context(), &config, &drives(&["2", "1"]), &seen);
        assert!(report.events.is_empty());
        assert_eq!(restore("nonsense"), FirmwareBySerial::new());
    }

    #[test]
    fn nonsense_is_reported() {
        for document in ["", "[", r#"{"firmware": 3}"#, r#"{"firmware": {"M": "1"}}"#] {
            assert!(
                Config::parse(document).unwrap_err().starts_with("config: "),
                "{document}"
            );
        }
        assert!(serde_json::from_str::<serde_json::Value>(SCHEMA).is_ok());
    }
}
