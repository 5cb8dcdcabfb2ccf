//! The state that follows from incidents.

use std::fmt::Write as _;

use super::{Incident, clip};
use crate::{CheckContext, Evidence, Health, HealthState, Recovery, RepairAction};

/// Incidents that a reason names; the worst.
const MAX_NAMED: usize = 5;
/// Incidents in the document.
const MAX_LISTED: usize = 64;
/// Kernel log records given as evidence.
const MAX_EVIDENCE: usize = 16;

/// The state. `describe` says what an incident is in a few words; `healthy` is the reason when there is none.
pub fn state(
    context: &CheckContext,
    healthy: &str,
    incidents: &[Incident<'_>],
    describe: impl Fn(&Incident<'_>) -> String,
) -> HealthState {
    let mut worst: Vec<&Incident<'_>> = incidents.iter().collect();
    worst.sort_by_key(|incident| {
        (
            weight(&incident.rule.health),
            std::cmp::Reverse(incident.last),
        )
    });
    let Some(first) = worst.first() else {
        return HealthState::healthy(context, healthy);
    };
    let mut reason = String::new();
    for incident in worst.iter().take(MAX_NAMED) {
        if !reason.is_empty() {
            reason.push_str("; ");
        }
        reason.push_str(clip(&describe(incident)));
    }
    if worst.len() > MAX_NAMED {
        let _ = write!(reason, "; and {} more", worst.len() - MAX_NAMED);
    }
    let mut state = HealthState::new(context, first.rule.health.clone(), reason);
    state = with_actions(state, &worst);
    if worst.iter().all(|incident| incident.rule.reboot_clears) {
        state = state.clears_by(Recovery::Reboot);
    }
    if let Some(at) = worst.iter().map(|incident| incident.clears_at()).max() {
        state = state.clears_by(Recovery::At(at));
    }
    state = state.clears_by(Recovery::SetHealthy);
    state.evidence = worst
        .iter()
        .filter(|incident| incident.this_boot)
        .flat_map(|incident| &incident.newest.event.evidence)
        .filter(|evidence| matches!(evidence, Evidence::Kmsg(_)))
        .take(MAX_EVIDENCE)
        .cloned()
        .collect();
    state.subject = first.newest.event.subject.clone().filter(|subject| {
        let mut subjects = worst.iter().map(|other| &other.newest.event.subject);
        subjects.all(|other| other.as_ref() == Some(subject))
    });
    state.info("data", document(incidents))
}

/// Actions most important first, and the advice of all.
fn with_actions(mut state: HealthState, incidents: &[&Incident<'_>]) -> HealthState {
    let mut actions: Vec<RepairAction> = Vec::new();
    for action in incidents.iter().filter_map(|incident| incident.action()) {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    actions.sort_by_key(|action| match action {
        RepairAction::HardwareInspection => 0,
        RepairAction::RebootSystem => 1,
        RepairAction::CheckUserAppAndGpu => 2,
        RepairAction::Other(_) | RepairAction::IgnoreNoActionRequired => 3,
    });
    let mut advice: Vec<&str> = Vec::new();
    for incident in incidents {
        let text = incident.rule.advice;
        if !text.is_empty() && !advice.contains(&text) {
            advice.push(text);
        }
    }
    let advice = advice.join(" ");
    for action in actions {
        state = state.action(action, &advice);
    }
    state
}

fn weight(health: &Health) -> u8 {
    match health {
        Health::Unhealthy => 0,
        Health::Degraded => 1,
        Health::Healthy | Health::Initializing | Health::Other(_) => 2,
    }
}

/// The incidents as a JSON list: `event`, `device`, `count`, `boots`, `first_unix_ms`, `last_unix_ms`, `message`.
pub fn document(incidents: &[Incident<'_>]) -> String {
    let mut text = String::from("[");
    for incident in incidents.iter().take(MAX_LISTED) {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str("{\"event\":");
        quote(&mut text, incident.rule.event);
        text.push_str(",\"device\":");
        quote(&mut text, incident.device);
        let _ = write!(
            text,
            ",\"count\":{},\"boots\":{},\"first_unix_ms\":{},\"last_unix_ms\":{},\"message\":",
            incident.count, incident.boots, incident.first, incident.last
        );
        quote(&mut text, clip(&incident.newest.event.message));
        text.push('}');
    }
    text.push(']');
    text
}

/// A JSON string (RFC 8259 section 7). By hand: most checkers carry no JSON writer.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
