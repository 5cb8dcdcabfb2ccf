use super::*;
use crate::metrics::{Registry, own::CHECKER_LABEL};

fn with(healths: &[&str]) -> Outcome {
    let states = healths.iter().enumerate().map(|(at, health)| HealthState {
        health: (*health).to_owned(),
        reason: format!("reason {at}"),
        ..HealthState::default()
    });
    Outcome {
        component: "c".into(),
        states: states.collect(),
        ..Outcome::default()
    }
}

#[test]
fn the_first_of_the_worst_counts() {
    for (healths, health, healthy, reason) in [
        (&[][..], "Healthy", true, ""),
        (&["Healthy", "Healthy"], "Healthy", true, "reason 0"),
        (&["Healthy", "Degraded"], "Degraded", false, "reason 1"),
        (
            &["Degraded", "Unhealthy", "Unhealthy"],
            "Unhealthy",
            false,
            "reason 1",
        ),
        (&["Initializing"], "Initializing", false, "reason 0"),
    ] {
        let outcome = with(healths);
        assert_eq!(outcome.health(), health);
        assert_eq!(outcome.is_healthy(), healthy, "{healths:?}");
        assert_eq!(
            outcome.failure(),
            format!("plugin c returned unhealthy state (summary {reason})")
        );
    }
}

#[test]
fn where_there_is_nothing_to_watch_nothing_is_wrong() {
    for (supported, healthy) in [(true, false), (false, true)] {
        let outcome = Outcome {
            wasm: Some(WasmCheck {
                supported,
                bill: None,
            }),
            ..with(&["Unhealthy"])
        };
        assert_eq!(outcome.is_healthy(), healthy);
    }
}

#[test]
fn a_bill_is_found_among_the_metrics() {
    let registry = Registry::new();
    assert_eq!(Bill::of(&registry.exposition()), None);
    let labels = [(CHECKER_LABEL.to_owned(), "a } b".to_owned())];
    for (metric, value) in [
        (CHECKER_SECONDS, 0.25),
        (CHECKER_HOST_CALLS, 3.0),
        (CHECKER_BYTES, 4096.0),
    ] {
        registry
            .add_counter(metric.name, metric.help, &labels, value)
            .unwrap();
    }
    let memory = CHECKER_MEMORY;
    registry
        .raise_gauge(memory.name, memory.help, &labels, 1_114_112.0)
        .unwrap();
    assert_eq!(
        Bill::of(&registry.exposition()),
        Some(Bill {
            seconds: 0.25,
            memory_high_water_bytes: 1_114_112.0,
            host_calls: 3.0,
            bytes: 4096.0,
        })
    );
}
