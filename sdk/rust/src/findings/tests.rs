use super::*;
use crate::testing::test_context;

fn finding(key: &str) -> Finding {
    Finding::degraded(key, "thing_broken", format!("{key} is broken"))
}

#[test]
fn events_are_transitions() {
    let context = test_context("thing", 1_000);
    let (one, two) = (finding("a"), finding("b"));
    let steps: [(&[Finding], &[&str]); 5] = [
        (&[], &[]),
        (std::slice::from_ref(&one), &["thing_broken a is broken"]),
        (std::slice::from_ref(&one), &[]),
        (
            std::slice::from_ref(&two),
            &["thing_broken b is broken", "thing_broken_cleared a: over"],
        ),
        (&[], &["thing_broken_cleared b: over"]),
    ];
    let mut memory = Memory::default();
    for (findings, expected) in steps {
        let (report, after) = judge(&context, "fine", findings, &memory);
        let events: Vec<String> = report
            .events
            .iter()
            .map(|event| format!("{} {}", event.name, event.message))
            .collect();
        assert_eq!(events, expected);
        assert_eq!(
            report.states[0].health == Health::Healthy,
            findings.is_empty()
        );
        memory = Memory::restore(after.save().as_deref());
        assert_eq!(memory, after);
    }
}

#[test]
fn what_gets_worse_is_news_and_not_over() {
    let context = test_context("thing", 1_000);
    let (_, after) = judge(&context, "fine", &[finding("a")], &Memory::default());
    let worse = [Finding::unhealthy("a", "thing_dead", "a is dead")];
    let (report, after) = judge(&context, "fine", &worse, &after);
    let names = |report: &Report| -> Vec<String> {
        report
            .events
            .iter()
            .map(|event| event.name.clone())
            .collect()
    };
    assert_eq!(names(&report), ["thing_dead"]);
    assert_eq!(
        names(&judge(&context, "fine", &[], &after).0),
        ["thing_dead_cleared"]
    );
}

#[test]
fn the_worst_comes_first_and_notes_stay_silent() {
    let context = test_context("thing", 1_000);
    let mut findings = vec![
        Finding::note("n", "noted", "only noted"),
        finding("a").advice("Look at it."),
        Finding::unhealthy("b", "thing_dead", "b is dead").from_file("/b"),
    ];
    let state = state(&context, "fine", &findings);
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(state.reason, "b is dead; a is broken. Look at it.");
    assert_eq!(state.evidence, [Evidence::File("/b".to_owned())]);
    assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    findings.truncate(1);
    let (report, _) = judge(&context, "fine", &findings, &Memory::default());
    assert_eq!(report.states[0].reason, "fine");
    assert_eq!(report.events[0].event_type, EventType::Info);
    for number in 0..600 {
        findings.push(finding(&format!("x{number}")));
    }
    let (report, after) = judge(&context, "fine", &findings, &Memory::default());
    assert_eq!((report.events.len(), after.0.len()), (500, 500));
    assert!(report.states[0].reason.ends_with("; and 595 more"));
    let (report, _) = judge(&context, "fine", &findings, &after);
    assert!(report.events.is_empty());
}

#[test]
fn saved_findings_are_validated() {
    for saved in [None, Some(""), Some("[]"), Some(r#"{"a":1}"#)] {
        assert_eq!(Memory::restore(saved), Memory::default(), "{saved:?}");
    }
    assert_eq!(Memory::default().save(), None);
}

#[test]
fn a_component_without_anything_to_watch_says_what_is_missing() {
    let context = test_context("thing", 1_000);
    let report = or_missing(unsupported(&context, "ok"), "no thing");
    assert_eq!(report.states[0].reason, "no thing");
    let there = Report::of(HealthState::healthy(&context, "ok"));
    assert_eq!(or_missing(there, "no thing").states[0].reason, "ok");
}
