use super::*;
use crate::sensor::{all, tests::files};
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn device(sensor: &Sensor) -> Option<String> {
    sensor.path.contains("hwmon7").then(|| "nvme3".to_owned())
}

/// Two checks of the same; gives the second's verdict and both's events.
fn twice(config: &str, lines: &str) -> (Health, String, Vec<String>) {
    let context = test_context("board-sensors", 1_000);
    let (config, sensors) = (Config::parse(config).unwrap(), all(&files(lines)));
    let (first, memory, hot) = judge(
        &context,
        &config,
        &sensors,
        |_| None,
        &CriticalSensors::default(),
        &Memory::default(),
    );
    let hot = CriticalSensors::restore(Some(&hot.save("b-1")), "b-1");
    let (second, ..) = judge(&context, &config, &sensors, device, &hot, &memory);
    let events = first.events.iter().chain(&second.events);
    let names = events.map(|event| event.name.clone()).collect();
    (
        second.states[0].health.clone(),
        second.states[0].reason.clone(),
        names,
    )
}

const FINE: &str = "1 sensors of 1 chips, none beyond its limits";
const CRITICAL: &str = "nvme/temp1: 90 °C, critical is 85 °C";

/// Configurations, files of sensors, and the health, the reason and the event that follow.
const VERDICTS: &[(&str, &str, Health, &str, Option<&str>)] = &[
    (
        "{}",
        "hwmon0/name=nvme;hwmon0/temp1_input=84000;hwmon0/temp1_crit=85000",
        Health::Healthy,
        FINE,
        None,
    ),
    (
        "{}",
        "hwmon0/name=nvme;hwmon0/temp1_input=90000;hwmon0/temp1_crit=85000",
        Health::Unhealthy,
        CRITICAL,
        Some("sensor_critical"),
    ),
    (
        "{}",
        "hwmon7/name=nvme;hwmon7/temp1_input=90000;hwmon7/temp1_crit=85000",
        Health::Unhealthy,
        "nvme/temp1 (nvme3): 90 °C, critical is 85 °C",
        Some("sensor_critical"),
    ),
    // A fan that is watched and shows what no fan can.
    (
        r#"{"min":{"thinkpad/fan1":500}}"#,
        "hwmon0/name=thinkpad;hwmon0/fan1_input=65535",
        Health::Degraded,
        "thinkpad/fan1: no such sensor, or it gives no reading. Names are those of the metrics, ‹chip›/‹sensor›; a driver that is not loaded has none.",
        Some("sensor_missing"),
    ),
    (
        "{}",
        "hwmon0/name=nvme;hwmon0/temp1_input=90000;hwmon0/temp1_crit=0",
        Health::Healthy,
        FINE,
        None,
    ),
    (
        "{}",
        "hwmon0/name=nvme;hwmon0/temp1_input=255000;hwmon0/temp1_crit=85000",
        Health::Healthy,
        FINE,
        None,
    ),
    // A laptop's processor at its limit, and a mainboard's chip with an input that is not connected.
    (
        "{}",
        "hwmon0/name=coretemp;hwmon0/temp1_input=100000;hwmon0/temp1_crit=100000",
        Health::Healthy,
        FINE,
        None,
    ),
    (
        "{}",
        "hwmon0/name=nct6775;hwmon0/temp1_input=125000;hwmon0/temp1_crit=80000",
        Health::Healthy,
        FINE,
        None,
    ),
    (
        "{}",
        "hwmon0/name=nct6775;hwmon0/fan1_input=0",
        Health::Healthy,
        FINE,
        None,
    ),
    (
        r#"{"min":{"nct6775/fan1":500}}"#,
        "hwmon0/name=nct6775;hwmon0/fan1_input=0",
        Health::Degraded,
        "nct6775/fan1: 0 RPM, less than 500 RPM",
        Some("sensor_beyond_limit"),
    ),
    (
        r#"{"max":{"nct6775/in0":1.1}}"#,
        "hwmon0/name=nct6775;hwmon0/in0_input=1200",
        Health::Degraded,
        "nct6775/in0: 1.2 V, more than 1.1 V",
        Some("sensor_beyond_limit"),
    ),
    (
        r#"{"max":{"a/b":1}}"#,
        "",
        Health::Degraded,
        "a/b: no such sensor, or it gives no reading. Names are those of the metrics, ‹chip›/‹sensor›; a driver that is not loaded has none.",
        Some("sensor_missing"),
    ),
];

#[test]
fn verdicts() {
    for (config, lines, health, reason, event) in VERDICTS.iter().cloned() {
        let (found, said, events) = twice(config, lines);
        assert_eq!((found, said.as_str()), (health, reason), "{lines}");
        assert_eq!(events.first().map(String::as_str), event);
        assert!(events.len() <= 1);
    }
}

#[test]
fn one_reading_alone_is_no_verdict() {
    let context = test_context("board-sensors", 1_000);
    let sensors = all(&files(
        "hwmon0/name=nvme;hwmon0/temp1_input=90000;hwmon0/temp1_crit=85000",
    ));
    let config = Config::default();
    let (report, _, hot) = judge(
        &context,
        &config,
        &sensors,
        |_| None,
        &CriticalSensors::default(),
        &Memory::default(),
    );
    assert_eq!(report.states[0].health, Health::Healthy);
    assert_eq!(
        CriticalSensors::restore(Some(&hot.save("b-1")), "b-2"),
        CriticalSensors::default()
    );
    assert_eq!(
        CriticalSensors::restore(Some("x"), "b-1"),
        CriticalSensors::default()
    );
    let (report, ..) = judge(
        &context,
        &config,
        &[],
        |_| None,
        &CriticalSensors::default(),
        &Memory::default(),
    );
    assert!(!report.supported);
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
