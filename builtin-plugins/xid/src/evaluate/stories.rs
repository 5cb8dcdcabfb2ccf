//! Stories of lines, reboots and set-healthy, with health, reason and actions after every step: the statements of the
//! reference on the state machine, one by one.

use gpud_sdk::Health;
use gpud_sdk::nvml::Library;
use gpud_sdk::testing::story::{Step, Story};

use super::*;
use crate::config;
use Step::{Line, Reboot, SetHealthy, Wait};

/// The expected result of a step.
#[derive(Clone, Copy)]
enum After {
    /// Nothing to report.
    Fine,
    /// Healthy with a reason.
    Harmless(&'static str, &'static str),
    /// Unhealthy.
    Bad(&'static str, &'static str),
}
use After::{Bad, Fine, Harmless};

const REBOOT: &str = "REBOOT_SYSTEM";
const INSPECT: &str = "HARDWARE_INSPECTION";
const APP: &str = "CHECK_USER_APP_AND_GPU";
const IGNORE: &str = "IGNORE_NO_ACTION_REQUIRED";

/// The line of a code with its reason; labels and mnemonics by the catalogue of the reference.
const OFF: Step =
    Line("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.");
const OFF_SAYS: &str = "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00";
const OFF_OTHER: Step =
    Line("NVRM: Xid (PCI:0000:5e:00): 79, pid=1, name=x, GPU has fallen off the bus.");
const OFF_OTHER_SAYS: &str = "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:5e:00";
const GSP: Step = Line(
    "NVRM: Xid (PCI:0000:52:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response",
);
const GSP_SAYS: &str = "XID 119 GSP_RPC_TIMEOUT GSP RPC Timeout detected on GPU PCI:0000:52:00";
const APPLICATION: Step = Line("NVRM: Xid (PCI:0000:3b:00): 43, pid=7, name=python3, Ch 00000010");
const APPLICATION_SAYS: &str = "XID 43 ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR GPU stopped processing detected on GPU PCI:0000:3b:00";
const KEY: Step = Line("NVRM: Xid (PCI:0000:e3:00): 151, Key rotation");
const KEY_SAYS: &str =
    "XID 151 ROBUST_CHANNEL_KEY_ROTATION_ERROR Key rotation Error detected on GPU PCI:0000:e3:00";
/// 149 with sub-code 32 and a rule of its own.
const LINK: Step = Line(
    "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 03 (0x020465c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
);
const LINK_SAYS: &str = "XID 149.32 (err status 0x00000000) NVLINK_NETIR_ERROR NVLINK: NETIR Error detected on GPU PCI:0008:01:00";
/// 149 with another sub-code.
const OTHER_LINK: Step = Line(
    "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x00000006 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
);

/// Tells a story; the outcomes are those after each step.
fn tell(document: &str, steps: &[(Step, After)]) {
    let config = config::read(document).unwrap();
    let driver = || Driver {
        library: Library::Loaded,
        product: Ok("NVIDIA H100 80GB HBM3".into()),
    };
    let mut story = Story::default();
    for (number, (step, after)) in steps.iter().enumerate() {
        story.step(*step, |context, messages| {
            events(context, &config, messages, || None, Vec::new).unwrap()
        });
        let since = config.since(story.context().now);
        let report = check(
            &config,
            &story.events(since),
            Ok(story.reboots(since)),
            || false,
            driver,
            Vec::new,
        );
        let (health, reason, action) = match *after {
            Fine => (Health::Healthy, "XIDComponent is healthy", ""),
            Harmless(reason, action) => (Health::Healthy, reason, action),
            Bad(reason, action) => (Health::Unhealthy, reason, action),
        };
        let state = &report.states[0];
        let actions = state.suggested_actions.as_ref();
        let actions = actions.map_or(Vec::new(), |actions| actions.repair_actions.clone());
        let expected = (!action.is_empty()).then(|| gpud_sdk::catalog::repair_action(action));
        assert_eq!(
            (&state.health, state.reason.as_str(), actions),
            (&health, reason, expected.into_iter().collect::<Vec<_>>()),
            "step {number}, {step:?}"
        );
    }
}

#[test]
fn a_code_that_comes_back_after_two_reboots_asks_for_an_inspection() {
    tell(
        "{}",
        &[
            (Reboot, Fine),
            (Reboot, Fine),
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (OFF, Bad(OFF_SAYS, INSPECT)),
            (Reboot, Bad(OFF_SAYS, INSPECT)),
            (Reboot, Bad(OFF_SAYS, INSPECT)),
            (SetHealthy, Fine),
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
        ],
    );
}

#[test]
fn reboots_are_counted_not_pairs_of_error_and_reboot() {
    tell(
        "{}",
        &[
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (Reboot, Fine),
            (OFF, Bad(OFF_SAYS, INSPECT)),
        ],
    );
}

#[test]
fn counting_is_by_code_over_all_gpus_and_sub_codes() {
    tell(
        "{}",
        &[
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (OFF_OTHER, Bad(OFF_OTHER_SAYS, REBOOT)),
            (Reboot, Fine),
            (OFF_OTHER, Bad(OFF_OTHER_SAYS, INSPECT)),
            (GSP, Bad(GSP_SAYS, REBOOT)),
            // A later fatal error hid the inspection, and the reboot clears all.
            (Reboot, Fine),
            (GSP, Bad(GSP_SAYS, REBOOT)),
        ],
    );
}

#[test]
fn what_left_the_window_does_not_count() {
    const DAY: u64 = 86_400;
    tell(
        "{}",
        &[
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (Reboot, Fine),
            (Wait(13 * DAY), Fine),
            (OFF, Bad(OFF_SAYS, INSPECT)),
            (Wait(DAY - 3), Bad(OFF_SAYS, REBOOT)),
            (Wait(13 * DAY - 10), Bad(OFF_SAYS, REBOOT)),
            (Wait(10), Fine),
        ],
    );
    // An event exactly as old as the window is out.
    tell(
        r#"{"lookback_seconds":60}"#,
        &[
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Wait(58), Bad(OFF_SAYS, REBOOT)),
            (Wait(0), Fine),
        ],
    );
}

#[test]
fn harmless_errors_stay_healthy_with_reason_and_action() {
    tell(
        "{}",
        &[
            (APPLICATION, Harmless(APPLICATION_SAYS, APP)),
            (Reboot, Fine),
            // Its first action is a reboot, though it is but a warning.
            (KEY, Harmless(KEY_SAYS, REBOOT)),
            (Reboot, Fine),
            (Reboot, Fine),
            (KEY, Harmless(KEY_SAYS, INSPECT)),
            (Reboot, Harmless(KEY_SAYS, INSPECT)),
            // While a serious error is open, less serious ones are not even counted.
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (APPLICATION, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
        ],
    );
}

#[test]
fn ignore_survives_reboots_and_no_action_keeps_the_last() {
    const PREEMPTED: &str = "XID 45 ROBUST_CHANNEL_PREEMPTIVE_REMOVAL Pre-emptive channel removal after an earlier error detected on GPU PCI:0000:3b:00";
    const RECOVERY: &str = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed";
    let decoded = xid::decode(RECOVERY).unwrap();
    assert!(decoded.actions.is_empty());
    let says = xid::message(154, 0, 0, decoded.label, &decoded.device, None).leak();
    tell(
        "{}",
        &[
            (
                Line("NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=python3, Ch 00000010"),
                Harmless(PREEMPTED, IGNORE),
            ),
            (Reboot, Harmless(PREEMPTED, IGNORE)),
            (Reboot, Harmless(PREEMPTED, IGNORE)),
            (SetHealthy, Fine),
            (Line(RECOVERY), Harmless(says, "")),
            (Reboot, Harmless(says, "")),
            (APPLICATION, Harmless(APPLICATION_SAYS, APP)),
            (Line(RECOVERY), Harmless(says, APP)),
            (Reboot, Fine),
        ],
    );
}

#[test]
fn a_contained_error_never_asks_for_an_inspection() {
    const CONTAINED: Step =
        Line("NVRM: Xid (PCI:0000:c1:00): 94, pid=7741, name=python3.11, Contained: SM (0x1)");
    let decoded = xid::decode("NVRM: Xid (PCI:0000:c1:00): 94, x").unwrap();
    let says: &str = xid::message(94, 0, 0, decoded.label, &decoded.device, None).leak();
    let after = match decoded.severity {
        crate::catalog::Severity::Fatal => Bad(says, REBOOT),
        _ => Harmless(says, REBOOT),
    };
    let mut steps = Vec::new();
    for _ in 0..5 {
        steps.extend([(CONTAINED, after), (Reboot, Fine)]);
    }
    tell("{}", &steps);
}

#[test]
fn a_policy_takes_effect_on_what_was_stored() {
    const MARKED: &str = "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00 (site policy)";
    const WELL: &str = "XIDComponent is healthy (site policy)";
    const LINK_MARKED: &str = "XID 149.32 (err status 0x00000000) NVLINK_NETIR_ERROR NVLINK: NETIR Error detected on GPU PCI:0008:01:00 (site policy)";
    let policy = |entries: &str| format!(r#"{{"policy":{{{entries}}}}}"#);
    tell(
        &policy(r#""79":{"severity":"warning","actions":["CHECK_USER_APP_AND_GPU"]}"#),
        &[(OFF, Harmless(MARKED, APP)), (Reboot, Fine)],
    );
    tell(
        &policy(r#""79":{"severity":"ignore"}"#),
        &[
            (OFF, Harmless(WELL, "")),
            (GSP, Bad(GSP_SAYS, REBOOT)),
            // A verdict that would have been the same without the policy is not marked.
            (Reboot, Fine),
        ],
    );
    tell(
        &policy(r#""79":{"reboot_threshold":1}"#),
        &[
            (OFF, Bad(OFF_SAYS, REBOOT)),
            (Reboot, Fine),
            (OFF, Bad(MARKED, INSPECT)),
            (SetHealthy, Fine),
        ],
    );
    // Sub-code and status; the code's other sub-codes are as ever.
    let Line(text) = OTHER_LINK else {
        unreachable!()
    };
    let other = xid::decode(text).unwrap();
    let says = xid::message(149, other.sub_code, 0, other.label, &other.device, None).leak();
    let first = other.actions.first().map_or("", |action| action.word());
    assert_ne!(other.sub_code, 32);
    for entry in ["149.32", "149.32 (err status 0x00000000)"] {
        tell(
            &policy(&format!(
                r#""{entry}":{{"actions":["HARDWARE_INSPECTION"]}}"#
            )),
            &[
                (LINK, Bad(LINK_MARKED, INSPECT)),
                (SetHealthy, Fine),
                (OTHER_LINK, Bad(says, first)),
            ],
        );
    }
    tell(
        &policy(
            r#""149.32 (err status 0x00000004)":{"actions":["HARDWARE_INSPECTION"],"unlisted":true}"#,
        ),
        &[(LINK, Bad(LINK_SAYS, REBOOT))],
    );
}

#[test]
fn an_error_that_the_catalogue_does_not_have_is_judged_by_the_policy() {
    const NEW: Step = Line("NVRM: Xid (PCI:0000:3b:00): 177, something new");
    const SAYS: &str = "XID 177 detected on GPU PCI:0000:3b:00";
    tell(
        "{}",
        &[(NEW, Harmless(SAYS, "")), (Reboot, Harmless(SAYS, ""))],
    );
    tell(
        r#"{"policy":{"177":{"severity":"fatal","actions":["REBOOT_SYSTEM"],"unlisted":true}}}"#,
        &[
            (
                NEW,
                Bad(
                    "XID 177 detected on GPU PCI:0000:3b:00 (site policy)",
                    REBOOT,
                ),
            ),
            // Without the policy it would still be the reason.
            (
                Reboot,
                Harmless("XIDComponent is healthy (site policy)", ""),
            ),
        ],
    );
}

#[test]
fn programs_see_the_policy_that_was_used() {
    let config =
        config::read(r#"{"policy":{"79":{"severity":"ignore"},"119":{"severity":"info"}}}"#)
            .unwrap();
    let mut story = Story::default();
    story.step(OFF, |context, messages| {
        events(context, &config, messages, || None, Vec::new).unwrap()
    });
    let look = |config: &Config| {
        check(
            config,
            &story.events(0),
            Ok(Vec::new()),
            || false,
            || unreachable!(),
            Vec::new,
        )
    };
    let document = r#"{"policy":{"79":{"severity":"ignore"}}}"#.to_owned();
    let changed = look(&config);
    assert_eq!(
        changed.states[0].extra_info,
        [("data".to_owned(), document)]
    );
    // An Xid is there, though it is ignored.
    assert!(changed.supported);
    let plain = look(&config::read("{}").unwrap());
    let keys = plain.states[0]
        .extra_info
        .iter()
        .map(|(key, _)| key.as_str());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["gpu", "vendor_action", "vendor_action_words", "xid_catalog"]
    );
}

#[test]
fn rows_that_cannot_be_read_are_skipped() {
    let config = config::read("{}").unwrap();
    let mut story = Story::default();
    let store = |context: &CheckContext, messages: &[Message]| {
        events(context, &config, messages, || None, Vec::new).unwrap()
    };
    let damaged = |context: &CheckContext, messages: &[Message]| {
        let mut events = store(context, messages);
        for event in &mut events {
            event.extra_info = vec![("data".into(), "?".into())];
        }
        events
    };
    story.step(APPLICATION, store);
    story.step(OFF, damaged);
    story.step(Reboot, store);
    story.step(APPLICATION, store);
    story.step(GSP, damaged);
    let report = check(
        &config,
        &story.events(0),
        Ok(story.reboots(0)),
        || false,
        || unreachable!(),
        Vec::new,
    );
    // The index of the error that counts is that among all rows.
    assert_eq!(report.states[0].reason, APPLICATION_SAYS);
    assert_eq!(report.states[0].health, Health::Healthy);
}
