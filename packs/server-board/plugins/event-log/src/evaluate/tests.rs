use super::*;
use crate::info;
use gpud_builtin_ipmi::log;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

const ECC: &str = "2,04/12/2024,10:21:30,Memory #0x01,Uncorrectable ECC,Asserted\n";

/// Checks with log and info, one after another.
fn run(
    config: &str,
    checks: &[(Result<&str, &str>, &str, Trigger)],
) -> (Health, String, Vec<String>) {
    let mut context = test_context("server-event-log", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut log_memory, mut memory) = (LogMemory::default(), Memory::default());
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for (text, info, trigger) in checks {
        context.now += 60_000;
        context.trigger = trigger.clone();
        let mut reading = Reading::of(text.map(log::parse).map_err(str::to_owned));
        reading.info = Some(info::parse(info));
        let (report, after) = judge(&context, &config, &reading, &mut log_memory, &memory);
        memory = after;
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.into_iter().map(|event| event.name));
    }
    answer
}

#[test]
fn troubles_last_until_someone_looks() {
    use Trigger::{Scheduled, SetHealthy};
    let ecc = "Memory #0x01 Uncorrectable ECC (04/12/2024 10:21:30 by the controller's clock)";
    let fine = "1 entries of the event log read, no open trouble";
    for (config, checks, health, reason, events) in [
        (
            "{}",
            vec![(Ok(ECC), "", Scheduled)],
            Health::Healthy,
            fine,
            0,
        ),
        (
            "{}",
            vec![
                (Ok(""), "", Scheduled),
                (Ok(ECC), "", Scheduled),
                (Ok(ECC), "", Scheduled),
            ],
            Health::Degraded,
            ecc,
            1,
        ),
        (
            "{}",
            vec![
                (Ok(""), "", Scheduled),
                (Ok(ECC), "", Scheduled),
                (Ok(ECC), "", SetHealthy),
            ],
            Health::Healthy,
            fine,
            2,
        ),
        (
            r#"{"ignored":["memory*"]}"#,
            vec![(Ok(""), "", Scheduled), (Ok(ECC), "", Scheduled)],
            Health::Healthy,
            fine,
            1,
        ),
        (
            "{}",
            vec![
                (Ok(""), "", Scheduled),
                (Ok(ECC), "", Scheduled),
                (Err("busy"), "", Scheduled),
            ],
            Health::Degraded,
            &format!("the controller's event log cannot be read (busy); {ecc}"),
            2,
        ),
        (
            "{}",
            vec![(Ok(""), "Percent Used : 95%", Scheduled)],
            Health::Degraded,
            &format!("the event log is 95 % full. {CLEAR_IT}"),
            1,
        ),
        (
            "{}",
            vec![(Ok(""), "Percent Used : 95%\nOverflow : true", Scheduled)],
            Health::Degraded,
            &format!("the event log is full, and entries were lost. {CLEAR_IT}"),
            1,
        ),
        (
            r#"{"full_percent":0}"#,
            vec![(Ok(ECC), "Percent Used : 95%", Scheduled)],
            Health::Healthy,
            fine,
            0,
        ),
    ] {
        let (found, said, reported) = run(config, &checks);
        assert_eq!(
            (found, said.as_str(), reported.len()),
            (health, reason, events),
            "{reported:?}"
        );
    }
}

#[test]
fn the_schema_says_the_same() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let default = |key: &str| schema["properties"][key]["default"].clone();
    let config = serde_json::json!({
        "keep_hours": default("keep_hours"), "full_percent": default("full_percent"), "ignored": default("ignored"),
        "lifecycle_log": default("lifecycle_log"),
    });
    assert_eq!(Config::parse(&config.to_string()), Config::parse("{}"));
    assert!(Config::parse("{").is_err());
}
