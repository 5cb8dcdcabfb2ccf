use super::*;
use crate::log;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

type Answer = Result<&'static str, &'static str>;

/// Checks, each with what the log and the sensors said.
fn run(config: &str, checks: &[(Answer, Answer)]) -> (Health, String, Vec<String>) {
    let context = test_context("ipmi", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut log_memory, mut memory) = (LogMemory::default(), Memory::default());
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for (log, sensors) in checks {
        let inputs = Inputs {
            log: log.map(log::parse).map_err(str::to_owned),
            sensors: sensors.map(sensors::parse).map_err(str::to_owned),
            supplies: Vec::new(),
        };
        let (report, after) = judge(&context, &config, &inputs, &mut log_memory, &memory);
        memory = after;
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.iter().map(|event| event.name.clone()));
    }
    answer
}

const LOST: &str = "1,04/12/2024,10:20:30,Power Supply #0x51,Power Supply AC lost,Asserted\n";
const BACK: &str = "1,04/12/2024,10:20:30,Power Supply #0x51,Power Supply AC lost,Asserted\n2,04/12/2024,10:25:30,Power Supply #0x51,Power Supply AC lost,Deasserted\n";

#[test]
fn sensors_are_judged() {
    for (config, sensors, health, reason) in [
        (
            "{}",
            Ok("T,45,degrees C,ok\nF,1,RPM,nc\n"),
            Health::Healthy,
            "2 sensors, none critical; 0 entries of the event log read",
        ),
        (
            "{}",
            Ok("T,95,degrees C,cr\n"),
            Health::Degraded,
            "T: 95 degrees C is critical",
        ),
        (
            "{}",
            // iLO 2: sensors without thresholds that claim to have crossed one.
            Ok("T,45,degrees C,ok\nVRM 1,0,unspecified,cr\nPower Meter,236,Watts,cr\n"),
            Health::Healthy,
            "3 sensors, none critical; 0 entries of the event log read",
        ),
        (
            "{}",
            Ok("VRM 1,0,unspecified,cr\nT,95,degrees C,cr\n"),
            Health::Degraded,
            "T: 95 degrees C is critical",
        ),
        (
            "{}",
            Ok("T,120,degrees C,nr\n"),
            Health::Unhealthy,
            "T: 120 degrees C is beyond what the hardware stands",
        ),
        (
            r#"{"ignored_sensors":["T"]}"#,
            Ok("T,95,degrees C,cr\n"),
            Health::Healthy,
            "1 sensors, none critical; 0 entries of the event log read",
        ),
        (
            r#"{"ignored_sensors":["T"]}"#,
            Ok("T,95,degrees C,cr\nT,95,degrees C,cr\n"),
            Health::Healthy,
            "2 sensors, none critical; 0 entries of the event log read",
        ),
        (
            r#"{"ignored_sensors":["T #2"]}"#,
            Ok("T,95,degrees C,cr\nT,95,degrees C,cr\n"),
            Health::Degraded,
            "T: 95 degrees C is critical",
        ),
        (
            "{}",
            Err("timeout"),
            Health::Degraded,
            "the controller's sensors cannot be read (timeout). A controller that stays silent may want a reset (ipmitool mc reset cold).",
        ),
        (
            "{}",
            // ipmitool 1.8.19 of Debian 12, without root, where /dev/ipmi0 is there.
            Err(
                "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory",
            ),
            Health::Degraded,
            "the controller's sensors cannot be read (Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory). gpud has to run as root for it.",
        ),
    ] {
        let (found, said, _) = run(config, &[(Ok(""), sensors)]);
        assert_eq!((found, said.as_str()), (health, reason));
    }
}

#[test]
fn news_of_the_log() {
    let fine: Answer = Ok("T,45,degrees C,ok\n");
    // An old entry is no news.
    assert_eq!(run("{}", &[(Ok(LOST), fine), (Ok(LOST), fine)]).2.len(), 0);
    let (health, reason, events) = run("{}", &[(Ok(""), fine), (Ok(LOST), fine)]);
    assert_eq!(health, Health::Degraded);
    assert_eq!(
        reason,
        "Power Supply #0x51 Power Supply AC lost (since 04/12/2024 10:20:30)"
    );
    assert_eq!(events, ["ipmi_power_supply", "ipmi_event_log"]);
    let (health, _, events) = run("{}", &[(Ok(""), fine), (Ok(LOST), fine), (Ok(BACK), fine)]);
    assert_eq!((health, events.len()), (Health::Healthy, 4));
    // A controller that does not answer once.
    let (health, ..) = run(
        "{}",
        &[(Ok(""), fine), (Ok(LOST), fine), (Err("busy"), fine)],
    );
    assert_eq!(health, Health::Degraded);
}

#[test]
fn a_full_log() {
    let fine: Answer = Ok("T,45,degrees C,ok\n");
    let full = "1,04/12/24,10:20:30 UTC,Event Logging Disabled #0x72,Log full,Asserted\n";
    let (health, reason, events) = run("{}", &[(Ok(full), fine), (Err("busy"), fine)]);
    assert_eq!(health, Health::Degraded);
    assert!(reason.contains("was full"), "{reason}");
    assert_eq!(events, ["ipmi_event_log_full", "ipmi_unreadable"]);
    let later = "1,04/12/24,10:20:30 UTC,Event Logging Disabled #0x72,Log full,Asserted\n\
        2,04/12/24,10:25:30 UTC,Fan #0x30,Lower Non-critical going low ,Asserted\n";
    assert_eq!(run("{}", &[(Ok(later), fine)]).0, Health::Healthy);
}

#[test]
fn what_is_not_known_is_not_over() {
    for (sensors, event, health) in [
        (
            "T,95,degrees C,cr\n",
            "ipmi_sensor_critical",
            Health::Degraded,
        ),
        (
            "T,120,degrees C,nr\n",
            "ipmi_sensor_non_recoverable",
            Health::Unhealthy,
        ),
    ] {
        let (hot, lost): (Answer, Answer) = (Ok(sensors), Err("busy"));
        let (found, reason, _) = run("{}", &[(Ok(""), hot), (Ok(""), lost)]);
        assert_eq!(found, health, "{reason}");
        let (.., events) = run("{}", &[(Ok(""), hot), (Ok(""), lost), (Ok(""), hot)]);
        assert_eq!(
            events,
            [event, "ipmi_unreadable", "ipmi_unreadable_cleared"]
        );
    }
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
