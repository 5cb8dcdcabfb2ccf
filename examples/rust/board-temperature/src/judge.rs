//! The verdict, from plain values. Pure.

use std::collections::BTreeMap;

use gpud_sdk::{
    CheckContext, Event, EventType, Evidence, Health, HealthState, RepairAction, Report, Subject,
};

use crate::config::{Config, Limits};
use crate::sensors::Sensor;

/// Name of the metric.
pub const METRIC: &str = "board_temperature_celsius";
const COOLING: &str = "Check fans, air flow and the temperature of the room.";
/// Sensors that are named in one state.
const MAX_NAMED: usize = 5;

/// How hot a sensor is, by its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Normal,
    Warning,
    Critical,
}

/// Sensors that are too hot, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hot(BTreeMap<String, Level>);

impl Hot {
    /// From what `save` gave; anything else is nothing.
    pub fn restore(saved: &str) -> Self {
        let line = |line: &str| match line.split_once(' ')? {
            ("w", key) => Some((key.to_owned(), Level::Warning)),
            ("c", key) => Some((key.to_owned(), Level::Critical)),
            _ => None,
        };
        Self(saved.lines().filter_map(line).collect())
    }

    /// As text.
    pub fn save(&self) -> String {
        let letter = |level: &Level| if *level == Level::Critical { 'c' } else { 'w' };
        self.0
            .iter()
            .map(|(key, level)| format!("{} {key}\n", letter(level)))
            .collect()
    }
}

/// Something that is to be said of a sensor.
struct Finding {
    level: Level,
    text: String,
    path: Option<String>,
    too_hot: bool,
}

/// Judges readings. `before` has the sensors that were too hot at the last check; the answer, those that are now.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    sensors: &[Sensor],
    before: &Hot,
) -> (Report, Hot) {
    if sensors.is_empty() && config.sensors.is_empty() {
        let state = HealthState::healthy(context, "no temperature sensor on this machine");
        return (Report::unsupported(state), Hot::default());
    }
    let mut after = Hot::default();
    let mut findings = Vec::new();
    let mut events = Vec::new();
    let mut readable: Vec<(&Sensor, f64)> = Vec::new();
    for sensor in sensors {
        let was = before.0.get(&sensor.key).copied().unwrap_or(Level::Normal);
        // A sensor that cannot be read this time stays what it was: no second event when it can be again.
        let mut is = was;
        if let Some(value) = sensor.value {
            readable.push((sensor, value));
            let limits = config.of(&sensor.key);
            is = level(value, limits);
            let text = format!("{}: {value:.1} °C, {}", sensor.key, against(is, limits));
            if is != was {
                events.push(crossing(context, sensor, is, &text));
            }
            if is != Level::Normal {
                findings.push(Finding {
                    level: is,
                    text,
                    path: Some(sensor.path.clone()),
                    too_hot: true,
                });
            }
        }
        if is != Level::Normal {
            after.0.insert(sensor.key.clone(), is);
        }
    }
    findings.extend(missing(config, sensors, &readable));
    if readable.is_empty() && findings.is_empty() {
        let text = format!("none of {} temperature sensors can be read", sensors.len());
        findings.push(Finding {
            level: Level::Warning,
            text,
            path: None,
            too_hot: false,
        });
    }
    let mut state = verdict(context, &readable, findings);
    let blind = sensors.len() - readable.len();
    if blind > 0 {
        state = state.info("unreadable", format!("{blind} of {}", sensors.len()));
    }
    let mut report = readable
        .iter()
        .fold(Report::of(state), |report, (sensor, value)| {
            report.gauge_with(
                METRIC,
                &[("chip", &sensor.chip), ("sensor", &sensor.name)],
                *value,
            )
        });
    report.events = events;
    (report, after)
}

/// One state of all findings, worst first.
/// Sensors that the configuration names and that have no reading.
fn missing(config: &Config, sensors: &[Sensor], readable: &[(&Sensor, f64)]) -> Vec<Finding> {
    let named = config.sensors.keys();
    let unread = named.filter(|key| !readable.iter().any(|(one, _)| one.key == **key));
    unread
        .map(|key| {
            let there = sensors.iter().find(|one| one.key == *key);
            let why = if there.is_some() {
                "cannot be read"
            } else {
                "no such sensor"
            };
            Finding {
                level: Level::Warning,
                text: format!("{key}: {why}"),
                path: there.map(|one| one.path.clone()),
                too_hot: false,
            }
        })
        .collect()
}

fn verdict(
    context: &CheckContext,
    readable: &[(&Sensor, f64)],
    mut findings: Vec<Finding>,
) -> HealthState {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let Some(worst) = findings.first() else {
        let hottest = readable
            .iter()
            .copied()
            .reduce(|most, one| if one.1 > most.1 { one } else { most });
        let reason = hottest.map_or_else(String::new, |(sensor, value)| {
            format!(
                "{} sensors, hottest is {} with {value:.1} °C",
                readable.len(),
                sensor.key
            )
        });
        return HealthState::healthy(context, reason);
    };
    let health = if worst.level == Level::Critical {
        Health::Unhealthy
    } else {
        Health::Degraded
    };
    let named: Vec<&str> = findings
        .iter()
        .take(MAX_NAMED)
        .map(|finding| finding.text.as_str())
        .collect();
    let mut reason = named.join("; ");
    if findings.len() > MAX_NAMED {
        reason += &format!("; and {} more", findings.len() - MAX_NAMED);
    }
    let mut state = HealthState::new(context, health, reason);
    if findings.iter().any(|finding| finding.too_hot) {
        state = state.action(RepairAction::HardwareInspection, COOLING);
    }
    state.evidence = findings
        .into_iter()
        .take(MAX_NAMED)
        .filter_map(|finding| finding.path)
        .map(Evidence::File)
        .collect();
    state
}

fn level(value: f64, limits: Limits) -> Level {
    match value {
        value if value >= limits.critical => Level::Critical,
        value if value >= limits.warn => Level::Warning,
        _ => Level::Normal,
    }
}

fn against(level: Level, limits: Limits) -> String {
    match level {
        Level::Critical => format!("critical is {:.1} °C", limits.critical),
        Level::Warning => format!("warning is {:.1} °C", limits.warn),
        Level::Normal => format!("below {:.1} °C again", limits.warn),
    }
}

fn crossing(context: &CheckContext, sensor: &Sensor, level: Level, text: &str) -> Event {
    let (name, event_type) = match level {
        Level::Critical => ("temperature_critical", EventType::Critical),
        Level::Warning => ("temperature_warning", EventType::Warning),
        Level::Normal => ("temperature_normal", EventType::Info),
    };
    let mut event = Event::new(context.now, name, event_type, text);
    event.subject = Some(Subject::Other(("sensor".to_owned(), sensor.key.clone())));
    event.evidence = vec![Evidence::File(sensor.path.clone())];
    event
}

#[cfg(test)]
mod tests {
    use gpud_sdk::Trigger;

    use super::*;

    fn context() -> CheckContext {
        CheckContext {
            component: "board-temperature".into(),
            now: 1,
            trigger: Trigger::Scheduled,
            boot_id: String::new(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn sensor(key: &str, value: Option<f64>) -> Sensor {
        let (chip, name) = key.split_once('/').unwrap();
        Sensor {
            chip: chip.into(),
            name: name.into(),
            key: key.into(),
            path: format!("/{key}"),
            value,
        }
    }

    #[test]
    fn verdicts() {
        let own = r#"{"sensors": {"nvme/Composite": {"warn": 60, "critical": 70}}}"#;
        let missing = r#"{"sensors": {"a/b": {}}}"#;
        let unread = r#"{"sensors": {"nvme/Composite": {}}}"#;
        for (config, value, health, reason, event) in [
            (
                "{}",
                Some(45.5),
                Health::Healthy,
                "1 sensors, hottest is nvme/Composite with 45.5 °C",
                None,
            ),
            (
                "{}",
                Some(95.0),
                Health::Degraded,
                "nvme/Composite: 95.0 °C, warning is 95.0 °C",
                Some("temperature_warning"),
            ),
            (
                "{}",
                Some(105.0),
                Health::Unhealthy,
                "nvme/Composite: 105.0 °C, critical is 105.0 °C",
                Some("temperature_critical"),
            ),
            (
                own,
                Some(71.0),
                Health::Unhealthy,
                "nvme/Composite: 71.0 °C, critical is 70.0 °C",
                Some("temperature_critical"),
            ),
            (
                missing,
                Some(45.5),
                Health::Degraded,
                "a/b: no such sensor",
                None,
            ),
            (
                unread,
                None,
                Health::Degraded,
                "nvme/Composite: cannot be read",
                None,
            ),
            (
                "{}",
                None,
                Health::Degraded,
                "none of 1 temperature sensors can be read",
                None,
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let sensors = [sensor("nvme/Composite", value)];
            let (report, _) = judge(&context(), &config, &sensors, &Hot::default());
            let state = &report.states[0];
            assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
            assert_eq!(
                report.events.first().map(|event| event.name.as_str()),
                event
            );
            assert_eq!(
                state.suggested_actions.is_some(),
                event.is_some(),
                "{reason}"
            );
            assert_eq!(report.metrics.len(), usize::from(value.is_some()));
        }
        let (report, _) = judge(
            &context(),
            &Config::parse("{}").unwrap(),
            &[],
            &Hot::default(),
        );
        assert!(!report.supported);
    }

    #[test]
    fn the_worst_comes_first_and_the_rest_is_a_number() {
        let mut sensors: Vec<Sensor> = (0..7)
            .map(|n| sensor(&format!("chip/{n}"), Some(96.0)))
            .collect();
        sensors[6].value = Some(110.0);
        let (report, hot) = judge(
            &context(),
            &Config::parse("{}").unwrap(),
            &sensors,
            &Hot::default(),
        );
        let reason = &report.states[0].reason;
        assert!(
            reason.starts_with("chip/6: 110.0 °C, critical is 105.0 °C; chip/0: "),
            "{reason}"
        );
        assert!(reason.ends_with("; and 2 more"), "{reason}");
        assert_eq!(Hot::restore(&hot.save()), hot);
        assert_eq!(Hot::restore("x y\nnothing\n\u{fffd}"), Hot::default());
    }

    #[test]
    fn an_event_is_a_crossing() {
        let config = Config::parse("{}").unwrap();
        let mut hot = Hot::default();
        for (value, event) in [
            (Some(50.0), None),
            (Some(96.0), Some("temperature_warning")),
            (Some(97.0), None),
            (Some(106.0), Some("temperature_critical")),
            (None, None), // Not readable this time: nothing is known, nothing is forgotten.
            (Some(107.0), None),
            (Some(96.0), Some("temperature_warning")),
            (Some(50.0), Some("temperature_normal")),
            (Some(50.0), None),
        ] {
            let sensors = [
                sensor("nvme/temp1", value),
                sensor("k10temp/temp1", Some(40.0)),
            ];
            let (report, after) = judge(&context(), &config, &sensors, &hot);
            assert_eq!(
                report.events.iter().map(|event| event.name.as_str()).next(),
                event
            );
            assert!(report.events.len() <= 1);
            hot = after;
        }
    }
}
