//! The verdict.

use std::collections::BTreeMap;

use gpud_builtin_shared::files::gauge;
use gpud_builtin_shared::findings::{self, Finding, Memory};
use gpud_builtin_shared::samples::Samples;
use gpud_sdk::{CheckContext, EventType, Report, Subject};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::units::Unit;

/// Gauge: failed units.
pub const FAILED: &str = "systemd_failed_units";
/// Gauge: a watched unit is active.
pub const ACTIVE: &str = "systemd_unit_active";
/// Gauge: restarts of a watched unit.
pub const RESTARTS: &str = "systemd_unit_restarts";

const HOUR: u64 = 3_600;
const ADVICE: &str = "See systemctl status and journalctl -u of the unit.";
/// Failed units that the reason names.
const MAX_NAMED: usize = 5;

/// Restarts of the watched units, of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Restarts {
    boot_id: String,
    units: BTreeMap<String, Samples>,
}

impl Restarts {
    /// From what [`Restarts::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<Self> = saved.and_then(|saved| serde_json::from_str(saved).ok());
        saved
            .filter(|saved| saved.boot_id == boot_id)
            .unwrap_or_else(|| Self {
                boot_id: boot_id.to_owned(),
                units: BTreeMap::new(),
            })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// All that is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// Names of all failed units.
    pub failed: Vec<String>,
    /// The units that were asked for by name.
    pub watched: Vec<Unit>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    inputs: &Inputs,
    restarts: &mut Restarts,
    before: &Memory,
) -> (Report, Memory) {
    let mut found = Vec::new();
    let installed = || inputs.watched.iter().filter(|unit| unit.installed);
    for name in &config.required {
        let unit = installed().find(|unit| unit.name == *name);
        found.extend(required(name, unit));
    }
    for name in &inputs.failed {
        if config.required.contains(name) {
            continue;
        }
        let result = installed()
            .find(|unit| unit.name == *name)
            .map(|unit| unit.result.as_str());
        let text = match result.filter(|result| !matches!(*result, "" | "success")) {
            Some(result) => format!("{name} has failed ({result})"),
            None => format!("{name} has failed"),
        };
        found.push(if config.any || config.important.contains(name) {
            Finding::degraded(name.clone(), "systemd_unit_failed", text).advice(ADVICE)
        } else {
            // Most machines have one that nobody misses.
            Finding {
                event_type: EventType::Warning,
                ..Finding::note(name.clone(), "systemd_unit_failed", text)
            }
        });
    }
    let loops = |unit: &&Unit| unit.is_in_crash_loop() && !config.required.contains(&unit.name);
    for unit in installed().filter(loops) {
        let mut text = format!(
            "{} is being restarted over and over: {} ({}), last result {}",
            unit.name, unit.active, unit.sub, unit.result
        );
        if let Some(count) = unit.restarts {
            text.push_str(&format!("; {count} restarts"));
        }
        found.push(
            Finding::degraded(unit.name.clone(), "systemd_unit_restarting", text).advice(ADVICE),
        );
    }
    let now = context.now / 1000;
    for unit in installed() {
        let Some(count) = unit.restarts else { continue };
        let kept = restarts.units.entry(unit.name.clone());
        let within = kept
            .or_insert_with(|| Samples::starting_at(count))
            .add(now, HOUR, count);
        if within >= config.max_restarts && !unit.is_in_crash_loop() {
            let text = format!("{} was restarted {within} times within an hour", unit.name);
            let key = format!("{} restarts", unit.name);
            found.push(Finding::degraded(key, "systemd_unit_restarting", text).advice(ADVICE));
        }
    }
    restarts
        .units
        .retain(|name, _| inputs.watched.iter().any(|unit| unit.name == *name));
    for finding in &mut found {
        let unit = finding.key.split(' ').next().unwrap_or_default();
        finding.subject = Some(Subject::Unit(unit.to_owned()));
    }

    let (mut report, after) = findings::judge(context, &healthy(inputs), &found, before);
    report = report.gauge(FAILED, gauge(inputs.failed.len() as u64));
    for unit in installed() {
        let labels = [("unit", unit.name.as_str())];
        let active = u8::from(unit.active == "active");
        report.add_gauge(ACTIVE, &labels, f64::from(active));
        if let Some(count) = unit.restarts {
            report.add_gauge(RESTARTS, &labels, gauge(count));
        }
    }
    let watched: BTreeMap<&str, String> = installed()
        .map(|unit| {
            (
                unit.name.as_str(),
                format!("{} ({})", unit.active, unit.sub),
            )
        })
        .collect();
    let data = json!({ "failed": inputs.failed, "watched": watched });
    (findings::with_data(report, &data), after)
}

fn required(name: &str, unit: Option<&Unit>) -> Option<Finding> {
    let text = match unit {
        None => format!("{name} is not installed"),
        // What reloads, runs.
        Some(unit) if matches!(unit.active.as_str(), "active" | "reloading" | "refreshing") => {
            return None;
        }
        // Right after boot, for example; a start that takes too long ends as a failure. One that is tried again is one.
        Some(unit) if unit.active == "activating" && !unit.sub.starts_with("auto-restart") => {
            let text = format!("{name} must run and is still being started ({})", unit.sub);
            return Some(Finding::degraded(name, "systemd_unit_starting", text).advice(ADVICE));
        }
        Some(unit) => format!("{name} must run and is {} ({})", unit.active, unit.sub),
    };
    Some(Finding::unhealthy(name, "systemd_unit_not_running", text).advice(ADVICE))
}

fn healthy(inputs: &Inputs) -> String {
    let count = inputs.failed.len();
    if count == 0 {
        return "no failed units".to_owned();
    }
    let mut names: Vec<&str> = inputs
        .failed
        .iter()
        .take(MAX_NAMED)
        .map(String::as_str)
        .collect();
    if count > MAX_NAMED {
        names.push("…");
    }
    format!(
        "no trouble with watched units; {count} other failed: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_unit_that_starts() {
        for (active, sub, expected) in [
            ("active", "running", None),
            ("reloading", "reload", None),
            ("refreshing", "refresh", None),
            ("activating", "start-pre", Some(Health::Degraded)),
            ("activating", "auto-restart", Some(Health::Unhealthy)),
            ("activating", "auto-restart-queued", Some(Health::Unhealthy)),
            ("deactivating", "stop-sigterm", Some(Health::Unhealthy)),
            ("failed", "failed", Some(Health::Unhealthy)),
        ] {
            let unit = Unit {
                active: active.to_owned(),
                sub: sub.to_owned(),
                ..Unit::default()
            };
            let found = required("a.service", Some(&unit)).map(|one| one.health);
            assert_eq!(found, expected, "{active} {sub}");
        }
    }

    use crate::units::shown;
    use gpud_builtin_shared::findings::test_context;
    use gpud_sdk::Health;

    fn unit(name: &str, active: &str, restarts: u64) -> String {
        format!(
            "Id={name}\nLoadState=loaded\nActiveState={active}\nSubState=x\nResult=exit-code\nNRestarts={restarts}\n\n"
        )
    }

    fn run(config: &str, checks: &[(&[&str], String)]) -> (Health, String, Vec<String>) {
        let config = Config::parse(config).unwrap();
        let (mut saved, mut memory) = (None, Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (minute, (failed, watched)) in (0..).zip(checks) {
            let context = test_context("systemd-units", 1_800_000_000_000 + minute * 60_000);
            let inputs = Inputs {
                failed: failed.iter().map(|&name| name.to_owned()).collect(),
                watched: shown(watched),
            };
            let mut restarts = Restarts::restore(saved.as_deref(), "b-1");
            let (report, after) = judge(&context, &config, &inputs, &mut restarts, &memory);
            (saved, memory) = (Some(restarts.save()), after);
            answer.0 = report.states[0].health.clone();
            answer.1.clone_from(&report.states[0].reason);
            answer
                .2
                .extend(report.events.iter().map(|event| event.name.clone()));
        }
        answer
    }

    #[test]
    fn verdicts() {
        let kubelet = |active| unit("kubelet.service", active, 0);
        let see = " See systemctl status and journalctl -u of the unit.";
        for (config, failed, watched, health, reason) in [
            (
                "{}",
                vec![],
                kubelet("inactive"),
                Health::Healthy,
                "no failed units".to_owned(),
            ),
            (
                "{}",
                vec!["cups.service"],
                String::new(),
                Health::Healthy,
                "no trouble with watched units; 1 other failed: cups.service".to_owned(),
            ),
            (
                r#"{"any_failed_unit":true}"#,
                vec!["cups.service"],
                String::new(),
                Health::Degraded,
                format!("cups.service has failed.{see}"),
            ),
            (
                "{}",
                vec!["kubelet.service"],
                kubelet("failed"),
                Health::Degraded,
                format!("kubelet.service has failed (exit-code).{see}"),
            ),
            (
                r#"{"required":["kubelet"]}"#,
                vec!["kubelet.service"],
                kubelet("failed"),
                Health::Unhealthy,
                format!("kubelet.service must run and is failed (x).{see}"),
            ),
            (
                r#"{"required":["kubelet"]}"#,
                vec![],
                kubelet("reloading"),
                Health::Healthy,
                "no failed units".to_owned(),
            ),
            (
                r#"{"required":["kubelet"]}"#,
                vec![],
                "Id=kubelet.service\nLoadState=not-found\n".to_owned(),
                Health::Unhealthy,
                format!("kubelet.service is not installed.{see}"),
            ),
        ] {
            let found = run(config, &[(&failed, watched)]);
            assert_eq!((found.0, found.1), (health, reason));
        }
    }

    #[test]
    fn a_crash_loop_is_seen_at_once() {
        let kubelet = "Id=kubelet.service\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=exit-code\nNRestarts=8121\n";
        let (health, reason, events) = run("{}", &[(&[], kubelet.to_owned())]);
        assert_eq!(health, Health::Degraded);
        assert!(
            reason.starts_with(
                "kubelet.service is being restarted over and over: activating (auto-restart), last result exit-code; 8121 restarts"
            ),
            "{reason}"
        );
        assert_eq!(events, ["systemd_unit_restarting"]);
        // One that ends well and is started again on purpose, and one that just starts.
        for fine in [
            kubelet.replace("exit-code", "success"),
            kubelet.replace("auto-restart", "start"),
        ] {
            assert_eq!(run("{}", &[(&[], fine)]).0, Health::Healthy);
        }
        let required = r#"{"required":["kubelet"]}"#;
        let (health, reason, _) = run(required, &[(&[], kubelet.to_owned())]);
        assert_eq!(
            (health, reason.contains("over and over")),
            (Health::Unhealthy, false)
        );
    }

    #[test]
    fn restarts_count_from_the_first_check() {
        let docker = |count| unit("docker.service", "active", count);
        let (health, ..) = run("{}", &[(&[], docker(100)), (&[], docker(104))]);
        assert_eq!(health, Health::Healthy);
        let (health, reason, events) = run("{}", &[(&[], docker(100)), (&[], docker(105))]);
        assert_eq!(
            (health, events),
            (Health::Degraded, vec!["systemd_unit_restarting".to_owned()])
        );
        assert!(reason.starts_with("docker.service was restarted 5 times within an hour"));
    }

    #[test]
    fn events_are_transitions() {
        let cups: &[&str] = &["cups.service"];
        let none = String::new;
        let (.., events) = run("{}", &[(cups, none()), (cups, none()), (&[], none())]);
        assert_eq!(
            events,
            ["systemd_unit_failed", "systemd_unit_failed_cleared"]
        );
    }
}
