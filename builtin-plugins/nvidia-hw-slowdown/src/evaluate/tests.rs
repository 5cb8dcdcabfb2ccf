use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, NOW, actions, and, context, data, failing, gpu, metrics, only_state, seen,
};
use gpud_sdk::Health;

const SLOW: Option<u64> = Some(HW_SLOWDOWN);
const IDLE: Option<u64> = Some(1);

fn version() -> Result<String, AccessError> {
    Ok("570.133.20".into())
}

/// One check a minute: the bits of GPU 0 and GPU 1 at each. Gives the last report.
fn minute_by_minute(checks: &[[Option<u64>; 2]]) -> Report {
    let mut past = Minutes::default();
    let mut last = None;
    for (minute, bits) in (0..).zip(checks) {
        let mut context = context();
        context.now += minute * 60_000;
        let (report, now) = evaluate(&context, &seen(*bits), Some(past), version);
        past = now.unwrap();
        last = Some(report);
    }
    last.unwrap()
}

fn verdict(report: &Report) -> (Health, &str) {
    let state = only_state(report);
    (state.health.clone(), &state.reason)
}

#[test]
fn six_minutes_of_ten() {
    const SLOW_0: [Option<u64>; 2] = [SLOW, IDLE];
    const SLOW_1: [Option<u64>; 2] = [IDLE, SLOW];
    const WELL: [Option<u64>; 2] = [IDLE, IDLE];
    let less = |count: u64| {
        let reason = format!(
            "hw slowdown events frequency per minute 0.{count}0 (total events per minute count {count}) is less than threshold 0.60 for the last 10m0s"
        );
        (Health::Healthy, reason)
    };
    let exceeded = |text: &str, count: u64| {
        let reason = format!(
            "hw slowdown events frequency per minute {text} (total events per minute count {count}) exceeded threshold 0.60 for the last 10m0s"
        );
        (Health::Unhealthy, reason)
    };
    let none = || (Health::Healthy, "no clock events found".to_owned());
    for (checks, expected) in [
        (vec![WELL], none()),
        (vec![SLOW_0], less(1)),
        (vec![SLOW_0; 5], less(5)),
        (vec![SLOW_0; 6], exceeded("0.60", 6)),
        (vec![[SLOW; 2]; 5], less(5)),
        ([SLOW_0, SLOW_1].repeat(3), exceeded("0.60", 6)),
        (vec![SLOW_0; 10], exceeded("1.00", 10)),
        (vec![SLOW_0; 30], exceeded("1.00", 10)),
        (
            [vec![SLOW_0; 6], vec![WELL; 4]].concat(),
            exceeded("0.60", 6),
        ),
        ([vec![SLOW_0; 6], vec![WELL; 5]].concat(), less(5)),
        ([vec![SLOW_0; 6], vec![WELL; 9]].concat(), less(1)),
        ([vec![SLOW_0; 6], vec![WELL; 10]].concat(), none()),
    ] {
        let report = minute_by_minute(&checks);
        let (health, reason) = verdict(&report);
        assert_eq!((health.clone(), reason.to_owned()), expected);
        let action: &[RepairAction] = match health {
            Health::Unhealthy => &[RepairAction::HardwareInspection],
            _ => &[],
        };
        assert_eq!(actions(&report), ("", action));
    }
    let report = minute_by_minute(&[SLOW_1; 6]);
    let state = only_state(&report);
    assert_eq!(state.subject, Some(gpu(1).subject()));
    assert_eq!(
        state.recovery,
        [Recovery::NextGoodReading, Recovery::SetHealthy]
    );
    let both = minute_by_minute(&[SLOW_0, SLOW_1].repeat(3));
    assert_eq!(only_state(&both).subject, None);
}

#[test]
fn set_healthy_starts_from_the_beginning() {
    let mut past = Minutes::default();
    for minute in 0..9 {
        past.add(GPU_0, NOW / 1000 - minute * 60);
    }
    let (_, now) = evaluate(&context(), &seen([SLOW]), Some(past.clone()), version);
    assert!(now.unwrap().count() >= TOO_MANY);
    let cleared = past.later_than(NOW);
    let (report, _) = evaluate(&context(), &seen([SLOW]), Some(cleared), version);
    assert_eq!(verdict(&report).0, Health::Healthy);
}

#[test]
fn which_bits_count() {
    for (bits, events, values) in [
        (0x000, 0, [0.0, 0.0, 0.0]),
        (0x001, 0, [0.0, 0.0, 0.0]),
        (0x737, 0, [0.0, 0.0, 0.0]),
        (0x008, 1, [1.0, 0.0, 0.0]),
        (0x040, 1, [0.0, 1.0, 0.0]),
        (0x080, 1, [0.0, 0.0, 1.0]),
        (0x0e8, 1, [1.0, 1.0, 1.0]),
        (1 << 40, 0, [0.0, 0.0, 0.0]),
    ] {
        let (report, minutes) = evaluate(
            &context(),
            &seen([Some(bits)]),
            Some(Minutes::default()),
            version,
        );
        assert_eq!(report.events.len(), events, "{bits:#x}");
        assert_eq!(minutes.unwrap().count(), events as u64, "{bits:#x}");
        let names = METRICS.iter().map(|(name, _)| *name);
        let expected: Vec<_> = names
            .zip(values)
            .map(|(name, value)| (name, GPU_0, value))
            .collect();
        assert_eq!(metrics(&report), expected, "{bits:#x}");
    }
}

#[test]
fn events() {
    let (report, _) = evaluate(
        &context(),
        &seen([IDLE, Some(0xc8)]),
        Some(Minutes::default()),
        version,
    );
    let event = &report.events[0];
    assert_eq!((event.time, event.name.as_str()), (NOW, "hw_slowdown"));
    assert_eq!(event.event_type, EventType::Warning);
    assert_eq!(event.message, reasons::by_hardware(GPU_1, 0xc8).join(", "));
    assert_eq!(
        event.extra_info,
        [
            ("data_source".to_owned(), "nvml".to_owned()),
            ("gpu_uuid".to_owned(), GPU_1.to_owned())
        ]
    );
    assert_eq!(event.merge.as_ref().unwrap().key, format!("{GPU_1} 0xc8"));
    assert_eq!(event.subject, Some(gpu(1).subject()));
}

#[test]
fn rows() {
    let (report, _) = evaluate(
        &context(),
        &seen([Some(0x9), None]),
        Some(Minutes::default()),
        version,
    );
    let [hardware] = &reasons::by_hardware(GPU_0, 0x8)[..] else {
        panic!()
    };
    let [idle] = &reasons::otherwise(GPU_0, 0x1)[..] else {
        panic!()
    };
    assert_eq!(
        data(&report),
        format!(
            r#"{{"clock_events":[{{"time":"2025-03-01T10:21:40Z","uuid":"{GPU_0}","bus_id":"0000:0f:00.0","reasons_bitmask":9,"hw_slowdown_reasons":["{hardware}"],"reasons":["{idle}"],"hw_slowdown":true,"hw_thermal_slowdown":false,"hw_slowdown_power_brake":false,"supported":true}},{{"time":"2025-03-01T10:21:40Z","uuid":"{GPU_1}","bus_id":"0000:1f:00.0","reasons_bitmask":0,"hw_slowdown":false,"hw_thermal_slowdown":false,"hw_slowdown_power_brake":false,"supported":false}}]}}"#
        )
    );
}

#[test]
fn gpus_that_do_not_tell() {
    for (readings, driver_version, reason) in [
        (
            vec![None, None],
            Ok("570.133.20"),
            "clock events not supported",
        ),
        (
            vec![None],
            Ok("525.105.17"),
            "clock events not supported for driver version 525.105.17",
        ),
        (vec![None], Ok("535.161.08"), "clock events not supported"),
        (vec![None], Ok("?"), "clock events not supported"),
        (vec![None], Err(()), "clock events not supported"),
        (vec![None, IDLE], Ok("525.105.17"), "no clock events found"),
        (vec![], Ok("570.133.20"), "no clock events found"),
    ] {
        let version = || {
            driver_version
                .map(str::to_owned)
                .map_err(|()| AccessError::Other("x".into()))
        };
        let (report, _) = evaluate(
            &context(),
            &seen(readings),
            Some(Minutes::default()),
            version,
        );
        assert_eq!(verdict(&report), (Health::Healthy, reason));
    }
    // One that does not tell hides none that is slow.
    let report = minute_by_minute(&[[None, SLOW]; 6]);
    assert_eq!(verdict(&report).0, Health::Unhealthy);
}

#[test]
fn one_look() {
    for (readings, reason) in [
        (vec![IDLE, IDLE], "no clock events found".to_owned()),
        (
            vec![IDLE, SLOW],
            format!("hw slowdown now, which is judged over 10m0s by the daemon: {GPU_1}"),
        ),
    ] {
        let (report, minutes) = evaluate(&context(), &seen(readings), None, version);
        assert_eq!(verdict(&report), (Health::Healthy, reason.as_str()));
        assert_eq!(minutes, None);
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let other = || AccessError::Other("x: System is not in ready state".into());
    for (error, reason, action) in [
        (other(), "error getting clock events supported", None),
        (
            AccessError::SourceLost("x".into()),
            "GPU lost",
            Some(RepairAction::RebootSystem),
        ),
        (
            AccessError::NeedsReset("x".into()),
            "GPU requires reset",
            Some(RepairAction::RebootSystem),
        ),
    ] {
        let (report, _) = evaluate(
            &context(),
            &and(seen([IDLE]), error),
            Some(Minutes::default()),
            version,
        );
        assert_eq!(verdict(&report), (Health::Unhealthy, reason));
        assert_eq!(actions(&report).1.first(), action.as_ref());
    }
    // All of them: nobody says that it is not supported.
    let machine = GpuReadings {
        product: String::new(),
        gpus: vec![failing(0, other())],
    };
    let (report, _) = evaluate(&context(), &machine, Some(Minutes::default()), version);
    assert_eq!(verdict(&report).1, "error getting clock events supported");
}
