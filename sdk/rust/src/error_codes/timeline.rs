//! The verdict that follows from a history of errors and reboots.
//!
//! Walked from the oldest to the newest: an error at least as serious as the verdict so far becomes the verdict; a
//! reboot clears a verdict that asks for one, and is counted for every code seen so far; a code that comes back after
//! enough reboots asks for an inspection instead of another reboot.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Key;
use super::config::CodeConfig;
use crate::catalog::{Action, Severity, repair_action};
use crate::policy::codes::CodePolicy;
use crate::policy::{MARK, Weight};
use crate::{CheckContext, Health, HealthState, Recovery};

/// An error that happened, as the catalogue has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault<'a> {
    /// Which of the stored events it is: the caller's own number.
    pub index: usize,
    /// When, unix seconds.
    pub second: u64,
    /// Which error.
    pub key: Key,
    /// How serious.
    pub severity: Severity,
    /// What to do, as the wire's word.
    pub action: Option<Cow<'a, str>>,
}

/// The verdict on the history.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineVerdict<'a> {
    /// How healthy.
    pub health: Health,
    /// [`Fault::index`] of the error that made it so, if any. A healthy verdict has one, too, after errors that harm
    /// nothing.
    pub current: Option<usize>,
    /// The action to take, as the wire's word.
    pub action: Option<Cow<'a, str>>,
}

impl TimelineVerdict<'_> {
    /// True when a reboot would clear it.
    pub fn clears_by_reboot(&self) -> bool {
        clears_by_reboot(self.action.as_deref())
    }

    /// Returns a state with health, action and ways of recovery. Its reason is `no_error`, for the caller to replace.
    pub fn state(&self, name: &str, no_error: &str) -> HealthState {
        let mut state = HealthState {
            name: Some(name.to_owned()),
            time: None,
            health: self.health.clone(),
            reason: no_error.to_owned(),
            error: None,
            suggested_actions: None,
            subject: None,
            recovery: Vec::new(),
            latch: false,
            evidence: Vec::new(),
            extra_info: Vec::new(),
            extra: Vec::new(),
        };
        if let Some(action) = &self.action {
            state = state.action(repair_action(action), "");
        }
        if self.health != Health::Healthy {
            if self.clears_by_reboot() {
                state.recovery.push(Recovery::Reboot);
            }
            state.recovery.push(Recovery::SetHealthy);
        }
        state
    }
}

fn clears_by_reboot(action: Option<&str>) -> bool {
    [Action::Reboot, Action::CheckApp]
        .iter()
        .any(|clears| action == Some(clears.word()))
}

/// How much an error's severity weighs.
fn level(severity: Severity) -> u8 {
    match severity {
        Severity::Fatal => 2,
        Severity::Critical => 1,
        Severity::Unknown | Severity::Info | Severity::Warning => 0,
    }
}

/// Judges a history by the configuration with its policy. `faults` and `reboots` (unix seconds) are oldest first; within one
/// second errors come before the reboot. The second part says which errors the policy names, as a document for programs,
/// when the verdict is another than without it.
pub fn judge<'a, F: IntoIterator<Item = Fault<'a>>, R: IntoIterator<Item = u64>>(
    faults: impl Fn() -> F,
    reboots: impl Fn() -> R,
    config: &CodeConfig,
) -> (TimelineVerdict<'a>, Option<String>) {
    let policy = config.policy();
    let verdict = judge_by(policy, faults(), reboots(), config);
    if policy.is_empty() {
        return (verdict, None);
    }
    let without = judge_by(&CodePolicy::default(), faults(), reboots(), config);
    let note =
        (verdict != without).then(|| policy.document(faults().into_iter().map(|fault| fault.key)));
    (verdict, note)
}

/// Returns the state of errors without their history: Unhealthy when one of them is critical or worse, by the catalogue or else
/// by the policy.
pub fn at_once(
    context: &CheckContext,
    errors: impl Iterator<Item = (Key, Severity)> + Clone,
    config: &CodeConfig,
    reason: String,
) -> HealthState {
    let policy = config.policy();
    let by = |policy: &CodePolicy| {
        let bad = errors.clone().any(|(key, severity)| {
            let weight = policy.ruling(key).weight;
            matches!(weight.unwrap_or(Weight::Is(severity)), Weight::Is(severity) if severity >= Severity::Critical)
        });
        if bad {
            Health::Unhealthy
        } else {
            Health::Healthy
        }
    };
    let health = by(policy);
    let note = (!policy.is_empty() && health != by(&CodePolicy::default()))
        .then(|| policy.document(errors.clone().map(|(key, _)| key)));
    let mut state = HealthState::new(context, health, reason);
    mark(&mut state, note);
    state
}

/// Marks a state that the site's policy changed; `document` as [`judge`] gives it.
pub fn mark(state: &mut HealthState, document: Option<String>) {
    if let Some(document) = document {
        state.reason.push_str(MARK);
        state.extra_info.push(("data".to_owned(), document));
    }
}

fn judge_by<'a>(
    policy: &CodePolicy,
    faults: impl IntoIterator<Item = Fault<'a>>,
    reboots: impl IntoIterator<Item = u64>,
    config: &CodeConfig,
) -> TimelineVerdict<'a> {
    let mut state = State::default();
    let mut reboots = reboots.into_iter().peekable();
    for fault in faults {
        while reboots.next_if(|reboot| *reboot < fault.second).is_some() {
            state.reboot();
        }
        state.error(fault, policy, config);
    }
    for _ in reboots {
        state.reboot();
    }
    let health = match state.level {
        0 => Health::Healthy,
        1 => Health::Degraded,
        _ => Health::Unhealthy,
    };
    TimelineVerdict {
        health,
        current: state.current,
        action: state.action,
    }
}

#[derive(Default)]
struct State<'a> {
    level: u8,
    current: Option<usize>,
    action: Option<Cow<'a, str>>,
    /// Reboots since a code that asks for one was first seen.
    reboots: BTreeMap<u32, u32>,
}

impl<'a> State<'a> {
    fn error(&mut self, fault: Fault<'a>, policy: &CodePolicy, config: &CodeConfig) {
        let ruling = policy.ruling(fault.key);
        let severity = match ruling.weight {
            None => fault.severity,
            Some(Weight::Is(severity)) => severity,
            Some(Weight::Ignored) => return,
        };
        let level = level(severity);
        if level < self.level {
            return;
        }
        self.level = level;
        self.current = Some(fault.index);
        let first = match ruling.actions {
            None => fault.action,
            Some(actions) => actions.first().map(|action| action.word().into()),
        };
        let Some(mut action) = first else {
            return;
        };
        if action == Action::Reboot.word() {
            let reboots = *self.reboots.entry(fault.key.code).or_insert(0);
            let threshold = ruling
                .reboot_threshold
                .unwrap_or_else(|| config.threshold(fault.key));
            // Thresholds are at least 1, so a code seen for the first time never gets here.
            if reboots >= threshold {
                action = Action::Inspect.word().into();
            }
        }
        self.action = Some(action);
    }

    fn reboot(&mut self) {
        if clears_by_reboot(self.action.as_deref()) {
            (self.level, self.current, self.action) = (0, None, None);
        }
        for count in self.reboots.values_mut() {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
