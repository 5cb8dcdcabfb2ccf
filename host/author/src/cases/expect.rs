//! The expected result of a step, and how the actual one differs from it.

use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    check_result::{ReportedEvent, ReportedMetric},
    model::{Health, HealthState},
};

/// Most memory that a compiled pattern may take, bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// The expected result of a step. Values that are not mentioned are not compared.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expect {
    /// The worst health of all states.
    pub(crate) health: Option<String>,
    /// Whether there is something to watch.
    pub(crate) supported: Option<bool>,
    /// All states, in order.
    pub(crate) states: Option<Vec<StateExpect>>,
    /// All events of this step, those of kernel messages first.
    pub(crate) events: Option<Vec<EventExpect>>,
    /// Metrics that are there, among others.
    pub(crate) metrics: Option<Vec<MetricExpect>>,
    /// What is said where there is no report. Without this key there has to be one.
    pub(crate) error: Option<Value>,
}

/// A state.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StateExpect {
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its health.
    pub(crate) health: Option<String>,
    /// A text, or `{contains: text}`, or `{matches: pattern}`.
    pub(crate) reason: Option<Value>,
    /// The same.
    pub(crate) error: Option<Value>,
    /// All repair actions, in the wire's words.
    pub(crate) actions: Option<Vec<String>>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EventExpect {
    /// Its name.
    pub(crate) name: Option<String>,
    /// `Info`, `Warning`, `Critical`, `Fatal` or `Unknown`.
    #[serde(rename = "type")]
    pub(crate) event_type: Option<String>,
    /// A text, or `{contains: text}`, or `{matches: pattern}`.
    pub(crate) message: Option<Value>,
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetricExpect {
    /// Its name.
    pub(crate) name: String,
    /// Labels that it has, among others.
    pub(crate) labels: BTreeMap<String, String>,
    /// Its value, to nine digits.
    pub(crate) value: Option<f64>,
}

/// The result of one step of a case.
#[derive(Debug, Default)]
pub(crate) struct StepResult<'a> {
    /// Whether there is something to watch.
    pub(crate) supported: bool,
    /// Its states.
    pub(crate) states: &'a [HealthState],
    /// Its events.
    pub(crate) events: &'a [ReportedEvent],
    /// Its metrics.
    pub(crate) metrics: &'a [ReportedMetric],
    /// Why there is no report.
    pub(crate) error: Option<&'a str>,
}

impl Expect {
    /// Whether words and patterns are such.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let states = self.states.iter().flatten();
        let healths = self
            .health
            .iter()
            .chain(states.clone().filter_map(|s| s.health.as_ref()));
        for health in healths {
            if matches!(Health::from(health.as_str()), Health::Other(_)) {
                return Err(format!(
                    "health {health:?} is none of Healthy, Degraded, Unhealthy, Initializing"
                ));
            }
        }
        let events = self.events.iter().flatten();
        let texts = states
            .flat_map(|state| [("reason", &state.reason), ("error", &state.error)])
            .chain(events.map(|event| ("message", &event.message)))
            .chain([("error", &self.error)]);
        for (what, text) in texts {
            if let Some(text) = text {
                Text::read(text).map_err(|problem| format!("{what}: {problem}"))?;
            }
        }
        Ok(())
    }

    /// Returns how the result differs from the expected one; empty when it does not.
    pub(crate) fn differences(&self, step_result: &StepResult<'_>) -> Vec<String> {
        let mut found = Vec::new();
        match (&self.error, step_result.error) {
            (None, Some(error)) => found.push(format!("the check gave no report: {error}")),
            (Some(wanted), None) => found.push(format!(
                "there is a report, and none was expected ({wanted})"
            )),
            (wanted, got) => text(&mut found, "the error", wanted.as_ref(), got.unwrap_or("")),
        }
        if let Some(wanted) = self
            .supported
            .filter(|wanted| *wanted != step_result.supported)
        {
            found.push(format!(
                "supported is {}, expected {wanted}",
                step_result.supported
            ));
        }
        if let Some(wanted) = &self.health {
            let worst = step_result
                .states
                .iter()
                .map(|state| &state.health)
                .max_by_key(|h| h.rank());
            let worst = worst.map_or("none", Health::as_str);
            word(&mut found, "health", Some(wanted), worst);
        }
        if let Some(wanted) = &self.states {
            count(&mut found, "states", wanted.len(), step_result.states.len());
            for (at, (wanted, got)) in wanted.iter().zip(step_result.states).enumerate() {
                wanted.compare(&mut found, at + 1, got);
            }
        }
        if let Some(wanted) = &self.events {
            count(&mut found, "events", wanted.len(), step_result.events.len());
            for (at, (wanted, got)) in wanted.iter().zip(step_result.events).enumerate() {
                let what = |name: &str| format!("event {}, {name}", at + 1);
                word(&mut found, &what("name"), wanted.name.as_ref(), &got.name);
                word(
                    &mut found,
                    &what("type"),
                    wanted.event_type.as_ref(),
                    &got.event_type,
                );
                text(
                    &mut found,
                    &what("message"),
                    wanted.message.as_ref(),
                    &got.message,
                );
            }
        }
        for wanted in self.metrics.iter().flatten() {
            wanted.compare(&mut found, step_result.metrics);
        }
        found
    }
}

impl StateExpect {
    fn compare(&self, found: &mut Vec<String>, number: usize, got: &HealthState) {
        let what = |name: &str| format!("state {number}, {name}");
        word(
            found,
            &what("name"),
            self.name.as_ref(),
            got.name.as_deref().unwrap_or(""),
        );
        word(
            found,
            &what("health"),
            self.health.as_ref(),
            got.health.as_str(),
        );
        text(found, &what("reason"), self.reason.as_ref(), &got.reason);
        text(
            found,
            &what("error"),
            self.error.as_ref(),
            got.error.as_deref().unwrap_or(""),
        );
        if let Some(wanted) = &self.actions {
            let actions = got
                .suggested_actions
                .iter()
                .flat_map(|all| &all.repair_actions);
            let actions: Vec<&str> = actions.map(|action| action.as_str()).collect();
            if actions != *wanted {
                found.push(format!(
                    "{} are {actions:?}, expected {wanted:?}",
                    what("actions")
                ));
            }
        }
    }
}

impl MetricExpect {
    fn compare(&self, found: &mut Vec<String>, all: &[ReportedMetric]) {
        let has = |metric: &ReportedMetric, (name, value): (&String, &String)| {
            metric.labels.get(name) == Some(value)
        };
        let mut named = all.iter().filter(|metric| {
            metric.name == self.name && self.labels.iter().all(|label| has(metric, label))
        });
        let what = match self.labels.is_empty() {
            true => self.name.clone(),
            false => format!("{} {:?}", self.name, self.labels),
        };
        match (named.next(), self.value) {
            (None, _) => found.push(format!("there is no metric {what}")),
            (Some(got), Some(wanted)) => {
                let tolerance = 1e-9 * wanted.abs().max(1.0);
                let same = (got.value - wanted).abs() <= tolerance;
                if !same {
                    found.push(format!("metric {what} is {}, expected {wanted}", got.value));
                }
            }
            (Some(_), None) => {}
        }
    }
}

/// How a text is to be.
enum Text<'a> {
    Equal(&'a str),
    Contains(&'a str),
    Matches(Box<regex::Regex>),
}

impl<'a> Text<'a> {
    fn read(value: &'a Value) -> Result<Self, String> {
        if let Some(text) = value.as_str() {
            return Ok(Self::Equal(text));
        }
        let only = value.as_object().filter(|keys| keys.len() == 1);
        let pair = only.and_then(|keys| keys.iter().next());
        match pair.and_then(|(key, text)| Some((key.as_str(), text.as_str()?))) {
            Some(("contains", text)) => Ok(Self::Contains(text)),
            Some(("matches", pattern)) => RegexBuilder::new(pattern)
                .size_limit(PATTERN_SIZE)
                .build()
                .map(|pattern| Self::Matches(Box::new(pattern)))
                .map_err(|error| error.to_string()),
            _ => Err(format!(
                "{value} is neither a text nor {{contains: text}} nor {{matches: pattern}}"
            )),
        }
    }

    fn fits(&self, got: &str) -> bool {
        match self {
            Self::Equal(text) => got == *text,
            Self::Contains(text) => got.contains(text),
            Self::Matches(pattern) => pattern.is_match(got),
        }
    }
}

fn text(found: &mut Vec<String>, what: &str, wanted: Option<&Value>, got: &str) {
    let Some(wanted) = wanted else { return };
    // What cannot be read was refused before anything ran.
    if !Text::read(wanted).is_ok_and(|text| text.fits(got)) {
        found.push(format!("{what} is {got:?}, expected {wanted}"));
    }
}

fn word(found: &mut Vec<String>, what: &str, wanted: Option<&String>, got: &str) {
    if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
        found.push(format!("{what} is {got}, expected {wanted}"));
    }
}

fn count(found: &mut Vec<String>, what: &str, wanted: usize, got: usize) {
    if wanted != got {
        found.push(format!("there are {got} {what}, expected {wanted}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RepairAction, SuggestedActions};

    fn differences(yaml: &str) -> Vec<String> {
        let expect: Expect = serde_yaml::from_str(yaml).unwrap();
        expect.check().unwrap();
        let state = HealthState {
            name: Some("fan".into()),
            health: Health::Degraded,
            reason: "fan2 stands still".into(),
            suggested_actions: Some(SuggestedActions {
                description: String::new(),
                repair_actions: vec![RepairAction::HardwareInspection],
            }),
            ..HealthState::default()
        };
        let event = ReportedEvent {
            time: 1,
            name: "fan_stopped".into(),
            event_type: "Warning".into(),
            message: "fan2".into(),
        };
        let metric = ReportedMetric {
            name: "fan_rpm".into(),
            labels: BTreeMap::from([("fan".into(), "fan2".into())]),
            value: 0.1 + 0.2,
            kind: "gauge",
        };
        expect.differences(&StepResult {
            supported: true,
            states: &[state],
            events: &[event],
            metrics: &[metric],
            error: None,
        })
    }

    #[test]
    fn what_fits_differs_in_nothing() {
        for yaml in [
            "{}",
            "{health: Degraded, supported: true}",
            "{states: [{name: fan, health: Degraded, reason: fan2 stands still, actions: [HARDWARE_INSPECTION]}]}",
            "{states: [{reason: {contains: still}, error: ''}], events: [{name: fan_stopped, type: Warning}]}",
            "{states: [{reason: {matches: '^fan\\d'}}], events: [{message: fan2}]}",
            "{metrics: [{name: fan_rpm, labels: {fan: fan2}, value: 0.3}, {name: fan_rpm}]}",
        ] {
            assert_eq!(differences(yaml), Vec::<String>::new(), "{yaml}");
        }
    }

    #[test]
    fn each_difference_is_reported() {
        for (yaml, expected) in [
            ("{health: Healthy}", "health is Degraded, expected Healthy"),
            ("{supported: false}", "supported is true, expected false"),
            ("{states: []}", "there are 1 states, expected 0"),
            ("{states: [{name: x}]}", "state 1, name is fan, expected x"),
            (
                "{states: [{reason: fan2}]}",
                "state 1, reason is \"fan2 stands still\", expected \"fan2\"",
            ),
            (
                "{states: [{reason: {matches: '^x'}}]}",
                "expected {\"matches\":\"^x\"}",
            ),
            (
                "{states: [{actions: []}]}",
                "state 1, actions are [\"HARDWARE_INSPECTION\"], expected []",
            ),
            (
                "{events: [{type: Fatal}]}",
                "event 1, type is Warning, expected Fatal",
            ),
            ("{events: []}", "there are 1 events, expected 0"),
            ("{metrics: [{name: y}]}", "there is no metric y"),
            (
                "{metrics: [{name: fan_rpm, labels: {fan: fan1}}]}",
                "there is no metric fan_rpm",
            ),
            ("{metrics: [{name: fan_rpm, value: 0.4}]}", "expected 0.4"),
            (
                "{error: {contains: trap}}",
                "there is a report, and none was expected",
            ),
        ] {
            let found = differences(yaml);
            assert!(
                found.len() == 1 && found[0].contains(expected),
                "{yaml}: {found:?}"
            );
        }
    }

    #[test]
    fn a_report_that_is_not_there_is_a_difference_unless_expected() {
        let step_result = StepResult {
            error: Some("trapped: unreachable"),
            ..StepResult::default()
        };
        let none = Expect::default().differences(&step_result);
        assert_eq!(none, ["the check gave no report: trapped: unreachable"]);
        let expect: Expect = serde_yaml::from_str("{error: {contains: trapped}}").unwrap();
        assert!(expect.differences(&step_result).is_empty());
    }
}
