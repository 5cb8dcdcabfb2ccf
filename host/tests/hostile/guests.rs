//! Every guest of `tests/hostile/examples`: its outcome, in the exact words that its state or the operator gets.

use std::{collections::BTreeSet, fs};

use gpud::{
    node::kmsg::KernelMessage,
    runtime::{Blame, CallError, Limits},
};
use serde_json::json;

use crate::lab::{self, Lab, NOW, Wrong};
use Outcome::{CheckFails, Fine, MessagesFail, NotLoaded, PatternsFail};

/// The outcome of a guest.
enum Outcome {
    /// It reports this.
    Fine(&'static str),
    /// It is refused at load.
    NotLoaded(&'static str),
    /// Its check is ended or its report refused, and it is to blame.
    CheckFails(&'static str),
    /// It fails on kernel messages, and is to blame.
    MessagesFail(&'static str),
    /// It has no usable patterns, and is to blame.
    PatternsFail(&'static str),
}

struct Case {
    guest: &'static str,
    component: &'static str,
    limits: fn() -> Limits,
    outcome: Outcome,
}

const fn case(guest: &'static str, component: &'static str, outcome: Outcome) -> Case {
    Case {
        guest,
        component,
        limits: lab::limits,
        outcome,
    }
}

/// For guests that only end at their deadline.
const fn endless(guest: &'static str, component: &'static str, outcome: Outcome) -> Case {
    Case {
        guest,
        component,
        limits: lab::short,
        outcome,
    }
}

fn roomy() -> Limits {
    Limits {
        memory_bytes: 64 << 20,
        ..lab::limits()
    }
}

const CASES: &[Case] = &[
    case("well_behaved", "well-behaved", Fine("all well")),
    case("takes_config", "takes-config", Fine("{}")),
    case("not_here", "not-here", Fine("no fans")),
    endless(
        "loop_forever",
        "loop-forever",
        CheckFails("did not finish within 300 ms"),
    ),
    endless(
        "loop_in_describe",
        "",
        NotLoaded("loop_in_describe: failed to describe itself: did not finish within 300 ms"),
    ),
    case(
        "allocate_forever",
        "allocate-forever",
        CheckFails("wanted 8…"),
    ),
    case(
        "recurse",
        "recurse",
        CheckFails("trapped: wasm trap: out of bounds memory access, in …"),
    ),
    case(
        "trap",
        "trap",
        CheckFails("trapped: unreachable code reached (a panic; its message is in the log)"),
    ),
    case(
        "family",
        "spoils",
        CheckFails("trapped: unreachable code reached (a panic; its message is in the log)"),
    ),
    case("family", "innocent", Fine("all well")),
    Case {
        guest: "huge_report",
        component: "huge-report",
        limits: roomy,
        outcome: CheckFails(
            "trapped: too much data is being copied between the host and the guest: fuel allocated for hostcalls has been exhausted",
        ),
    },
    case(
        "many_states",
        "many-states",
        CheckFails("returned an unusable answer: 300 states, more than 256"),
    ),
    case("log_flood", "log-flood", Fine("said it all")),
    case("log_flood", "log-flood/long", Fine("said it all")),
    case(
        "million_host_calls",
        "million-host-calls",
        CheckFails("failed: sysfs.read: this call has used up its host calls"),
    ),
    endless(
        "million_host_calls",
        "million-host-calls/stubborn",
        CheckFails("did not finish within 300 ms"),
    ),
    endless(
        "sleep_in_host_call",
        "sleep-in-host-call",
        CheckFails("did not finish within 300 ms"),
    ),
    case(
        "future_times",
        "future-times",
        CheckFails(
            "returned an unusable answer: state 0: time 1700003600000 is in the future (now is 1700000000000)",
        ),
    ),
    case(
        "future_times",
        "future-times/event",
        CheckFails(
            "returned an unusable answer: event 0: time 18446744073709551615 is in the future (now is 1700000000000)",
        ),
    ),
    case(
        "bad_metric",
        "bad-metric",
        CheckFails(
            "returned an unusable answer: metric 1: temperature_celsius: value NaN is not finite",
        ),
    ),
    case(
        "bad_metric",
        "bad-metric/name",
        CheckFails(
            "returned an unusable answer: metric 0: name \"up{} 1\\nforged\" is not a Prometheus name",
        ),
    ),
    case(
        "duplicate_names",
        "",
        NotLoaded("duplicate_names: its description: component `twin` appears twice"),
    ),
    case(
        "no_components",
        "",
        NotLoaded("no_components: its description: no components"),
    ),
    case(
        "bad_name",
        "",
        NotLoaded(
            "bad_name: its description: component 0: name \"Bad Name\\n/../\" is not 1 to 128 of a-z 0-9 - . _ /",
        ),
    ),
    case(
        "imports_exec",
        "",
        NotLoaded(
            "imports_exec: imports `exec` and `sysfs` without a grant; add under `grants:` \
             `exec: [\"/path/of/program\"]   # or: exec: bash`, `sysfs: [\"/sys/class/…/**\"]`",
        ),
    ),
    case(
        "describe_reaches_out",
        "describe-reaches-out",
        Fine("all well"),
    ),
    case(
        "events_flood",
        "events-flood",
        CheckFails("returned an unusable answer: 2000 events, more than 1024"),
    ),
    case("state_hog", "state-hog", Fine("no more room")),
    case("state_hog", "state-hog/slow", Fine("took some more")),
    case(
        "state_then_trap",
        "state-then-trap",
        CheckFails("trapped: unreachable code reached (a panic; its message is in the log)"),
    ),
    case("panics_on_messages", "panics-on-messages", Fine("all well")),
    case(
        "panics_on_messages",
        "panics-on-messages",
        MessagesFail("trapped: unreachable code reached (a panic; its message is in the log)"),
    ),
    case(
        "panics_on_messages",
        "panics-on-messages/flood",
        MessagesFail("returned an unusable answer: 2000 events, more than 1024"),
    ),
    case(
        "panics_on_messages",
        "panics-on-messages/patterns",
        PatternsFail("returned an unusable answer: 10000 patterns, more than 64"),
    ),
    case("latches", "latches", Fine("never mind")),
    case(
        "sets_environment",
        "sets-environment",
        Fine("denied; denied; denied; denied; denied; ran; ran"),
    ),
    case(
        "reads_secrets",
        "reads-secrets",
        Fine("reached [], well false"),
    ),
    case("counts_messages", "counts-messages", Fine("all well")),
    case("drops_messages", "drops-messages", Fine("all well")),
    case(
        "drops_messages",
        "drops-messages",
        MessagesFail("trapped: unreachable code reached (a panic; its message is in the log)"),
    ),
];

#[test]
fn every_guest_has_a_case() {
    let folder = lab::workspace().join("tests/hostile/examples");
    let sources: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let cases: BTreeSet<String> = CASES.iter().map(|case| case.guest.to_owned()).collect();
    assert_eq!(sources, cases);
}

#[tokio::test]
async fn each_is_contained_and_named_and_its_neighbour_unharmed() {
    let lab = lab::shared().await;
    let mut wrong = Wrong::default();
    for case in CASES {
        run(&lab, case, &mut wrong).await;
    }
    wrong.assert_none();
}

async fn run<Turn>(lab: &Lab<Turn>, case: &Case, wrong: &mut Wrong) {
    let Case {
        guest,
        component,
        limits,
        outcome,
    } = case;
    if let NotLoaded(expected) = outcome {
        let granted = if *guest == "imports_exec" {
            json!({})
        } else {
            lab::grants()
        };
        let refusal = lab
            .refusal(guest, lab::guest(guest), &granted, limits())
            .await;
        wrong.note(guest, &refusal, expected);
        return;
    }
    let plugin = lab.guest(guest, limits()).await;
    let call_context = lab::call_context(component);
    let context = lab::context(component, gpud::model::Trigger::Manual);
    let (answer, expected) = match outcome {
        Fine(expected) => {
            let finished = lab
                .beside_neighbour(plugin.check(&call_context, &context))
                .await;
            match lab::reason(&finished) {
                Ok(reason) => wrong.note(component, reason, expected),
                Err(error) => wrong.note(component, &error.to_string(), expected),
            }
            return;
        }
        NotLoaded(_) => return,
        CheckFails(expected) => {
            let finished = lab
                .beside_neighbour(plugin.check(&call_context, &context))
                .await;
            assert!(
                finished.state_writes.is_empty(),
                "{component}: writes of a failed call"
            );
            (finished.answer.map(drop), expected)
        }
        MessagesFail(expected) => {
            let messages = [message()];
            let call = plugin.on_messages(&call_context, &context, messages.iter());
            let finished = lab.beside_neighbour(call).await;
            (finished.answer.map(drop), expected)
        }
        PatternsFail(expected) => {
            let finished = lab.beside_neighbour(plugin.patterns(&call_context)).await;
            (finished.answer.map(drop), expected)
        }
    };
    let error: CallError = answer.expect_err(component);
    wrong.note(component, &error.to_string(), expected);
    assert_eq!(error.blame(), Blame::Plugin, "{component}: {error}");
}

fn message() -> KernelMessage {
    KernelMessage {
        sequence: 1,
        time: NOW,
        monotonic_micros: 1,
        level: 3,
        facility: 1,
        text: "gpud-hostile: something happened".to_owned(),
        dictionary: Vec::new(),
        fragment: false,
    }
}

/// What a guest says with these grants.
async fn said_with(guest: &str, component: &str, grants: serde_json::Value) -> String {
    let lab = lab::shared().await;
    let plugin = lab
        .load(guest, lab::guest(guest), &grants, lab::limits())
        .await
        .unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, component)).await;
    lab::reason(&finished).unwrap().to_owned()
}

#[tokio::test]
async fn a_granted_program_is_that_program_and_no_other() {
    let grants = json!({ "exec": {
        "programs": ["/usr/bin/printenv", {"path": "/usr/bin/id", "arguments": [["-u"]]}],
        "env": ["LISTED"],
    }});
    let said = said_with("sets_environment", "sets-environment", grants).await;
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(
        said,
        format!(
            "denied; denied; denied; denied; \
             ran with HOME=/,LANG=C,LC_ALL=C,LISTED=yes,PATH={path}; ran; denied"
        )
    );
}

#[tokio::test]
async fn a_grant_of_all_files_reaches_no_secrets() {
    let grants = json!({ "sysfs": ["/**"] });
    let said = said_with("reads_secrets", "reads-secrets", grants).await;
    assert_eq!(said, "reached [], well true");
}

#[tokio::test]
async fn a_description_can_reach_nothing() {
    let lab = lab::shared().await;
    let plugin = lab.guest("describe_reaches_out", lab::limits()).await;
    let denied = "a plugin that describes itself cannot reach anything: permission denied";
    assert_eq!(
        plugin.components()[0].description,
        format!("sysfs.read: {denied}; exec.run-bash: {denied}; state.set: {denied}")
    );
}

#[tokio::test]
async fn a_call_is_billed_for_what_it_did_and_bounded_in_what_it_got() {
    let lab = lab::shared().await;
    let limits = Limits {
        host_bytes: 100,
        ..lab::limits()
    };
    let plugin = lab.guest("million_host_calls", limits).await;
    let finished = lab::check(&plugin, "million-host-calls").await;
    let error = finished.answer.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed: sysfs.read: this call has used up its bytes"
    );
    // `/proc/uptime` is some 20 bytes, so a hundred were used up in at most 50 calls.
    assert!(
        (2..=50).contains(&finished.bill.host_calls),
        "{:?}",
        finished.bill
    );
    assert!(
        (100..1000).contains(&finished.bill.bytes),
        "{:?}",
        finished.bill
    );

    let plugin = lab.guest("allocate_forever", lab::limits()).await;
    let finished = lab::check(&plugin, "allocate-forever").await;
    let used = finished.bill.memory_high_water;
    assert!((4 << 20..=8 << 20).contains(&used), "{used}");
}

#[tokio::test]
async fn nothing_is_fetched_for_a_call_that_has_used_up_its_bytes() {
    let lab = lab::shared().await;
    let limits = Limits {
        host_bytes: 100,
        ..lab::short()
    };
    let plugin = lab.guest("million_host_calls", limits).await;
    // It goes on asking, whatever it is answered.
    let finished = lab::check(&plugin, "million-host-calls/stubborn").await;
    let bill = finished.bill;
    assert!(bill.host_calls > 100, "{bill:?}");
    assert!((2..=50).contains(&bill.files), "{bill:?}");
    assert!(bill.bytes < 1000, "{bill:?}");
}

#[tokio::test]
async fn log_lines_are_bounded_in_number_and_length_and_cannot_forge_others() {
    let lab = lab::shared().await;
    let plugin = lab.guest("log_flood", lab::limits()).await;
    for (component, expected, dropped) in [
        ("log-flood", 64, Some("dropped=99936")),
        ("log-flood/long", 8, None),
    ] {
        let log = lab::log();
        let finished = lab::check(&plugin, component).await;
        assert_eq!(lab::reason(&finished), Ok("said it all"));
        let lines = log.lines();
        let flood: Vec<_> = lines
            .iter()
            .filter(|line| line.contains("flood "))
            .collect();
        assert_eq!(flood.len(), expected, "{component}");
        assert!(flood.iter().all(|line| line.len() < 5000), "{component}");
        let said: Vec<_> = lines
            .iter()
            .filter(|line| line.contains("dropped"))
            .collect();
        assert_eq!(said.len(), usize::from(dropped.is_some()), "{said:?}");
        assert!(
            said.iter()
                .all(|line| line.contains(dropped.unwrap_or_default())),
            "{said:?}"
        );
        assert_eq!(
            lines.len(),
            flood.len() + said.len(),
            "{component}: nothing else is logged"
        );
    }
}

#[tokio::test]
async fn a_panic_reaches_the_log_with_message_place_and_names_on_one_line() {
    let lab = lab::shared().await;
    let plugin = lab.guest("trap", lab::limits()).await;
    let log = lab::log();
    let finished = lab::check(&plugin, "trap").await;
    assert!(matches!(finished.answer, Err(CallError::Trap(_))));
    let lines = log.lines();
    let line = lines
        .iter()
        .find(|line| line.contains("the fan\\nof trap fell off"))
        .unwrap();
    for part in [
        "ERROR plugin",
        "plugin=\"trap\"",
        "component=\"trap\"",
        "trap.rs:",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}
