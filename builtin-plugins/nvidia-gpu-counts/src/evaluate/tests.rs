use super::*;
use gpud_builtin_nvidia_common::Failure;
use gpud_builtin_nvidia_common::testing::{
    GPU_1, NOW, actions, and, context, data, gpu, lost, only_state, seen,
};
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{Evidence, Health, Recovery};

const HOUR: u64 = 3_600_000;

fn expecting(count: u64) -> Config {
    Config { count: Some(count) }
}

fn bus(count: usize) -> Result<Vec<String>, AccessError> {
    Ok((0..count).map(|index| gpu(index).bus_id).collect())
}

fn unreadable() -> Result<Vec<String>, AccessError> {
    Err(AccessError::Denied("/sys/bus/pci".into()))
}

fn stored(time: u64) -> StoredEvent {
    StoredEvent {
        event: Event::new(time, EVENT_NAME, EventType::Warning, ""),
        count: 1,
        last_time: time,
    }
}

fn short(report: &Report) -> (Health, &str) {
    let state = only_state(report);
    (state.health.clone(), state.reason.as_str())
}

#[test]
fn counts() {
    for (count, there, health, reason) in [
        (
            None,
            2,
            Health::Healthy,
            "GPU count thresholds not set, skipping",
        ),
        (
            Some(2),
            2,
            Health::Healthy,
            "nvidia gpu count matching thresholds (2)",
        ),
        (
            Some(8),
            2,
            Health::Unhealthy,
            "nvidia gpu count mismatch (found 2, expected 8)",
        ),
        (
            Some(1),
            2,
            Health::Unhealthy,
            "nvidia gpu count mismatch (found 2, expected 1)",
        ),
    ] {
        let seen = seen(vec![(); there]);
        let (report, known) = evaluate(
            &context(),
            &Config { count },
            &seen,
            &bus(2),
            Some(&MismatchHistory::default()),
        );
        assert_eq!(short(&report), (health.clone(), reason));
        let is_wrong = health == Health::Unhealthy;
        assert_eq!(known.is_some(), is_wrong);
        assert_eq!(report.events.len(), usize::from(is_wrong));
        assert_eq!(
            data(&report),
            r#"{"product_name":"NVIDIA-H100-80GB-HBM3","count_lspci":2,"count_nvml":2}"#
        );
    }
}

#[test]
fn what_is_there() {
    let failing = |error| and(seen([()]), error);
    let timed_out = TimeoutInfo {
        what: "nvmlX".into(),
        after_ms: 5000,
        last_good: None,
    };
    for (error, there) in [
        (AccessError::SourceLost("x".into()), false),
        (AccessError::NeedsReset("x".into()), true),
        (AccessError::TimedOut(timed_out), true),
        (AccessError::Other("x: Unknown Error".into()), true),
    ] {
        let (report, _) = evaluate(
            &context(),
            &expecting(2),
            &failing(error.clone()),
            &bus(2),
            None,
        );
        assert_eq!(
            only_state(&report).health == Health::Healthy,
            there,
            "{error:?}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    let mut gone = seen([()]);
    gone.gpus.push(lost(1));
    let (report, _) = evaluate(&context(), &expecting(2), &gone, &bus(2), None);
    let state = only_state(&report);
    assert_eq!(
        state.reason,
        "nvidia gpu count mismatch (found 1, expected 2)"
    );
    assert_eq!(state.error, Some(format!("{GPU_1} (0000:1f:00.0) lost")));
    assert_eq!(state.subject, Some(gpu(1).subject()));
    assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    assert_eq!(state.evidence, Vec::<Evidence>::new());

    let (report, _) = evaluate(&context(), &expecting(3), &seen([(), ()]), &bus(3), None);
    let error = "0000:2f:00.0 is on the PCI bus, but NVML does not have it";
    assert_eq!(only_state(&report).error.as_deref(), Some(error));
    assert!(data(&report).contains(error));

    let stranger = GpuAnswer {
        gpu: Gpu {
            uuid: "unknown-gpu-1".into(),
            ..Gpu::default()
        },
        answer: Err(Failure::from(AccessError::Other("x: Unknown Error".into()))),
    };
    let mut strange = seen([()]);
    strange.gpus.push(stranger);
    let (report, _) = evaluate(&context(), &expecting(2), &strange, &bus(2), None);
    assert_eq!(
        only_state(&report).error.as_deref(),
        Some("unknown-gpu-1 cannot be opened")
    );
}

#[test]
fn a_gpu_that_wants_a_reset_is_there_even_if_never_opened() {
    let stranger = GpuAnswer {
        gpu: Gpu {
            uuid: "unknown-gpu-1".into(),
            ..Gpu::default()
        },
        answer: Err(Failure::from(AccessError::NeedsReset("x".into()))),
    };
    let mut strange = seen([()]);
    strange.gpus.push(stranger);
    let (report, _) = evaluate(&context(), &expecting(2), &strange, &bus(2), None);
    assert_eq!(short(&report).0, Health::Healthy);
}

#[test]
fn an_unreadable_bus_is_only_not_shown() {
    let (report, _) = evaluate(&context(), &expecting(1), &seen([()]), &unreadable(), None);
    assert_eq!(short(&report).0, Health::Healthy);
    assert_eq!(
        data(&report),
        r#"{"product_name":"NVIDIA-H100-80GB-HBM3","count_nvml":1}"#
    );
}

#[test]
fn events_are_changes() {
    let mut past = MismatchHistory::default();
    for (boot, there, expected, events) in [
        ("b0", 2, 8, 1),
        ("b0", 2, 8, 0),
        ("b0", 1, 8, 1),
        ("b0", 1, 4, 1),
        ("b0", 1, 1, 0),
        ("b0", 1, 4, 1),
        ("b1", 1, 4, 1),
        ("b1", 1, 4, 0),
    ] {
        let mut context = context();
        context.boot_id = boot.into();
        let seen = seen(vec![(); there]);
        let (report, known) = evaluate(&context, &expecting(expected), &seen, &bus(1), Some(&past));
        assert_eq!(report.events.len(), events, "{boot} {there} {expected}");
        past.known = known;
    }
}

#[test]
fn the_event() {
    let (report, _) = evaluate(
        &context(),
        &expecting(8),
        &seen([()]),
        &bus(1),
        Some(&MismatchHistory::default()),
    );
    let event = &report.events[0];
    assert_eq!(
        (
            event.name.as_str(),
            &event.event_type,
            event.message.as_str(),
            event.time
        ),
        (
            "gpu-count-mismatch",
            &EventType::Warning,
            "nvidia gpu count mismatch (found 1, expected 8)",
            NOW
        )
    );
}

#[test]
fn actions_by_history() {
    use RepairAction::{HardwareInspection, RebootSystem};
    for (what, reboots, mismatches, action) in [
        ("nothing known", vec![], vec![], RebootSystem),
        ("events, but no reboot", vec![], vec![2, 1], RebootSystem),
        ("first after a reboot", vec![10], vec![], RebootSystem),
        (
            "every minute after one reboot",
            vec![10],
            vec![9, 8, 7, 6],
            RebootSystem,
        ),
        (
            "after two reboots, only now",
            vec![20, 10],
            vec![],
            RebootSystem,
        ),
        (
            "all in the newest boot",
            vec![20, 10],
            vec![9, 8],
            RebootSystem,
        ),
        (
            "before and after a reboot",
            vec![20, 10],
            vec![15],
            HardwareInspection,
        ),
        (
            "before any reboot that is known, and now",
            vec![10],
            vec![15],
            RebootSystem,
        ),
        (
            "in the second of the boot",
            vec![20, 10],
            vec![20],
            HardwareInspection,
        ),
    ] {
        let ago = |hours: &u64| NOW - hours * HOUR;
        let past = MismatchHistory {
            mismatches: mismatches.iter().map(|hours| stored(ago(hours))).collect(),
            reboots: reboots.iter().map(ago).collect(),
            known: None,
        };
        let (report, _) = evaluate(&context(), &expecting(8), &seen([()]), &bus(1), Some(&past));
        assert_eq!(actions(&report), ("", [action].as_slice()), "{what}");
    }
    let (report, _) = evaluate(&context(), &expecting(8), &seen([()]), &bus(1), None);
    assert_eq!(actions(&report).1, [], "a scan");
    assert_eq!(report.events, []);
}
