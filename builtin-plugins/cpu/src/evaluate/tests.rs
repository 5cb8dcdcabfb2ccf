use super::*;
use gpud_sdk::Trigger;

fn context() -> CheckContext {
    CheckContext {
        component: "cpu".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn read(text: &str) -> Result<String, AccessError> {
    Ok(text.to_owned())
}

const STAT: &str = "cpu  300 0 0 900 0 0 0 0\ncpu0 1\ncpu1 1\n";

#[test]
fn use_is_that_since_the_last_check_of_this_boot() {
    let cases = [
        (None, "25.00"),
        (Some("b-1 100 1000"), "100.00"),
        (Some("b-1 200 800"), "25.00"),
        (Some("b-1 299 1000"), "0.50"),
        (Some("b-0 299 1000"), "25.00"),
        (Some("b-1 garbage"), "25.00"),
        (Some("b-1 300 1000"), "0.00"),
    ];
    for (previous, percent) in cases {
        let loads = read("0.5 1 20.129 1/2 3");
        let verdict = judge(&context(), read(STAT), loads, previous).unwrap();
        let data = format!(
            r#"{{"cores":{{"logical":2}},"usage":{{"used_percent":"{percent}","load_avg_1min":"0.50","load_avg_5min":"1.00","load_avg_15min":"20.13"}}}}"#
        );
        let state = HealthState::healthy(&context(), "ok").info("data", data);
        assert_eq!(verdict.report.states, [state], "{previous:?}");
        assert_eq!(verdict.sample.as_deref(), Some("b-1 300 1200"));
    }
}

#[test]
fn metrics_carry_their_labels() {
    let verdict = judge(&context(), read(STAT), read("0.5 1 20.129"), None).unwrap();
    let shown: Vec<_> = verdict
        .report
        .metrics
        .iter()
        .map(|metric| {
            let labels: Vec<_> = metric
                .labels
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            format!("{}{labels:?} {}", metric.name, metric.value)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "cpu_used_percent[] 25",
            "cpu_load_average[\"load_duration=1m0s\"] 0.5",
            "cpu_load_average[\"load_duration=5m0s\"] 1",
            "cpu_load_average[\"load_duration=15m0s\"] 20.129",
        ]
    );
}

#[test]
fn without_load_averages_the_rest_is_shown() {
    let data = r#"{"cores":{"logical":2},"usage":{"used_percent":"25.00","load_avg_1min":"","load_avg_5min":"","load_avg_15min":""}}"#;
    let denied = Err(AccessError::Denied("/proc/loadavg".into()));
    for (loadavg, error) in [
        (denied, "/proc/loadavg: permission denied"),
        (read("?"), "/proc/loadavg reads \"?\""),
    ] {
        let verdict = judge(&context(), read(STAT), loadavg, None).unwrap();
        let mut state = HealthState::healthy(&context(), "ok").info("data", data);
        state.error = Some(error.to_owned());
        assert_eq!(verdict.report.states, [state]);
        assert_eq!(verdict.report.metrics.len(), 1);
        assert!(verdict.sample.is_some());
    }
}

#[test]
fn without_the_counters_nothing_is_known() {
    let denied = AccessError::Denied("/proc/stat".into());
    let wrong = AccessError::Other("/proc/stat begins with \"\"".into());
    for (stat, error) in [(Err(denied.clone()), denied), (read(""), wrong)] {
        assert_eq!(judge(&context(), stat, read("1 1 1"), None), Err(error));
    }
}
