use super::*;
use crate::crawl::{self, tests::serve};
use gpud_sdk::Health as State;
use gpud_sdk::testing::test_context;

const HGX: &str = include_str!("../../trees/hgx-gpu-critical.json");
const IDRAC: &str = include_str!("../../trees/idrac-supply-without-feed.json");
const ILO: &str = include_str!("../../trees/ilo-healthy.json");
const LEAK: &str = include_str!("../../trees/supermicro-leak.json");

/// Checks one after another: health and reason of each state of the last, and all events.
fn run(config: &str, checks: &[Result<&str, &str>]) -> (Vec<(State, String)>, Vec<String>) {
    let context = test_context("server-redfish", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut seen, mut memory) = (SeenEntries::default(), Memory::default());
    let (mut states, mut events) = (Vec::new(), Vec::new());
    for check in checks {
        let tree = match check {
            Ok(text) => crawl::crawl(serve(text)),
            Err(why) => Err((*why).to_owned()),
        };
        let tree = tree.as_ref().map_err(String::as_str);
        let (report, after) = judge(&context, &config, tree, &mut seen, &memory);
        memory = after;
        seen = SeenEntries::restore(Some(&seen.save()));
        events.extend(report.events.into_iter().map(|event| event.name));
        let all = report.states.into_iter();
        states = all.map(|state| (state.health, state.reason)).collect();
    }
    (states, events)
}

#[test]
fn trees_of_several_makers() {
    for (config, tree, health, reason) in [
        (
            "{}",
            HGX,
            State::Unhealthy,
            "GPU Processor (GPU_SXM_5, H100 80GB HBM3, serial SN0000000005) is Critical",
        ),
        (
            "{}",
            IDRAC,
            State::Degraded,
            "power supply PS2 Status (PSU.Slot.2, PWR SPLY,1400W, serial SN0000000002) is Critical; redundancy System Board PS Redundancy is in the state Warning",
        ),
        ("{}", ILO, State::Healthy, "5 parts, none in trouble"),
        (
            r#"{"expected_fans":2,"expected_memory_modules":1}"#,
            ILO,
            State::Degraded,
            "1 of 2 parts of the kind fan are there",
        ),
        (
            r#"{"ignored_parts":["PS2*","*Redundancy"]}"#,
            IDRAC,
            State::Degraded,
            "Computer System Chassis (System.Embedded.1) reports Critical, but none of its parts does",
        ),
        (
            r#"{"expected_gpus":8}"#,
            ILO,
            State::Degraded,
            "0 of 8 parts of the kind GPU are there",
        ),
    ] {
        let (states, _) = run(config, &[Ok(tree)]);
        assert_eq!(states, [(health, reason.to_owned())]);
    }
}

#[test]
fn a_leak_has_a_state_of_its_own() {
    let (states, events) = run(r#"{"expected_leak_detectors":2}"#, &[Ok(LEAK)]);
    assert_eq!(
        states,
        [
            (State::Healthy, "4 parts, none in trouble".to_owned()),
            (
                State::Unhealthy,
                "Cold plate leak rope (2) reports a leak of coolant".to_owned()
            ),
        ]
    );
    assert_eq!(events, ["redfish_coolant_leak"]);
    let (states, _) = run("{}", &[Ok(LEAK), Err("no answer")]);
    assert_eq!(states[0].0, State::Unhealthy);
}

#[test]
fn what_is_not_known_is_not_over() {
    let (states, events) = run("{}", &[Ok(IDRAC), Err("no answer"), Ok(IDRAC)]);
    assert_eq!(states[0].0, State::Degraded);
    assert_eq!(
        events,
        [
            "redfish_part_critical",
            "redfish_part_warning",
            "redfish_unreadable",
            "redfish_unreadable_cleared"
        ]
    );
    // One document that cannot be read hides no other, and what it had is not over.
    let without = IDRAC.replace(
        "\"/redfish/v1/Chassis/System.Embedded.1/Power\": ",
        "\"/elsewhere\": ",
    );
    let (states, events) = run("{}", &[Ok(IDRAC), Ok(&without)]);
    assert!(
        states[0].1.contains(
            "1 resource cannot be read (/redfish/v1/Chassis/System.Embedded.1/Power gave HTTP 404)"
        ),
        "{states:?}"
    );
    assert!(
        !events.iter().any(|event| event.ends_with("_cleared")),
        "{events:?}"
    );
    // A link that always led nowhere is no trouble.
    let (states, _) = run("{}", &[Ok(&without)]);
    assert!(!states[0].1.contains("HTTP 404"), "{states:?}");
}

#[test]
fn news_of_the_log() {
    let quiet = HGX.replace("\"Severity\":\"Critical\"", "\"Severity\":\"OK\"");
    assert!(!run("{}", &[Ok(HGX)]).1.contains(&"redfish_log".to_owned()));
    let (_, events) = run("{}", &[Ok(&quiet), Ok(HGX), Ok(HGX)]);
    assert_eq!(
        events
            .iter()
            .filter(|event| *event == "redfish_log")
            .count(),
        1
    );
}
