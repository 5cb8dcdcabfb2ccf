//! From the node's state to verdicts: one for the whole node, one for each condition of the rules.

use std::collections::BTreeSet;

use super::rules::{Rule, SUMMARY, Threshold};
use crate::{COMPONENT_PREFIX, Health, HealthView, Snapshot, Subject};

/// Most states that a message names.
const NAMED: usize = 5;
/// Longest message, bytes. The API takes 32 KiB, but a list of nodes holds one of each condition.
const MAX_MESSAGE: usize = 1024;

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known.
    Unknown,
}

impl ConditionStatus {
    /// Returns the API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A state that is a reason for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    pub component: String,
    pub name: String,
    pub subject: Option<Subject>,
    pub health: &'static str,
    pub action: Option<String>,
}

/// The wanted content of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Type of the condition.
    pub condition: String,
    pub status: ConditionStatus,
    pub reason: String,
    /// For people. It may change while the verdict does not.
    pub message: String,
    /// The states behind it. When they change, so does the verdict.
    pub causes: BTreeSet<Cause>,
}

impl Verdict {
    /// Returns true if something is wrong.
    pub fn is_fault(&self) -> bool {
        let bad = match self.condition == SUMMARY {
            true => ConditionStatus::False,
            false => ConditionStatus::True,
        };
        self.status == bad
    }

    /// Returns true if it is known that nothing is wrong.
    pub fn is_in_order(&self) -> bool {
        self.status != ConditionStatus::Unknown && !self.is_fault()
    }
}

/// A state with its component.
type Stated<'a> = (&'a str, &'a HealthView);

/// Judges the node. A condition without any component on this machine is left out.
pub fn judge(snapshot: &Snapshot, rules: &[Rule], unhealthy_from: Threshold) -> Vec<Verdict> {
    let stated = snapshot.components.iter().filter(|c| !is_own(&c.component));
    let stated: Vec<Stated<'_>> = stated
        .flat_map(|c| c.states.iter().map(|state| (c.component.as_str(), state)))
        .collect();
    let mut verdicts = vec![summary(&stated, unhealthy_from)];
    let mut seen = BTreeSet::new();
    for rule in rules {
        if seen.insert(&rule.condition) {
            let same: Vec<&Rule> = rules
                .iter()
                .filter(|other| other.condition == rule.condition)
                .collect();
            verdicts.extend(of_rules(rule, &same, &stated));
        }
    }
    verdicts
}

/// Returns true for components about exports: an engine that is down does not make a node unhealthy.
fn is_own(component: &str) -> bool {
    component.starts_with(COMPONENT_PREFIX) || component == "exports-file"
}

fn summary(stated: &[Stated<'_>], unhealthy_from: Threshold) -> Verdict {
    let of = |fits: &dyn Fn(&HealthView) -> bool| -> Vec<Stated<'_>> {
        let fitting = stated.iter().filter(|(_, state)| fits(state));
        fitting.copied().collect()
    };
    let (bad, ill) = (
        of(&|state| state.health.is_bad()),
        of(&|state| unhealthy_from.is_reached(state)),
    );
    let waiting = of(&|state| state.health == Health::Initializing);
    let worst = bad.iter().map(|(_, state)| state.health.rank()).max();
    let reason = match worst {
        Some(2) => "Degraded",
        Some(_) => "Unhealthy",
        None => "Healthy",
    };
    let (status, reason, message) = if !ill.is_empty() {
        (ConditionStatus::False, reason, message_of(&bad))
    } else if stated.is_empty() || !waiting.is_empty() {
        let (status, reason) = (ConditionStatus::Unknown, "Initializing");
        (status, reason, waiting_message(&waiting))
    } else if bad.is_empty() {
        let message = "all components are healthy".to_owned();
        (ConditionStatus::True, reason, message)
    } else {
        (ConditionStatus::True, reason, message_of(&bad))
    };
    Verdict {
        condition: SUMMARY.to_owned(),
        status,
        reason: reason.to_owned(),
        message,
        causes: bad.iter().map(cause).collect(),
    }
}

/// Judges the condition of some rules, of which `first` is the first.
fn of_rules(first: &Rule, rules: &[&Rule], stated: &[Stated<'_>]) -> Option<Verdict> {
    let covered: Vec<Stated<'_>> = stated
        .iter()
        .filter(|(component, _)| rules.iter().any(|rule| rule.covers(component)))
        .copied()
        .collect();
    if covered.is_empty() {
        return None;
    }
    let breaks = |rule: &Rule, (component, state): &Stated<'_>| {
        rule.covers(component) && rule.is_broken_by(state)
    };
    let broken: Vec<Stated<'_>> = covered
        .iter()
        .filter(|stated| rules.iter().any(|rule| breaks(rule, stated)))
        .copied()
        .collect();
    let broken_rule = rules
        .iter()
        .find(|rule| broken.iter().any(|s| breaks(rule, s)));
    let waiting: Vec<Stated<'_>> = covered
        .iter()
        .filter(|(_, state)| state.health == Health::Initializing)
        .copied()
        .collect();
    let (status, reason, message) = match broken_rule {
        Some(rule) => (
            ConditionStatus::True,
            rule.reason().to_owned(),
            message_of(&broken),
        ),
        None if waiting.is_empty() => (
            ConditionStatus::False,
            format!("No{}", first.reason()),
            "no such fault is known".to_owned(),
        ),
        None => (
            ConditionStatus::Unknown,
            "Initializing".to_owned(),
            waiting_message(&waiting),
        ),
    };
    Some(Verdict {
        condition: first.condition.clone(),
        status,
        reason,
        message,
        causes: broken.iter().map(cause).collect(),
    })
}

fn cause((component, state): &Stated<'_>) -> Cause {
    Cause {
        component: (*component).to_owned(),
        name: state.name.clone(),
        subject: state.subject.clone(),
        health: match state.health.rank() {
            2 => "Degraded",
            _ => "Unhealthy",
        },
        action: state.suggested_actions.first().cloned(),
    }
}

/// Names states, the worst ones first.
fn message_of(stated: &[Stated<'_>]) -> String {
    let mut worst_first = stated.to_vec();
    worst_first.sort_by_key(|(_, state)| std::cmp::Reverse(state.health.rank()));
    let named = worst_first.iter().take(NAMED).map(|(component, state)| {
        let about = match &state.subject {
            Some(subject) => format!("{component} ({subject})"),
            None => (*component).to_owned(),
        };
        match state.reason.is_empty() {
            true => format!("{about}: {}", state.health.as_str()),
            false => format!("{about}: {}", state.reason),
        }
    });
    let mut message = named.collect::<Vec<_>>().join("; ");
    shorten(&mut message, MAX_MESSAGE);
    if let Some(more @ 1..) = stated.len().checked_sub(NAMED) {
        message.push_str(&format!("; and {more} more"));
    }
    message
}

fn waiting_message(waiting: &[Stated<'_>]) -> String {
    let named: Vec<&str> = waiting.iter().map(|(component, _)| *component).collect();
    let named: Vec<&str> = BTreeSet::from_iter(named).into_iter().take(NAMED).collect();
    match named.is_empty() {
        true => "no component has reported yet".to_owned(),
        false => format!("not checked yet: {}", named.join(", ")),
    }
}

/// Puts a text on one line of at most `max` bytes.
pub fn shorten(text: &mut String, max: usize) {
    if text.contains(char::is_control) {
        *text = text.replace(char::is_control, " ");
    }
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max.saturating_sub('…'.len_utf8())));
        text.push('…');
    }
}

/// Returns the most important suggested action, with the component and the part that it is for.
pub fn action(snapshot: &Snapshot) -> Option<(String, String)> {
    let bad = snapshot.components.iter().flat_map(|component| {
        let states = component.states.iter();
        states.map(|state| (component.component.as_str(), state))
    });
    let bad = bad.filter(|(component, state)| !is_own(component) && state.health.is_bad());
    let with_action = bad.filter_map(|(component, state)| {
        let action = state.suggested_actions.first()?;
        (rank(action) > 0).then_some((component, state, action))
    });
    // The strongest one, of the worst state; the first of equals, so that it does not move.
    let (component, state, action) = with_action
        .enumerate()
        .max_by_key(|(index, (_, state, action))| {
            (rank(action), state.health.rank(), std::cmp::Reverse(*index))
        })?
        .1;
    let about = match &state.subject {
        Some(subject) => format!("{component} {subject}"),
        None => component.to_owned(),
    };
    Some((action.clone(), about))
}

/// Returns how far an action goes; 0 for none. A word that this version does not know is treated as a mild one.
fn rank(action: &str) -> u8 {
    match action {
        "HARDWARE_INSPECTION" => 4,
        "REBOOT_SYSTEM" => 3,
        "" | "IGNORE_NO_ACTION_REQUIRED" => 0,
        "CHECK_USER_APP_AND_GPU" => 1,
        _ => 2,
    }
}
