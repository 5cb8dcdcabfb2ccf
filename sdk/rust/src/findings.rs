//! From readings to a verdict, for checkers that read the machine at every check: what is wrong now becomes the state,
//! what began or ended since the last check becomes the events.
//!
//! A checker gives its [`Finding`]s. [`judge`] words them and compares them by key with the findings that were open at
//! the last check ([`Memory`], stored in the component's `state`). For news that come one by one see
//! [`incidents`](crate::incidents).
//!
//! ```
//! use gpud_sdk::findings::{self, Finding, Memory};
//! use gpud_sdk::{Health, testing};
//!
//! let context = testing::test_context("fans", 1_000);
//! let slow = Finding::degraded("fan3", "fan_slow", "fan3 turns at 400 rpm")
//!     .advice("Clean or replace the fan.")
//!     .from_file("/sys/class/hwmon/hwmon0/fan3_input");
//! let (report, after) = findings::judge(&context, "all fans turn", &[slow], &Memory::default());
//! assert_eq!(report.states[0].health, Health::Degraded);
//! assert_eq!(report.events[0].name, "fan_slow");
//!
//! let (report, _) = findings::judge(&context, "all fans turn", &[], &after);
//! assert_eq!(report.states[0].reason, "all fans turn");
//! assert_eq!(report.events[0].name, "fan_slow_cleared");
//! ```

use std::collections::BTreeMap;

use serde_json::Value;

use crate::incidents::clip;
use crate::{
    AccessError, CheckContext, Error, Event, EventType, Evidence, Health, HealthState, Recovery,
    RepairAction, Report, Subject, state,
};

/// Findings that a reason names.
const MAX_NAMED: usize = 5;
/// Evidence of a state; the host takes 64.
const MAX_EVIDENCE: usize = 16;
/// Most findings of one check that become events and are remembered: what the host takes, with room.
const MAX_FINDINGS: usize = 500;
/// A finding that comes and goes is one event with a count within this time.
const MERGE_SECONDS: u32 = 300;
/// Longest document under `data`, bytes; the host takes 64 KiB.
const MAX_DATA_BYTES: usize = 60 * 1024;
/// Longest memory, bytes; the host takes 64 KiB of a value.
const MAX_MEMORY_BYTES: usize = 60 * 1024;
/// Key of the memory in the component's `state`.
const KEY: &str = "open";

/// One thing that a checker found wrong in a reading, or a fact to report.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What makes it the same at the next check; numbers that change have no place in it. Two stages of one trouble share
    /// a key, and have events of different names. A key appears once in a check.
    pub key: String,
    /// Name of the event when it begins; its end is the event `‹name›_cleared`.
    pub event: &'static str,
    /// How serious the event is.
    pub event_type: EventType,
    /// How healthy the component is in the meantime. A finding that is Healthy gives events, and no word in the state.
    pub health: Health,
    /// In words.
    pub text: String,
    /// What to do.
    pub action: Option<RepairAction>,
    /// The same in words; may be empty.
    pub advice: &'static str,
    /// What it is about.
    pub subject: Option<Subject>,
    /// The file it was read from.
    pub file: Option<String>,
}

impl Finding {
    /// Makes a finding that needs attention; its event is a warning.
    pub fn degraded(key: impl Into<String>, event: &'static str, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            event,
            event_type: EventType::Warning,
            health: Health::Degraded,
            text: text.into(),
            action: None,
            advice: "",
            subject: None,
            file: None,
        }
    }

    /// Makes a finding of something that does not work; its event is critical.
    pub fn unhealthy(key: impl Into<String>, event: &'static str, text: impl Into<String>) -> Self {
        Self {
            health: Health::Unhealthy,
            event_type: EventType::Critical,
            ..Self::degraded(key, event, text)
        }
    }

    /// Makes a fact that is reported as an event and is no trouble of the machine.
    pub fn note(key: impl Into<String>, event: &'static str, text: impl Into<String>) -> Self {
        Self {
            health: Health::Healthy,
            event_type: EventType::Info,
            ..Self::degraded(key, event, text)
        }
    }

    /// Adds what to do.
    pub fn action(mut self, action: RepairAction, advice: &'static str) -> Self {
        self.action = Some(action);
        self.advice = advice;
        self
    }

    /// Adds advice where no action of the vocabulary fits.
    pub fn advice(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    /// Says that it is about a thing of this kind.
    pub fn about(mut self, kind: &str, name: &str) -> Self {
        self.subject = Some(Subject::Other((kind.to_owned(), clip(name).to_owned())));
        self
    }

    /// Says what it is about.
    pub fn subject(mut self, subject: Subject) -> Self {
        self.subject = Some(subject);
        self
    }

    /// Names the file that it was read from.
    pub fn from_file(mut self, path: impl Into<String>) -> Self {
        self.file = Some(path.into());
        self
    }
}

/// The findings that were open at the last check: key to the name of the event. It is empty before the first check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory(pub BTreeMap<String, String>);

impl Memory {
    /// Reads what [`Memory::save`] wrote; any other text gives an empty memory.
    pub fn restore(saved: Option<&str>) -> Self {
        Self(
            saved
                .and_then(|saved| serde_json::from_str(saved).ok())
                .unwrap_or_default(),
        )
    }

    /// Returns the memory as text; `None` where it is empty.
    pub fn save(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        serde_json::to_string(&self.0)
            .ok()
            .filter(|text| text.len() <= MAX_MEMORY_BYTES)
    }

    /// Loads the memory from the component's `state`.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn load() -> Result<Self, AccessError> {
        Ok(Self::restore(state::get_string(KEY)?.as_deref()))
    }

    /// Stores the memory in the component's `state`, if it differs from the one that was loaded.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn keep(&self, before: &Self) -> Result<(), AccessError> {
        if self == before {
            return Ok(());
        }
        match self.save() {
            Some(text) => state::set(KEY, text.as_bytes()),
            None => state::delete(KEY),
        }
    }
}

/// Runs a check with the memory of the last one: loads it, lets `judge` make a report and a new memory of it, and stores
/// that.
///
/// # Errors
/// That of `judge`, or that of a store that does not answer.
pub fn check(
    judge: impl FnOnce(&Memory) -> Result<(Report, Memory), Error>,
) -> Result<Report, Error> {
    let before = Memory::load()?;
    let (report, after) = judge(&before)?;
    after.keep(&before)?;
    Ok(report)
}

/// Returns the report of one check, and the memory for the next. `healthy` is the reason when nothing is wrong.
pub fn judge(
    context: &CheckContext,
    healthy: &str,
    findings: &[Finding],
    before: &Memory,
) -> (Report, Memory) {
    let mut report = Report::of(state(context, healthy, findings));
    let mut after = Memory::default();
    for finding in findings.iter().take(MAX_FINDINGS) {
        let key = clip(&finding.key).to_owned();
        // Another name of the same key is something that got worse or better.
        let known = before.0.get(&key).is_some_and(|name| name == finding.event);
        if !known && !after.0.contains_key(&key) {
            report.events.push(begin(context, finding, &key));
        }
        after.0.insert(key, finding.event.to_owned());
    }
    // What a full list left out is not over.
    if findings.len() <= MAX_FINDINGS {
        let ended = before
            .0
            .iter()
            .filter(|(key, _)| !after.0.contains_key(*key));
        report.events.extend(
            ended
                .take(MAX_FINDINGS)
                .map(|(key, name)| end(context, key, name)),
        );
    }
    (report, after)
}

/// Returns the state alone.
pub fn state(context: &CheckContext, healthy: &str, findings: &[Finding]) -> HealthState {
    let mut worst: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.health != Health::Healthy)
        .collect();
    worst.sort_by_key(|finding| finding.health != Health::Unhealthy);
    let Some(first) = worst.first() else {
        return HealthState::healthy(context, healthy);
    };
    let mut reason = String::new();
    for finding in worst.iter().take(MAX_NAMED) {
        if !reason.is_empty() {
            reason.push_str("; ");
        }
        reason.push_str(clip(&finding.text));
    }
    if worst.len() > MAX_NAMED {
        reason.push_str(&format!("; and {} more", worst.len() - MAX_NAMED));
    }
    let mut state = HealthState::new(context, first.health.clone(), reason)
        .clears_by(Recovery::NextGoodReading);
    // Advice without an action is in the reason's line of sight as an action of its own word would not be.
    let advised = worst.iter().find(|finding| finding.action.is_some());
    if let Some((finding, action)) = advised.and_then(|one| Some((one, one.action.clone()?))) {
        state = state.action(action, finding.advice);
    } else if let Some(finding) = worst.iter().find(|finding| !finding.advice.is_empty()) {
        state.reason.push_str(". ");
        state.reason.push_str(finding.advice);
    }
    if worst.iter().all(|finding| finding.subject == first.subject) {
        state.subject.clone_from(&first.subject);
    }
    for finding in worst {
        let Some(file) = &finding.file else { continue };
        let evidence = Evidence::File(file.clone());
        if state.evidence.len() < MAX_EVIDENCE && !state.evidence.contains(&evidence) {
            state.evidence.push(evidence);
        }
    }
    state
}

/// Returns the report of a component that has nothing to watch on this machine, with the reason.
pub fn unsupported(context: &CheckContext, reason: impl Into<String>) -> Report {
    Report::unsupported(HealthState::healthy(context, reason))
}

/// Makes the reason of a component that has nothing to watch here what is missing. Other reports stay as they are.
pub fn or_missing(mut report: Report, missing: &str) -> Report {
    if !report.supported
        && let Some(state) = report.states.first_mut()
    {
        missing.clone_into(&mut state.reason);
    }
    report
}

/// Adds a document to the state, under `data`. One that is longer than 60 KiB is left out: the host would refuse the report.
pub fn with_data(mut report: Report, data: &Value) -> Report {
    let text = data.to_string();
    if text.len() <= MAX_DATA_BYTES
        && let Some(state) = report.states.pop()
    {
        report.states.push(state.info("data", text));
    }
    report
}

fn begin(context: &CheckContext, finding: &Finding, key: &str) -> Event {
    let mut event = Event::new(
        context.now,
        finding.event,
        finding.event_type.clone(),
        clip(&finding.text),
    )
    .merged_by(format!("{} {key}", finding.event), MERGE_SECONDS);
    event.subject.clone_from(&finding.subject);
    event
        .evidence
        .extend(finding.file.clone().map(Evidence::File));
    event
}

fn end(context: &CheckContext, key: &str, name: &str) -> Event {
    let name = format!("{name}_cleared");
    let merge = format!("{name} {key}");
    Event::new(context.now, name, EventType::Info, format!("{key}: over"))
        .merged_by(merge, MERGE_SECONDS)
}

#[cfg(test)]
mod tests;
