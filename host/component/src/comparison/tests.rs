use proptest::prelude::*;

use super::*;
use crate::model::{Event, EventType, Health, Metric};

fn state(name: &str, health: Health, reason: &str) -> HealthState {
    HealthState {
        name: Some(name.into()),
        health,
        reason: reason.into(),
        ..HealthState::default()
    }
}

fn report() -> Report {
    Report {
        supported: true,
        states: vec![
            state("a", Health::Healthy, "fine"),
            state("b", Health::Degraded, "hot"),
        ],
        events: vec![Event {
            name: "overheat".into(),
            event_type: EventType::Warning,
            message: "90 °C".into(),
            ..Event::default()
        }],
        metrics: vec![Metric {
            name: "celsius".into(),
            labels: vec![("zone".into(), "1".into())],
            value: 90.0,
            ..Metric::default()
        }],
    }
}

/// Returns the listed differences of a report and a changed one: what, of, running, shadow.
fn listed(change: impl FnOnce(&mut Report)) -> Vec<String> {
    let mut other = report();
    change(&mut other);
    let (listed, ..) = between(&Ok(report()), &Ok(other));
    listed
        .iter()
        .map(|d| format!("{} | {} | {} | {}", d.what, d.of, d.running, d.shadow))
        .collect()
}

#[test]
fn what_is_different_is_named() {
    assert_eq!(listed(|_| {}), [""; 0]);
    assert_eq!(
        listed(|r| r.states.reverse()),
        [""; 0],
        "order says nothing"
    );
    assert_eq!(
        listed(|r| r.states[0] = state("a", Health::Unhealthy, "broken")),
        ["health | a | Healthy | Unhealthy"]
    );
    assert_eq!(
        listed(|r| r.states[1] = state("b", Health::Degraded, "warm")),
        ["reason | b | hot | warm"]
    );
    assert_eq!(
        listed(|r| r.states[1] = state("c", Health::Degraded, "hot")),
        ["health | b | Degraded | ", "health | c |  | Degraded"]
    );
    assert_eq!(
        listed(|r| r.supported = false),
        ["health | component | supported | not supported"]
    );
    assert_eq!(
        listed(|r| r.events.push(r.events[0].clone())),
        ["events | overheat (Warning): 90 °C | 1 × | 2 ×"]
    );
    assert_eq!(
        listed(|r| r.events.clear()),
        ["events | overheat (Warning): 90 °C | 1 × | "]
    );
    assert_eq!(
        listed(|r| r.metrics[0].value = 91.5),
        ["metrics | celsius{zone=\"1\"} | 90 | 91.5"]
    );
    assert_eq!(
        listed(|r| r.metrics[0].labels.clear()),
        [
            "metrics | celsius |  | 90",
            "metrics | celsius{zone=\"1\"} | 90 | "
        ]
    );
}

#[test]
fn outcomes_are_compared() {
    let failed = |text: &str| -> Outcome { Err(text.to_owned()) };
    let (listed, differing, _) = between(&Ok(report()), &failed("trapped: x"));
    assert_eq!(listed[0].shadow, "it trapped: x");
    assert_eq!(listed[0].running, "an answer");
    assert_eq!(differing.outcome, 1);
    assert!(between(&failed("a"), &failed("a")).0.is_empty());
    assert_eq!(between(&failed("a"), &failed("b")).0.len(), 1);
}

#[test]
fn what_is_listed_is_bounded() {
    let mut many = report();
    many.states = (0..100)
        .map(|n| state(&n.to_string(), Health::Healthy, ""))
        .collect();
    let (listed, differing, further) = between(&Ok(report()), &Ok(many));
    assert_eq!(
        (listed.len(), further, differing.health),
        (LISTED, 102 - 16, 1)
    );
    let long = short(&"é".repeat(1000));
    assert!(long.len() <= MAX_TEXT + 3 && long.ends_with('…'));
}

proptest! {
    #[test]
    fn a_report_is_like_itself_and_the_same_way_round(names in proptest::collection::vec("[a-c]", 0..5), other in proptest::collection::vec("[a-c]", 0..5)) {
        let of = |names: &[String]| -> Outcome {
            let mut report = report();
            report.states = names.iter().map(|name| state(name, Health::Healthy, name)).collect();
            report.metrics.clear();
            Ok(report)
        };
        prop_assert!(between(&of(&names), &of(&names)).0.is_empty());
        let (one, back) = (between(&of(&names), &of(&other)), between(&of(&other), &of(&names)));
        prop_assert_eq!(one.0.len(), back.0.len());
    }
}
