use super::*;
use gpud_builtin_nvidia_common::asking;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, NOW, actions, and, context, data, driver, gpu, metrics, only_state, seen,
};
use gpud_sdk::nvml::Library;
use gpud_sdk::policy;
use gpud_sdk::{AccessError, Message};

const FINE: &str = "all 2 GPU(s) were checked, no recovery action needed";

fn line(slot: &str, number: u32, ago: u64) -> StoredEvent {
    let message = Message {
        sequence: ago,
        time: NOW - ago,
        level: 3,
        facility: 0,
        text: format!(
            "NVRM: Xid (PCI:{slot}): 154, GPU recovery action changed from 0x0 (None) to 0x{number:x} (x)"
        ),
        dictionary: None,
    };
    let event = crate::kmsg::event(&context(), &message).unwrap();
    StoredEvent {
        last_time: event.time,
        count: 1,
        event,
    }
}

fn short(report: &Report) -> (Health, String, Vec<RepairAction>) {
    let state = only_state(report);
    (
        state.health.clone(),
        state.reason.clone(),
        actions(report).1.to_vec(),
    )
}

#[test]
fn what_nvml_says() {
    use RepairAction::{CheckUserAppAndGpu, RebootSystem};
    for (number, health, reason, action) in [
        (0, Health::Healthy, FINE.to_owned(), None),
        (
            1,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs a reset"),
            Some(RebootSystem),
        ),
        (
            2,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs a reboot of the machine"),
            Some(RebootSystem),
        ),
        (
            3,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs its peer-to-peer traffic to end"),
            Some(CheckUserAppAndGpu),
        ),
        (
            4,
            Health::Degraded,
            format!("GPU {GPU_1} (0000:1f:00.0) needs a reset when its work is done"),
            Some(RebootSystem),
        ),
        (
            5,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs its IMEX domain to be recovered"),
            Some(CheckUserAppAndGpu),
        ),
        (
            6,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs a reset of its PCIe bus"),
            Some(RebootSystem),
        ),
        (
            7,
            Health::Unhealthy,
            format!("GPU {GPU_1} (0000:1f:00.0) needs a reboot of the whole system"),
            Some(RebootSystem),
        ),
        (
            9,
            Health::Degraded,
            format!("GPU {GPU_1} (0000:1f:00.0) needs an unknown recovery action (9)"),
            None,
        ),
    ] {
        // What the log said before is of no account.
        for events in [vec![], vec![line("0000:1F:00", 2, 5)]] {
            let report = evaluate(&context(), &seen([Some(0), Some(number)]), &events);
            assert_eq!(
                short(&report),
                (
                    health.clone(),
                    reason.clone(),
                    action.iter().cloned().collect()
                )
            );
            assert_eq!(
                metrics(&report),
                [(ACTION, GPU_0, 0.0), (ACTION, GPU_1, f64::from(number))]
            );
            if number > 0 {
                let state = only_state(&report);
                assert_eq!(state.subject, Some(gpu(1).subject()));
                assert_eq!(state.recovery, [Recovery::NextGoodReading]);
                let reading = format!("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION {GPU_1}");
                assert_eq!(state.evidence, [Evidence::Nvml(reading)]);
            }
        }
    }
}

#[test]
fn documents() {
    let report = evaluate(&context(), &seen([Some(4), None]), &[]);
    assert_eq!(
        data(&report),
        format!(
            r#"{{"recovery_actions":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","recovery_action":"Drain and Reset","source":"nvml","supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","recovery_action":"Not Supported","source":"","supported":false}}]}}"#
        )
    );
    let report = evaluate(&context(), &seen([None, None]), &[]);
    let nothing = "recovery action not supported".to_owned();
    assert_eq!(short(&report), (Health::Healthy, nothing, vec![]));
    assert_eq!(metrics(&report), []);
}

#[test]
fn the_log_counts_where_nvml_cannot_tell() {
    let reset = format!("GPU {GPU_1} (0000:1f:00.0) needs a reset");
    let other_boot = {
        let mut stored = line("0000:1f:00", 1, 5);
        stored.event.extra_info.retain(|(key, _)| key != "boot_id");
        stored
            .event
            .extra_info
            .push(("boot_id".into(), "b-other".into()));
        stored
    };
    for (what, events, reason) in [
        ("it wants", vec![line("0000:1f:00", 1, 5)], Some(&reset)),
        (
            "newest first",
            vec![line("0000:1f:00", 1, 5), line("0000:1f:00", 2, 9)],
            Some(&reset),
        ),
        (
            "no longer",
            vec![line("0000:1f:00", 0, 5), line("0000:1f:00", 1, 9)],
            None,
        ),
        ("another boot", vec![other_boot], None),
        ("set healthy", vec![], None),
    ] {
        let report = evaluate(&context(), &seen([Some(0), None]), &events);
        let state = only_state(&report);
        match reason {
            Some(reason) => {
                assert_eq!(&state.reason, reason, "{what}");
                assert_eq!(state.evidence, [Evidence::Kmsg(5)]);
                assert_eq!(
                    state.recovery,
                    [
                        Recovery::NextGoodReading,
                        Recovery::Reboot,
                        Recovery::SetHealthy
                    ]
                );
                assert!(data(&report).contains(r#""source":"kernel log""#));
            }
            None => assert_eq!(state.reason, FINE, "{what}"),
        }
    }
}

#[test]
fn a_gpu_that_is_lost_and_one_that_nvml_never_saw() {
    let gone = and(seen([Some(0)]), AccessError::SourceLost("x".into()));
    let report = evaluate(&context(), &gone, &[line("0000:1f:00", 2, 5)]);
    assert_eq!(
        only_state(&report).reason,
        format!("GPU lost; GPU {GPU_1} (0000:1f:00.0) needs a reboot of the machine")
    );
    let report = evaluate(&context(), &seen([Some(0)]), &[line("0000:5f:00", 2, 5)]);
    let state = only_state(&report);
    assert_eq!(
        state.reason,
        "GPU 0000:5f:00.0 needs a reboot of the machine"
    );
    let subject = Gpu {
        bus_id: "0000:5f:00.0".into(),
        ..Gpu::default()
    };
    assert_eq!(state.subject, Some(subject.subject()));
    let unread = and(
        seen([Some(0)]),
        AccessError::Other("x: Unknown Error".into()),
    );
    let report = evaluate(&context(), &unread, &[]);
    assert_eq!(short(&report).1, "error getting recovery action");
}

#[test]
fn without_a_working_nvml() {
    let closed = |library| asking::closed(&context(), &driver(library, "")).unwrap();
    let missing = || closed(Library::NotFound("x".into()));
    assert_eq!(without_nvml(&context(), missing(), &[]), missing());
    assert_eq!(
        without_nvml(&context(), missing(), &[line("0000:1f:00", 0, 5)]),
        missing()
    );
    let report = without_nvml(&context(), missing(), &[line("0000:1f:00", 2, 5)]);
    assert!(report.supported);
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "GPU 0000:1f:00.0 needs a reboot of the machine".to_owned(),
            vec![RepairAction::RebootSystem]
        )
    );
    let failed = closed(Library::Failed("Unknown Error".into()));
    let report = without_nvml(&context(), failed, &[line("0000:1f:00", 4, 5)]);
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "NVML initialization error: Unknown Error; GPU 0000:1f:00.0 needs a reset when its work is done".to_owned(),
            vec![RepairAction::RebootSystem]
        )
    );
}

#[test]
fn a_site_has_its_own_view() {
    let events = [line("0000:1f:00", 1, 5)];
    let reset = format!("GPU {GPU_1} (0000:1f:00.0) needs a reset");
    let said = "GPU recovery action of 0000:1f:00 changed from None to Reset";
    for (policy, health, reason) in [
        ("{}", Health::Unhealthy, reset.clone()),
        (
            r#"{"gpu_recovery_action_cleared":{"severity":"ignore"}}"#,
            Health::Unhealthy,
            reset,
        ),
        (
            r#"{"gpu_recovery_action_changed":{"severity":"ignore"}}"#,
            Health::Healthy,
            format!("{FINE} (site policy)"),
        ),
        (
            r#"{"gpu_recovery_action_changed":{"severity":"critical"}}"#,
            Health::Degraded,
            format!("{said} (site policy)"),
        ),
    ] {
        let document = format!("{{\"policy\":{policy}}}");
        let policy = policy::alone(&document, &crate::patterns::CATALOG).unwrap();
        let seen = seen([Some(0), None]);
        let judge = |events: &[StoredEvent]| evaluate(&context(), &seen, events);
        let report = policy.judge(&context(), &events, || Ok(vec![]), judge);
        let report = report.unwrap();
        let state = only_state(&report);
        assert_eq!((&state.health, &state.reason), (&health, &reason));
    }
}
