use super::*;
use gpud_builtin_board_sensors::sensor::{self, ROOT};
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;
use proptest::prelude::*;

fn files(lines: &str) -> Vec<(String, String)> {
    let pairs = lines.split(';').filter_map(|line| line.split_once('='));
    pairs
        .map(|(path, text)| (format!("{ROOT}/hwmon0/{path}"), text.to_owned()))
        .collect()
}

/// Checks, each with its files: health and reason of the last one, and all events.
fn run(config: &str, checks: &[&str]) -> (Health, String, Vec<String>) {
    let context = test_context("server-hwmon", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut watch, mut memory) = (Watch::default(), Memory::default());
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for lines in checks {
        let files = files(lines);
        let sensors = sensor::all(&files);
        let extra = Extra::new(&files);
        let (report, after) = judge(&context, &config, &sensors, &extra, &mut watch, &memory);
        memory = after;
        watch = Watch::restore(Some(&watch.save()), "");
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.into_iter().map(|event| event.name));
    }
    answer
}

const TURN: &str = "name=nct6775;fan1_input=1200;fan2_input=1100";
const STAND: &str = "name=nct6775;fan1_input=1200;fan2_input=0";
const LAPTOP: [&str; 2] = [
    "name=thinkpad;fan1_input=1200;fan2_input=1100",
    "name=thinkpad;fan1_input=1200;fan2_input=0",
];
const OFF: &str = "name=nct6775;fan1_input=1200;fan2_input=0;pwm2=0";
const ALL: &str = "name=nct6775;fan1_input=0;fan2_input=0";

#[test]
fn fans() {
    let stopped = "nct6775/fan2 turned before and is at 0 RPM now";
    let fine =
        |fans: u32| format!("2 sensors of 1 chips, none beyond its limits; {fans} fans turn");
    for (config, checks, health, reason) in [
        ("{}", vec![TURN, STAND], Health::Healthy, fine(1)),
        (
            "{}",
            vec![TURN, STAND, STAND],
            Health::Degraded,
            stopped.to_owned(),
        ),
        (
            "{}",
            vec![TURN, STAND, STAND, TURN],
            Health::Healthy,
            fine(2),
        ),
        // Never turned: nothing is connected.
        ("{}", vec![STAND, STAND], Health::Healthy, fine(1)),
        ("{}", vec![TURN, OFF, OFF], Health::Healthy, fine(1)),
        ("{}", vec![TURN, ALL, ALL], Health::Healthy, fine(0)),
        (
            "{}",
            vec![LAPTOP[0], LAPTOP[1], LAPTOP[1]],
            Health::Healthy,
            fine(1),
        ),
        (
            r#"{"ignored_sensors":["*/fan2"]}"#,
            vec![TURN, STAND, STAND],
            Health::Healthy,
            fine(1),
        ),
        (
            r#"{"expected_fans":2}"#,
            vec![STAND, STAND],
            Health::Degraded,
            "1 fans turn, expected 2".to_owned(),
        ),
    ] {
        let (found, said, _) = run(config, &checks);
        assert_eq!((found, said), (health, reason), "{checks:?}");
    }
    assert_eq!(
        run("{}", &[TURN, STAND, STAND, TURN]).2,
        ["hwmon_fan_stopped", "hwmon_fan_stopped_cleared"]
    );
}

#[test]
fn limits_and_inlet() {
    let limits = r#"{"limits":{"x/t":{"min":5,"max":60,"critical_max":80}}}"#;
    let degrees = |value: &str| format!("name=x;temp1_label=t;temp1_input={value}");
    for (config, value, health, reason) in [
        (
            limits,
            "60000",
            Health::Healthy,
            "1 sensors of 1 chips, none beyond its limits; 0 fans turn",
        ),
        (
            limits,
            "61000",
            Health::Degraded,
            "x/t: 61 °C, more than 60 °C",
        ),
        (
            limits,
            "4000",
            Health::Degraded,
            "x/t: 4 °C, less than 5 °C",
        ),
        (
            limits,
            "81000",
            Health::Unhealthy,
            "x/t: 81 °C, more than the critical 80 °C",
        ),
        (
            r#"{"limits":{"y/*":{"max":1}}}"#,
            "1",
            Health::Degraded,
            "limits: no sensor is called y/*",
        ),
        (
            r#"{"inlet_sensors":["x/t"]}"#,
            "41000",
            Health::Degraded,
            "x/t: the air that comes in has 41 °C, more than 40 °C",
        ),
        (
            r#"{"inlet_sensors":["x/t"],"inlet_max_celsius":0}"#,
            "41000",
            Health::Healthy,
            "1 sensors of 1 chips, none beyond its limits; 0 fans turn",
        ),
    ] {
        let lines = degrees(value);
        let (found, said, _) = run(config, &[&lines, &lines]);
        assert_eq!((found, said.as_str()), (health, reason));
    }
    // One reading alone may be a glitch.
    let (health, ..) = run(
        limits,
        &[&degrees("30000"), &degrees("81000"), &degrees("30000")],
    );
    assert_eq!(health, Health::Healthy);
    // From one stage to the other.
    let (_, _, events) = run(
        limits,
        &[&degrees("61000"), &degrees("61000"), &degrees("81000")],
    );
    assert_eq!(
        events,
        ["hwmon_beyond_limit", "hwmon_beyond_critical_limit"]
    );
}

#[test]
fn probes_that_break() {
    let good = "name=x;temp1_input=30000;temp1_fault=0";
    let bad = "name=x;temp1_input=255000;temp1_fault=1";
    let max = r#"{"limits":{"x/temp1":{"max":60}}}"#;
    let (health, reason, _) = run(max, &[good, bad, bad]);
    assert_eq!(
        (health, reason.as_str()),
        (
            Health::Degraded,
            "x/temp1: its chip calls the sensor broken or disconnected"
        )
    );
    assert_eq!(run(max, &[bad, bad]).0, Health::Healthy);
}

proptest! {
    #[test]
    fn any_files_are_survived(lines in prop::collection::vec(("(name|fan1_input|temp1_input|temp1_fault|pwm1|in0_input|[a-z_]{0,8})", "[ -~]{0,8}"), 0..8)) {
        let lines: Vec<String> = lines.into_iter().map(|(path, text)| format!("{path}={text}")).collect();
        let lines = lines.join(";");
        let (_, reason, _) = run(r#"{"limits":{"*":{"max":1}}}"#, &[&lines, &lines]);
        prop_assert!(!reason.is_empty());
    }
}
