//! Stories of lines, reboots and set-healthy, with health, reason and actions after every step.

use gpud_sdk::Health;
use gpud_sdk::catalog::repair_action;
use gpud_sdk::nvml::Library;
use gpud_sdk::testing::story::{Step, Story};

use super::*;
use crate::config;
use Step::{Line, Reboot, SetHealthy, Wait};

const REBOOT: &str = "REBOOT_SYSTEM";
const INSPECT: &str = "HARDWARE_INSPECTION";

const FAULT: Step =
    Line("nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up");
const FAULT_SAYS: &str = "SXID 20034(LTSSM Fault Up) detected on PCI:0000:c4:00.0";
const OTHER: Step = Line(
    "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 14 egress non-posted PRIV error",
);
const OTHER_SAYS: &str = "SXID 12028(egress nonposted PRIV error) detected on PCI:0000:86:00.0";
const REPLAY: Step =
    Line("nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20001, Non-fatal, Link 14 TX Replay Error");
const REPLAY_SAYS: &str = "SXID 20001(TX Replay Error) detected on PCI:0000:86:00.0";
const NEW: Step =
    Line("nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 28006, Fatal, Link 14 something new");

/// Health, reason (empty: nothing to report) and action after a step.
type After = (Health, &'static str, &'static str);

const FINE: After = (Health::Healthy, "", "");

fn bad(reason: &'static str, action: &'static str) -> After {
    (Health::Unhealthy, reason, action)
}

fn harmless(reason: &'static str) -> After {
    (Health::Healthy, reason, "")
}

fn tell(document: &str, steps: &[(Step, After)]) {
    let config = config::read(document).unwrap();
    let driver = || Driver {
        library: Library::Loaded,
        product: Ok("NVIDIA H100 80GB HBM3".into()),
    };
    let mut story = Story::default();
    for (number, (step, (health, reason, action))) in steps.iter().enumerate() {
        story.step(*step, |context, messages| {
            events(context, &config, messages).unwrap()
        });
        let since = config.since(story.context().now);
        let (events, reboots) = (story.events(since), story.reboots(since));
        let report = check(&config, &events, Ok(reboots), || false, driver);
        let state = &report.states[0];
        let actions = state.suggested_actions.as_ref();
        let actions = actions.map_or(Vec::new(), |actions| actions.repair_actions.clone());
        let expected = (!action.is_empty()).then(|| repair_action(action));
        let reason = match *reason {
            "" => "SXIDComponent is healthy",
            reason => reason,
        };
        assert_eq!(
            (&state.health, state.reason.as_str(), actions),
            (health, reason, expected.into_iter().collect::<Vec<_>>()),
            "step {number}, {step:?}"
        );
    }
}

#[test]
fn a_code_that_comes_back_after_two_reboots_asks_for_an_inspection() {
    tell(
        "{}",
        &[
            (Reboot, FINE),
            (Reboot, FINE),
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
            (FAULT, bad(FAULT_SAYS, INSPECT)),
            (Reboot, bad(FAULT_SAYS, INSPECT)),
            (SetHealthy, FINE),
            (FAULT, bad(FAULT_SAYS, REBOOT)),
        ],
    );
    tell(
        "{}",
        &[
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
            (Reboot, FINE),
            (FAULT, bad(FAULT_SAYS, INSPECT)),
            // Another code is another count; it hides the inspection, and a reboot clears it.
            (OTHER, bad(OTHER_SAYS, REBOOT)),
            (Reboot, FINE),
        ],
    );
}

#[test]
fn a_warning_stays_healthy_with_a_reason_that_no_reboot_takes_away() {
    tell(
        "{}",
        &[
            (REPLAY, harmless(REPLAY_SAYS)),
            (Reboot, harmless(REPLAY_SAYS)),
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (REPLAY, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
        ],
    );
    let new = harmless("SXID 28006 detected on PCI:0000:86:00.0");
    tell(
        "{}",
        &[(NEW, new.clone()), (Reboot, new), (SetHealthy, FINE)],
    );
}

#[test]
fn what_left_the_window_does_not_count() {
    tell(
        r#"{"lookback_seconds":60}"#,
        &[
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
            (Reboot, FINE),
            (Wait(50), FINE),
            (FAULT, bad(FAULT_SAYS, INSPECT)),
            (Wait(8), bad(FAULT_SAYS, REBOOT)),
            (Wait(60), FINE),
        ],
    );
}

#[test]
fn a_policy_takes_effect_on_what_was_stored() {
    let policy = |entry: &str| format!(r#"{{"policy":{{{entry}}}}}"#);
    tell(
        &policy(r#""20034":{"severity":"critical","actions":["HARDWARE_INSPECTION"]}"#),
        &[
            (
                FAULT,
                (
                    Health::Degraded,
                    "SXID 20034(LTSSM Fault Up) detected on PCI:0000:c4:00.0 (site policy)",
                    INSPECT,
                ),
            ),
            (OTHER, bad(OTHER_SAYS, REBOOT)),
        ],
    );
    tell(
        &policy(r#""20034":{"severity":"ignore"}"#),
        &[(FAULT, harmless("SXIDComponent is healthy (site policy)"))],
    );
    tell(
        &policy(r#""20034":{"reboot_threshold":1}"#),
        &[
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
            (
                FAULT,
                bad(
                    "SXID 20034(LTSSM Fault Up) detected on PCI:0000:c4:00.0 (site policy)",
                    INSPECT,
                ),
            ),
        ],
    );
    tell(
        &policy(r#""28006":{"severity":"fatal","actions":["REBOOT_SYSTEM"],"unlisted":true}"#),
        &[
            (
                NEW,
                bad(
                    "SXID 28006 detected on PCI:0000:86:00.0 (site policy)",
                    REBOOT,
                ),
            ),
            // Without the policy it would still be the reason.
            (Reboot, harmless("SXIDComponent is healthy (site policy)")),
        ],
    );
}

#[test]
fn the_vendor_s_view_judges_what_was_stored() {
    let nvidia = r#"{"xid_catalog":"nvidia"}"#;
    let ignore = (Health::Healthy, REPLAY_SAYS, "IGNORE_NO_ACTION_REQUIRED");
    tell(
        nvidia,
        &[
            (REPLAY, ignore.clone()),
            (Reboot, ignore),
            (FAULT, bad(FAULT_SAYS, REBOOT)),
            (Reboot, FINE),
        ],
    );
}
