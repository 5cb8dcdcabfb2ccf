use super::*;
use gpud_builtin_ipmi::elist;
use gpud_sdk::testing::test_context;

type Answer = Result<&'static str, &'static str>;

/// Checks, one after another: health, reason and actions of each state of the last one, and all events.
fn run(config: &str, checks: &[Answer]) -> (Vec<(Health, String)>, Vec<String>) {
    let context = test_context("server-bmc", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut known, mut memory) = (KnownLeakSensors::default(), Memory::default());
    let (mut states, mut events) = (Vec::new(), Vec::new());
    for check in checks {
        let sensors = check.map(elist::parse);
        let sensors = sensors.as_ref().map(Vec::as_slice).map_err(|why| *why);
        let (report, after) = judge(&context, &config, sensors, &mut known, &memory);
        memory = after;
        events.extend(report.events.into_iter().map(|event| event.name));
        states = report
            .states
            .into_iter()
            .map(|state| (state.health, state.reason))
            .collect();
    }
    (states, events)
}

fn one(config: &str, text: &'static str) -> (Health, String) {
    let (mut states, _) = run(config, &[Ok(text)]);
    assert_eq!(states.len(), 1, "{text}");
    states.remove(0)
}

/// Configurations, what `ipmitool` lists, and the health and the reason that follow.
const VERDICTS: &[(&str, &str, Health, &str)] = &[
    (
        "{}",
        "Inlet Temp | 04h | ok | 7.1 | 22 degrees C\nFan1 | 30h | ok | 7.1 | 5280 RPM\nX | 31h | ns | 7.1 | No Reading",
        Health::Healthy,
        "2 sensors, none critical",
    ),
    (
        "{}",
        "Inlet Temp | 04h | ok | 7.1 | 41 degrees C",
        Health::Degraded,
        "Inlet Temp: the air that comes in has 41 °C, more than 40 °C",
    ),
    (
        r#"{"inlet_max_celsius":0}"#,
        "Inlet Temp | 04h | ok | 7.1 | 41 degrees C",
        Health::Healthy,
        "1 sensors, none critical",
    ),
    (
        "{}",
        "Air In | 04h | ok | 55.1 | 50 degrees C",
        Health::Degraded,
        "Air In: the air that comes in has 50 °C, more than 40 °C",
    ),
    (
        "{}",
        "Fan1 | 30h | lcr | 29.1 | 240 RPM",
        Health::Degraded,
        "Fan1: 240 RPM is critical",
    ),
    (
        "{}",
        "CPU1 Temp | 30h | unr | 3.1 | 120 degrees C",
        Health::Unhealthy,
        "CPU1 Temp: 120 degrees C is beyond what the hardware stands",
    ),
    (
        "{}",
        "CPU1 Temp | 30h | unc | 3.1 | 85 degrees C",
        Health::Healthy,
        "1 sensors, none critical",
    ),
    (
        "{}",
        "PS1 Status | C8h | ok | 10.1 | Presence detected, Failure detected, Power Supply AC lost",
        Health::Degraded,
        "PS1 Status: Failure detected, Power Supply AC lost",
    ),
    (
        "{}",
        "PS1 Status | C8h | ok | 10.1 | Presence detected, AC out-of-range, but present",
        Health::Degraded,
        "PS1 Status: AC out-of-range, but present",
    ),
    (
        "{}",
        "PS1 Status | C8h | ok | 10.1 | Presence detected, Predictive failure",
        Health::Degraded,
        "PS1 Status: Predictive failure",
    ),
    (
        "{}",
        "PS1 Status | C8h | ok | 10.1 | Presence detected\nPS2 Status | C9h | ok | 10.2 | ",
        Health::Healthy,
        "2 sensors, none critical",
    ),
    (
        r#"{"expected_power_supplies":2}"#,
        "PS1 Status | C8h | ok | 10.1 | Presence detected\nPS2 Status | C9h | ok | 10.2 | ",
        Health::Degraded,
        "1 power supplies are there, expected 2",
    ),
    (
        "{}",
        "PS Redundancy | 77h | ok | 7.1 | Redundancy Lost",
        Health::Degraded,
        "PS Redundancy: Redundancy Lost",
    ),
    (
        "{}",
        "Fan Redundancy | 75h | ok | 7.1 | Non-Redundant: Insufficient Resources",
        Health::Unhealthy,
        "Fan Redundancy: Non-Redundant: Insufficient Resources",
    ),
    (
        "{}",
        "PS Redundancy | 77h | ok | 7.1 | Fully Redundant",
        Health::Healthy,
        "1 sensors, none critical",
    ),
    (
        "{}",
        "PS1 Status | C8h | ok | 10.1 | Presence detected, Power Supply Inactive",
        Health::Healthy,
        "1 sensors, none critical",
    ),
    (
        "{}",
        "Fan 5 | 0Fh | ok | 29.5 | 29.50 percent, Transition to Critical from less severe",
        Health::Degraded,
        "Fan 5: Transition to Critical from less severe",
    ),
    (
        "{}",
        "Fan 5 | 0Fh | ok | 29.5 | Transition to Non-recoverable",
        Health::Unhealthy,
        "Fan 5: Transition to Non-recoverable",
    ),
    (
        "{}",
        "Drive 2 | 62h | ok | 4.2 | Drive Present, Drive Fault, Predictive Failure",
        Health::Degraded,
        "Drive 2: Drive Fault, Predictive Failure",
    ),
    (
        "{}",
        "Memory | 2Bh | ok | 7.7 | Correctable ECC, Correctable ECC logging limit reached, Presence Detected",
        Health::Degraded,
        "Memory: Correctable ECC logging limit reached",
    ),
    (
        "{}",
        "DIMM 3 | 2Bh | ok | 32.3 | Presence Detected, Uncorrectable ECC",
        Health::Unhealthy,
        "DIMM 3: Uncorrectable ECC",
    ),
    (
        "{}",
        "Battery | 2Bh | ok | 40.1 | Failed",
        Health::Degraded,
        "Battery: Failed",
    ),
    (
        "{}",
        "Slot 3 | 2Bh | ok | 11.1 | Fault Status, Device Installed",
        Health::Degraded,
        "Slot 3: Fault Status",
    ),
    (
        "{}",
        "Status | 64h | ok | 10.1 | Presence detected\nStatus | 65h | ok | 10.2 | Presence detected, Power Supply AC lost",
        Health::Degraded,
        "Status (power supply 2): Power Supply AC lost",
    ),
    (
        "{}",
        "MEM FAIL | 1Bh | ok | 7.1 | State Asserted\nNIC | 1Ch | ok | 11.1 | Heartbeat Lost",
        Health::Healthy,
        "2 sensors, none critical",
    ),
    (
        r#"{"ignored_sensors":["ps red*"]}"#,
        "PS Redundancy | 77h | ok | 7.1 | Redundancy Lost",
        Health::Healthy,
        "1 sensors, none critical",
    ),
    (
        r#"{"expected_leak_sensors":2}"#,
        "Leak 1 | 10h | ok | 7.1 | State Deasserted",
        Health::Degraded,
        "1 leak sensors give a reading, expected 2",
    ),
    (
        "{}",
        "Leak 1 | 10h | ok | 7.1 | State Deasserted\nLeak 2 | 11h | ns | 7.1 | No Reading",
        Health::Healthy,
        "1 sensors, none critical; 1 leak sensors are dry",
    ),
    (
        "{}",
        "Leak 1 | 10h | ok | 7.1 | OEM 5",
        Health::Degraded,
        "Leak 1 says \"OEM 5\", which may or may not be a leak: name it under leak_states or dry_states",
    ),
];

#[test]
fn verdicts() {
    for (config, text, health, reason) in VERDICTS.iter().cloned() {
        assert_eq!(one(config, text), (health, reason.to_owned()), "{text}");
    }
}

const DRY: Answer = Ok("Leak 1 | 10h | ok | 7.1 | State Deasserted");
const WET: Answer = Ok("Leak 1 | 10h | ok | 7.1 | State Asserted");
const GONE: Answer = Ok("Leak 1 | 10h | ns | 7.1 | No Reading");

#[test]
fn a_leak_has_a_state_of_its_own_that_stays() {
    let context = test_context("server-bmc", 1_000);
    let config = Config::parse("{}").unwrap();
    let sensors = elist::parse(WET.unwrap());
    let (report, _) = judge(
        &context,
        &config,
        Ok(&sensors),
        &mut KnownLeakSensors::default(),
        &Memory::default(),
    );
    assert_eq!(report.states[0].health, Health::Healthy);
    let leak = &report.states[1];
    assert_eq!(leak.name.as_deref(), Some(LEAK_STATE));
    assert_eq!(leak.health, Health::Unhealthy);
    assert!(leak.latch);
    assert_eq!(leak.recovery, [Recovery::SetHealthy]);
    let actions = &leak.suggested_actions.as_ref().unwrap().repair_actions;
    assert_eq!(*actions, [RepairAction::HardwareInspection]);
    let (states, events) = run("{}", &[DRY, WET, DRY]);
    assert_eq!(states.len(), 1);
    assert_eq!(events, ["bmc_coolant_leak", "bmc_coolant_leak_cleared"]);
}

#[test]
fn a_leak_sensor_that_falls_silent() {
    let (states, events) = run("{}", &[DRY, GONE, Ok("")]);
    assert_eq!(
        states,
        [(
            Health::Degraded,
            "leak sensor Leak 1 gives no reading any more".to_owned()
        )]
    );
    assert_eq!(events, ["bmc_leak_sensor_silent"]);
    // One that never gave a reading is not connected.
    assert_eq!(run("{}", &[GONE, GONE]).1.len(), 0);
}

#[test]
fn what_is_not_known_is_not_over() {
    let hot: Answer = Ok("T | 10h | ucr | 7.1 | 95 degrees C");
    let (states, events) = run("{}", &[hot, Err("busy")]);
    assert_eq!(
        states,
        [(
            Health::Degraded,
            "the controller's sensors cannot be read (busy); last known trouble: T".to_owned()
        )]
    );
    assert_eq!(events, ["bmc_temperature", "bmc_unreadable"]);
    let (_, events) = run("{}", &[hot, Err("busy"), hot]);
    assert_eq!(
        events,
        [
            "bmc_temperature",
            "bmc_unreadable",
            "bmc_unreadable_cleared"
        ]
    );
    let (states, _) = run("{}", &[WET, Err("busy")]);
    assert_eq!(states[0].0, Health::Unhealthy);
}
