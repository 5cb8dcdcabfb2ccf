//! Tests what a policy may contain, which documents are refused and how, and the effect on events.

use proptest::prelude::*;
use serde_json::json;

use super::document::cut;
use super::*;
use crate::catalog::WINDOW_SECONDS;
use crate::catalog::tests::{CATALOG, FOUND, LOST};
use crate::{EventType, Health, RepairAction, Trigger};

const NOW: u64 = 2_000_000_000;

fn read(text: &str) -> Result<Policy, String> {
    alone(&format!("{{\"policy\":{text}}}"), &CATALOG)
}

fn context() -> CheckContext {
    CheckContext {
        component: "x".to_owned(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b".to_owned(),
        boot_time: NOW - 1_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn stored(name: &str, device: &str, ago_seconds: u64, count: u64) -> StoredEvent {
    let time = NOW - ago_seconds * 1000;
    let mut event = Event::new(time, name, EventType::Fatal, format!("{name} on {device}"));
    event.extra_info = vec![("device".to_owned(), device.to_owned())];
    StoredEvent {
        event,
        count,
        last_time: time,
    }
}

/// Health, reason, actions.
type Words = (Health, String, Vec<RepairAction>);

fn words(state: &HealthState) -> Words {
    let actions = state.suggested_actions.as_ref();
    let actions = actions.map_or_else(Vec::new, |actions| actions.repair_actions.clone());
    (state.health.clone(), state.reason.clone(), actions)
}

#[test]
fn a_document_is_cut_in_two() {
    for (document, expected) in [
        ("{}", None),
        (r#"{"a":1}"#, None),
        (r#"{"a":"policy"}"#, None),
        (r#"{"a":{"policy":1}}"#, None),
        (r#"{"policy":{}}"#, Some(("{}", "{}"))),
        (
            r#" { "policy" : {"a":[1,{"b":"},"}]} } "#,
            Some(("{} ", r#" {"a":[1,{"b":"},"}]} "#)),
        ),
        (
            r#"{"a":1,"policy":2,"b":"\"}"}"#,
            Some((r#"{"a":1,"b":"\"}"}"#, "2")),
        ),
        (r#"{"policy":1}x"#, Some(("{}x", "1"))),
        (r#"{"policy":1"#, None),
        (r#"["policy"]"#, None),
    ] {
        let found = cut(document);
        let found = found
            .as_ref()
            .map(|(rest, policy)| (rest.as_str(), *policy));
        assert_eq!(found, expected, "{document}");
    }
}

#[test]
fn mistakes_are_named_with_place_and_what_is_allowed() {
    let fields = "severity, actions, threshold, window_seconds";
    for (text, expected) in [
        ("[]", "policy is no object of events".to_owned()),
        (r#"{"gone":{"severity":"info"}}"#, r#"policy["gone"] names no event of this component; there are: lost, found"#.to_owned()),
        (r#"{"lost":{}}"#, format!(r#"policy["lost"] says nothing; allowed in it: {fields}"#)),
        (r#"{"lost":"ignore"}"#, format!(r#"policy["lost"] is no object; allowed in it: {fields}"#)),
        (r#"{"lost":{"colour":1}}"#, format!(r#"policy["lost"].colour is not known; allowed: {fields}"#)),
        (r#"{"lost":{"severity":"Fatal"}}"#, r#"policy["lost"].severity is "Fatal", which is none of info, warning, critical, fatal, ignore"#.to_owned()),
        (r#"{"lost":{"threshold":0}}"#, r#"policy["lost"].threshold is 0, not a number from 1"#.to_owned()),
        (r#"{"lost":{"window_seconds":1209601}}"#, r#"policy["lost"].window_seconds is 1209601, not a number from 1 to 1209600"#.to_owned()),
        (r#"{"lost":{"actions":["REBOOT"]},"found":{"threshold":"2"}}"#, r#"policy["found"].threshold is "2", not a number from 1; policy["lost"].actions has "REBOOT", which is none of IGNORE_NO_ACTION_REQUIRED, REBOOT_SYSTEM, HARDWARE_INSPECTION, CHECK_USER_APP_AND_GPU"#.to_owned()),
    ] {
        assert_eq!(read(text), Err(format!("configuration: {expected}")), "{text}");
    }
    assert!(read("1x").is_err());
    let many: Vec<String> = (0..50).map(|event| format!(r#""x{event}":1"#)).collect();
    let error = read(&format!("{{{}}}", many.join(","))).unwrap_err();
    assert!(error.ends_with("; and 42 more"), "{error}");
    // The rest of the configuration is read by whom it belongs to.
    let document = r#"{"a":1,"policy":{"lost":{"severity":"info"}}}"#;
    let (rest, policy) = settings(document, &CATALOG, |rest| Ok(rest.to_owned())).unwrap();
    assert_eq!(
        (rest.as_str(), policy.names("lost"), policy.names("found")),
        (r#"{"a":1}"#, true, false)
    );
    let refused = settings(document, &CATALOG, |_| Err::<(), _>("no".to_owned()));
    assert_eq!(refused.unwrap_err(), "no");
}

#[test]
fn the_schema_goes_into_the_properties() {
    for (of, others) in [
        (NOTHING_ELSE, 0),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}"#,
            1,
        ),
        ("{\"properties\": {\n  \"a\": {}\n}}", 1),
    ] {
        let schema: Value = serde_json::from_str(&schema(of, &CATALOG)).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), others + 1, "{of}");
        let entries = &properties["policy"]["patternProperties"]["^(lost|found)$"]["properties"];
        let keys: Vec<&String> = entries.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["actions", "severity", "threshold", "window_seconds"]);
        assert_eq!(entries["severity"]["enum"][4], "ignore");
    }
    assert_eq!(schema("{}", &CATALOG), "{}");
}

#[test]
fn rules_are_changed_and_the_reason_says_so() {
    // As a checker may have it: a second, worse rule for more of the same.
    let worse = Rule {
        at_least: 9,
        ..LOST.rule()
    };
    let rules = [
        worse,
        Rule {
            health: Health::Degraded,
            ..LOST.rule()
        },
    ];
    let events = [stored("found", "b", 5, 1), stored("lost", "a", 10, 2)];
    let judged = |policy: &str| {
        let policy = read(policy).unwrap();
        let state = policy.state(&rules, |rules| {
            let open = incidents::open(rules, &events, &[], NOW);
            incidents::state(&context(), "well", &open, |open| {
                open.newest.event.message.clone()
            })
        });
        words(&state)
    };
    use RepairAction::{HardwareInspection, RebootSystem};
    let degraded = |reason: &str| (Health::Degraded, reason.to_owned(), vec![RebootSystem]);
    for (policy, expected) in [
        ("{}", degraded("lost on a")),
        // As the catalogue has it: nothing to say.
        (r#"{"lost":{"window_seconds":60}}"#, degraded("lost on a")),
        (r#"{"lost":{"severity":"critical"}}"#, degraded("lost on a")),
        (
            r#"{"lost":{"severity":"fatal"}}"#,
            (
                Health::Unhealthy,
                "lost on a (site policy)".into(),
                vec![RebootSystem],
            ),
        ),
        (
            r#"{"lost":{"severity":"warning"}}"#,
            (
                Health::Healthy,
                "lost on a (site policy)".into(),
                vec![RebootSystem],
            ),
        ),
        (
            r#"{"lost":{"severity":"ignore"}}"#,
            (Health::Healthy, "well (site policy)".into(), vec![]),
        ),
        (
            r#"{"lost":{"threshold":3}}"#,
            (Health::Healthy, "well (site policy)".into(), vec![]),
        ),
        (
            r#"{"lost":{"window_seconds":9}}"#,
            (Health::Healthy, "well (site policy)".into(), vec![]),
        ),
        (
            r#"{"lost":{"actions":["HARDWARE_INSPECTION","REBOOT_SYSTEM"]}}"#,
            (
                Health::Degraded,
                "lost on a (site policy)".into(),
                vec![HardwareInspection],
            ),
        ),
        (
            r#"{"lost":{"actions":[]}}"#,
            (Health::Degraded, "lost on a (site policy)".into(), vec![]),
        ),
        // An event that makes no state by itself.
        (
            r#"{"lost":{"severity":"ignore"},"found":{"severity":"critical","actions":["REBOOT_SYSTEM"]}}"#,
            (
                Health::Degraded,
                "found on b (site policy)".into(),
                vec![RebootSystem],
            ),
        ),
    ] {
        assert_eq!(judged(policy), expected, "{policy}");
    }
}

/// A checker that has a verdict of its own for `lost`, and one for what is no event.
fn own(broken: bool) -> impl Fn(&[StoredEvent]) -> Report {
    move |events| {
        let lost = events.iter().any(|stored| stored.event.name == "lost");
        let state = match (lost, broken) {
            (false, false) => HealthState::healthy(&context(), "ok"),
            (false, true) => {
                HealthState::degraded(&context(), "slow").clears_by(Recovery::NextGoodReading)
            }
            (true, _) => {
                HealthState::unhealthy(&context(), "lost").action(RepairAction::RebootSystem, "")
            }
        };
        Report {
            supported: lost,
            ..Report::of(state).gauge("events", events.len() as f64)
        }
    }
}

#[test]
fn events_are_judged_by_the_policy_alone() {
    let events = [
        stored("found", "b", 5, 1),
        stored("lost", "a", 10, 2),
        stored("lost", "b", 20, 1),
    ];
    use RepairAction::{HardwareInspection, RebootSystem};
    for (policy, broken, expected) in [
        (
            "{}",
            false,
            (Health::Unhealthy, "lost".to_owned(), vec![RebootSystem]),
        ),
        (
            r#"{"lost":{"severity":"ignore"}}"#,
            false,
            (Health::Healthy, "ok (site policy)".into(), vec![]),
        ),
        (
            r#"{"lost":{"severity":"ignore"}}"#,
            true,
            (Health::Degraded, "slow (site policy)".into(), vec![]),
        ),
        (
            r#"{"lost":{"severity":"critical"}}"#,
            false,
            (
                Health::Degraded,
                "lost on a (2 times) (site policy)".into(),
                vec![RebootSystem],
            ),
        ),
        (
            r#"{"lost":{"severity":"fatal","actions":["HARDWARE_INSPECTION"]}}"#,
            true,
            (
                Health::Unhealthy,
                "slow; lost on a (2 times) (site policy)".into(),
                vec![HardwareInspection],
            ),
        ),
        (
            r#"{"lost":{"threshold":3}}"#,
            false,
            (Health::Healthy, "ok (site policy)".into(), vec![]),
        ),
        (
            r#"{"found":{"severity":"fatal","actions":["HARDWARE_INSPECTION"]}}"#,
            true,
            (
                Health::Unhealthy,
                "lost; found on b (site policy)".into(),
                vec![RebootSystem, HardwareInspection],
            ),
        ),
    ] {
        let policy_read = read(policy).unwrap();
        let report = policy_read
            .judge(&context(), &events, || Ok(Vec::new()), own(broken))
            .unwrap();
        assert_eq!(words(&report.states[0]), expected, "{policy}");
        // Whatever the policy says of them, they are there.
        assert!(
            report.supported && report.metrics[0].value == 3.0,
            "{policy}"
        );
    }
}

#[test]
fn boots_are_asked_for_only_where_events_count() {
    let events = [stored("found", "b", 5, 1), stored("lost", "a", 10, 2)];
    let policy = read(r#"{"found":{"severity":"fatal"}}"#).unwrap();
    let report = policy
        .judge(&context(), &events[1..], || unreachable!(), own(false))
        .unwrap();
    assert_eq!(report.states[0].reason, "lost");
    let failed = policy.judge(
        &context(),
        &events,
        || Err(AccessError::Other("x".into())),
        own(false),
    );
    assert!(failed.is_err());
}

#[test]
fn devices_are_distinguished_by_the_catalogue_s_fact_or_the_subject() {
    static BY_PLACE: Catalog = Catalog {
        device: "place",
        ..CATALOG
    };
    let policy = alone(r#"{"policy":{"lost":{"severity":"fatal"}}}"#, &BY_PLACE).unwrap();
    let mut events = vec![
        stored("lost", "x", 5, 1),
        stored("lost", "x", 6, 1),
        stored("lost", "", 7, 1),
    ];
    for (stored, place) in events.iter_mut().zip(["a", "b"]) {
        stored
            .event
            .extra_info
            .push(("place".to_owned(), place.to_owned()));
    }
    events[2].event.subject = Some(Subject::Other(("slot".to_owned(), "a".to_owned())));
    let past = PolicyInput {
        events,
        boots: Vec::new(),
        set_healthy: false,
    };
    let report = Report::of(HealthState::healthy(&context(), "ok"));
    let added = policy.add(&context(), Some(&past), report.clone());
    // Two of them on one device, which is what it takes.
    let state = &added.states[0];
    assert_eq!(state.reason, "lost on x (2 times) (site policy)");
    assert_eq!(state.health, Health::Unhealthy);
    assert!(
        !state.recovery.contains(&Recovery::SetHealthy)
            && state.recovery.contains(&Recovery::Reboot)
    );
    for nothing in [None, Some(&PolicyInput::default())] {
        assert_eq!(policy.add(&context(), nothing, report.clone()), report);
    }
}

#[test]
fn an_entry_without_a_verdict_is_news_until_a_severity_is_given() {
    let rule = FOUND.rule();
    assert_eq!(
        (rule.health, rule.remember_ms),
        (Health::Healthy, WINDOW_SECONDS * 1000)
    );
    let policy =
        read(r#"{"found":{"severity":"fatal","threshold":2,"window_seconds":30}}"#).unwrap();
    let [rule] = &policy.rules(&[])[..] else {
        panic!("one rule");
    };
    assert_eq!(
        (&rule.health, rule.at_least, rule.remember_ms),
        (&Health::Unhealthy, 2, 30_000)
    );
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\{}\\[\\],: é]{0,8}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec!["policy", "a", "po\"licy", "{", "\\"]);
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop::sample::select(vec!["policy", "a", "b,", "\\\""]);
        let members = prop::collection::vec((key, inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    });
    prop::collection::vec((key, value), 0..5).prop_map(|members| {
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn both_parts_are_what_the_document_has(document in document(), pretty in any::<bool>()) {
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let mut left = document.clone();
        let policy = left.as_object_mut().and_then(|members| members.remove("policy"));
        match cut(&text) {
            None => prop_assert_eq!(policy, None),
            Some((rest, cut)) => {
                prop_assert_eq!(serde_json::from_str::<Value>(&rest).unwrap(), left);
                prop_assert_eq!(Some(serde_json::from_str::<Value>(cut).unwrap()), policy);
            }
        }
    }

    #[test]
    fn any_text_is_survived(text in "[{}\\[\\]\",:\\\\ policy]{0,60}") {
        let _ = settings(&text, &CATALOG, |rest| Ok(rest.to_owned()));
    }

    #[test]
    fn any_policy_is_read_or_refused(document in document()) {
        let _ = alone(&json!({ "policy": document }).to_string(), &CATALOG);
    }
}
