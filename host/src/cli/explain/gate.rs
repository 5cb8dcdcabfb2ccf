//! Applies `--fail-on` to a saved log.
//!
//! Verdicts count as they are. A component that judges by the machine's present state as well has none here, and its events
//! must not pass unseen: since the last boot, a `Fatal` one that nothing ended counts as `Unhealthy`, a `Critical` one as
//! `Degraded`.

use super::{HostJudgement, print};
use crate::{
    component::{event_facts::EventFacts, offline::Judgement},
    model::{EventType, Health, HealthState, UnixMillis},
    wire::{self, ComponentHealthStates, Origin},
};

/// The states of all components of a host, for a gate.
pub fn states(host: &HostJudgement) -> Vec<ComponentHealthStates> {
    let judgements = host.judgements.iter();
    judgements
        .map(|judgement| match judgement.states.is_empty() {
            false => print::component(judgement),
            true => of_events(judgement, host.last_boot),
        })
        .collect()
}

fn of_events(judgement: &Judgement, last_boot: UnixMillis) -> ComponentHealthStates {
    let name = &judgement.component;
    let event_facts = EventFacts::of(name);
    let open = judgement.events.iter().filter(|seen| {
        let entry = event_facts.event(&seen.event.name);
        let is_over =
            entry.is_some_and(|entry| print::end_of(seen, entry, &judgement.events).is_some());
        seen.last_time >= last_boot && !is_over
    });
    let worst = open.fold(Health::Healthy, |worst, seen| {
        let health = match seen.event.event_type {
            EventType::Fatal => Health::Unhealthy,
            EventType::Critical => Health::Degraded,
            _ => Health::Healthy,
        };
        match health.rank() > worst.rank() {
            true => health,
            false => worst,
        }
    });
    let state = HealthState {
        health: worst,
        ..HealthState::default()
    };
    ComponentHealthStates {
        component: name.clone(),
        states: Some(vec![wire::HealthState::from_model(
            name,
            &Origin::default(),
            state,
        )]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::output, model::Event, store::StoredEvent};

    fn worst(last_boot: UnixMillis, events: &[(&str, EventType, u64)]) -> String {
        let event = |(name, event_type, time): &(&str, EventType, u64)| StoredEvent {
            event: Event {
                name: (*name).to_owned(),
                event_type: event_type.clone(),
                time: *time,
                ..Event::default()
            },
            count: 1,
            last_time: *time,
        };
        let host = HostJudgement {
            host: None,
            last_boot,
            judgements: vec![Judgement {
                component: "nfs".to_owned(),
                events: events.iter().map(event).collect(),
                ..Judgement::default()
            }],
        };
        format!("{:?}", output::worst(&states(&host)))
    }

    #[test]
    fn events_without_a_verdict_do_not_pass_unseen() {
        let fatal = ("panic", EventType::Fatal, 10);
        let critical = ("error", EventType::Critical, 10);
        let warning = ("warning", EventType::Warning, 10);
        assert_eq!(worst(0, &[]), "Healthy");
        assert_eq!(worst(0, &[warning]), "Healthy");
        let both = [critical.clone(), fatal];
        assert_eq!(worst(0, &both), "Unhealthy");
        assert_eq!(worst(0, &[critical]), "Degraded");
        // A boot came after them.
        assert_eq!(worst(11, &both), "Healthy");
    }
}
