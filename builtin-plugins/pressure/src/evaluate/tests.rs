use super::*;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn reading(resource: &'static str, some: f64, full: f64) -> Reading {
    let text = format!("some avg300={some} total=2000000\nfull avg300={full} total=1000000");
    Reading {
        resource,
        lines: psi::parse(&text),
    }
}

#[test]
fn verdicts() {
    let context = test_context("pressure", 1_000);
    for (config, readings, health, reason) in [
        (
            "{}",
            [("cpu", 99.0, 0.0), ("io", 90.0, 80.0)],
            Health::Healthy,
            "no pressure beyond limits",
        ),
        (
            "{}",
            [("cpu", 0.0, 0.0), ("memory", 30.0, 19.9)],
            Health::Healthy,
            "no pressure beyond limits",
        ),
        (
            "{}",
            [("cpu", 0.0, 0.0), ("memory", 50.0, 20.0)],
            Health::Degraded,
            "all tasks waited for memory for 20 % of the last 5 min. The machine thrashes: run less at once, or give it more memory.",
        ),
        (
            r#"{"max_io_full_percent":50,"max_cpu_some_percent":90}"#,
            [("cpu", 95.0, 0.0), ("io", 90.0, 50.0)],
            Health::Degraded,
            "some task waited for processors for 95 % of the last 5 min; all tasks waited for disks for 50 % of the last 5 min. More runs than there are processors for.",
        ),
        (
            r#"{"max_memory_full_percent":0}"#,
            [("cpu", 0.0, 0.0), ("memory", 90.0, 90.0)],
            Health::Healthy,
            "no pressure beyond limits",
        ),
    ] {
        let config = Config::parse(config).unwrap();
        let readings = readings.map(|(resource, some, full)| reading(resource, some, full));
        let (report, _) = judge(&context, &config, &readings, &Memory::default());
        let state = &report.states[0];
        assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
        assert_eq!(report.metrics.len(), 8);
    }
}

#[test]
fn what_cannot_be_understood_is_not_healthy() {
    let context = test_context("pressure", 1_000);
    let config = Config::parse("{}").unwrap();
    for memory in [None, Some("x".to_owned())] {
        let cpu = Some("some avg300=1.00 total=5".to_owned());
        let readings = readings(&[("cpu", cpu), ("memory", memory)]);
        let (report, _) = judge(&context, &config, &readings, &Memory::default());
        let state = &report.states[0];
        assert_eq!(state.health, Health::Degraded);
        assert_eq!(
            state.reason,
            "/proc/pressure/memory cannot be read or understood. See what the kernel has in it."
        );
    }
    assert!(readings(&[("cpu", None), ("memory", None)]).is_empty());
}

#[test]
fn kernels_without() {
    let context = test_context("pressure", 1_000);
    let config = Config::parse("{}").unwrap();
    assert!(
        !judge(&context, &config, &[], &Memory::default())
            .0
            .supported
    );
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
