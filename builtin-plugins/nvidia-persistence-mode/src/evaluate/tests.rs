use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, NOW, and, context, data, gpu, lost, only_state, seen,
};
use gpud_sdk::{AccessError, Health};

const ON: Option<bool> = Some(true);
const OFF: Option<bool> = Some(false);

fn judge(modes: &[Option<bool>], before: &[&str]) -> (Report, BTreeSet<String>) {
    let before = before.iter().map(|&uuid| uuid.to_owned()).collect();
    evaluate(&context(), &seen(modes.iter().copied()), &before)
}

#[test]
fn on_or_off() {
    let issue = |uuid| format!("{uuid} persistence mode supported but not enabled");
    for (modes, health, reason) in [
        (
            vec![ON, ON],
            Health::Healthy,
            "all 2 GPU(s) were checked, no persistence mode issue found".to_owned(),
        ),
        (
            vec![ON, None],
            Health::Healthy,
            "all 2 GPU(s) were checked, no persistence mode issue found".to_owned(),
        ),
        (
            vec![],
            Health::Healthy,
            "all 0 GPU(s) were checked, no persistence mode issue found".to_owned(),
        ),
        (
            vec![OFF, OFF],
            Health::Unhealthy,
            "all 2 GPU(s) disabled persistence mode".to_owned(),
        ),
        (vec![ON, OFF], Health::Unhealthy, issue(GPU_1)),
        (vec![OFF, None], Health::Unhealthy, issue(GPU_0)),
        (
            vec![OFF, OFF, ON],
            Health::Unhealthy,
            format!("{}, {}", issue(GPU_0), issue(GPU_1)),
        ),
    ] {
        let (report, _) = judge(&modes, &[]);
        let state = only_state(&report);
        assert_eq!((&state.health, &state.reason), (&health, &reason));
        assert_eq!(state.suggested_actions, None);
    }
    let (report, _) = judge(&[ON, OFF], &[]);
    assert_eq!(only_state(&report).subject, Some(gpu(1).subject()));
}

#[test]
fn rows() {
    let (report, _) = judge(&[OFF, None], &[]);
    assert_eq!(
        data(&report),
        format!(
            r#"{{"persistence_modes":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","enabled":false,"supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","enabled":false,"supported":false}}]}}"#
        )
    );
    assert_eq!(report.metrics, []);
}

#[test]
fn an_event_is_a_change() {
    for (modes, before, events, now) in [
        (vec![ON, OFF], vec![], vec![GPU_1], vec![GPU_1]),
        (vec![ON, OFF], vec![GPU_1], vec![], vec![GPU_1]),
        (vec![OFF, OFF], vec![GPU_1], vec![GPU_0], vec![GPU_0, GPU_1]),
        (vec![ON, ON], vec![GPU_1], vec![], vec![]),
        (vec![OFF], vec![GPU_0, GPU_1], vec![], vec![GPU_0]),
    ] {
        let (report, found) = judge(&modes, &before);
        let uuids = report
            .events
            .iter()
            .map(|event| event.extra_info[0].1.as_str());
        assert_eq!(
            uuids.collect::<Vec<_>>(),
            events,
            "{modes:?} after {before:?}"
        );
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            now,
            "{modes:?} after {before:?}"
        );
    }
    let (report, _) = judge(&[OFF], &[]);
    let event = &report.events[0];
    assert_eq!(
        (event.time, event.name.as_str()),
        (NOW, "persistence_mode_disabled")
    );
    assert_eq!(event.event_type, EventType::Warning);
    assert_eq!(
        event.message,
        format!("GPU {GPU_0} (0000:0f:00.0) persistence mode is supported but not enabled")
    );
    assert_eq!(
        event.extra_info,
        [
            ("device_uuid".to_owned(), GPU_0.to_owned()),
            ("device_bus_id".to_owned(), "0000:0f:00.0".to_owned())
        ]
    );
}

#[test]
fn a_gpu_that_does_not_answer_is_neither_on_nor_off() {
    let mut machine = seen([ON]);
    machine.gpus.push(lost(1));
    let before = BTreeSet::from([GPU_1.to_owned()]);
    let (report, now) = evaluate(&context(), &machine, &before);
    assert_eq!(only_state(&report).reason, "GPU lost");
    assert_eq!((now, report.events.len()), (before, 0));

    let failed = AccessError::Other("nvmlDeviceGetPersistenceMode of GPU 1: Unknown Error".into());
    let (report, _) = evaluate(&context(), &and(seen([OFF]), failed), &BTreeSet::new());
    assert_eq!(
        only_state(&report).reason,
        "all 1 GPU(s) disabled persistence mode; error getting persistence mode"
    );
}
