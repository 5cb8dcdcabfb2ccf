//! Putting what a policy makes of events over a state that was judged without them.

use super::words::MARK;
use crate::{Health, HealthState, SuggestedActions};

/// Adds [`MARK`] to the reason of a state that the policy made, once.
pub fn mark(state: &mut HealthState) {
    if !state.reason.ends_with(MARK) {
        state.reason.push_str(MARK);
    }
}

pub(super) fn is_same(one: &HealthState, other: &HealthState) -> bool {
    let words = |state: &HealthState| {
        let actions = state.suggested_actions.as_ref();
        actions.map(|actions| actions.repair_actions.clone())
    };
    one.health == other.health && one.reason == other.reason && words(one) == words(other)
}

pub(super) fn merge(state: &mut HealthState, laid: HealthState) {
    let weight = |health: &Health| match health {
        Health::Unhealthy => 2,
        Health::Degraded => 1,
        _ => 0,
    };
    if state.health == Health::Healthy {
        state.reason = laid.reason;
        state.recovery = laid.recovery;
        state.subject = laid.subject;
    } else {
        state.reason = format!("{}; {}", state.reason, laid.reason);
        // What clears nothing but a state that is well is in nobody's way; else a way must clear both.
        if laid.health != Health::Healthy {
            state.recovery.retain(|way| laid.recovery.contains(way));
            state.subject = state
                .subject
                .take()
                .filter(|it| laid.subject.as_ref() == Some(it));
        }
    }
    if weight(&laid.health) > weight(&state.health) {
        state.health = laid.health;
    }
    state.evidence.extend(laid.evidence);
    state.suggested_actions = match (state.suggested_actions.take(), laid.suggested_actions) {
        (Some(own), Some(laid)) => Some(both(own, laid)),
        (own, laid) => own.or(laid),
    };
}

fn both(mut own: SuggestedActions, laid: SuggestedActions) -> SuggestedActions {
    for action in laid.repair_actions {
        if !own.repair_actions.contains(&action) {
            own.repair_actions.push(action);
        }
    }
    if own.description.is_empty() {
        own.description = laid.description;
    } else if !laid.description.is_empty() && own.description != laid.description {
        own.description = format!("{} {}", own.description, laid.description);
    }
    own
}
