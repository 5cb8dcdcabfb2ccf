use super::*;
use crate::wear;
use gpud_builtin_smart::health;
use gpud_sdk::Health as State;
use gpud_sdk::testing::test_context;

fn nvme(more: &str) -> Disk {
    let text = format!(
        r#"{{"model_name":"X","serial_number":"S1","smart_status":{{"passed":true}},"temperature":{{"current":41}},
        "nvme_smart_health_information_log":{{"available_spare_threshold":10{more}}}}}"#
    );
    disk("nvme0", &text)
}

fn sata(table: &str) -> Disk {
    disk(
        "sda",
        &format!(
            r#"{{"serial_number":"S2","smart_status":{{"passed":true}},"ata_smart_attributes":{{"table":[{table}]}}}}"#
        ),
    )
}

fn disk(name: &str, text: &str) -> Disk {
    let health = health::smartctl(text).unwrap();
    Disk {
        name: name.to_owned(),
        said: DiskAnswer::Health(Box::new((health, wear::smartctl(text)))),
    }
}

fn silent(name: &str, said: DiskAnswer) -> Disk {
    Disk {
        name: name.to_owned(),
        said,
    }
}

fn run(config: &str, checks: &[&[Disk]]) -> (State, String, Vec<String>) {
    let mut context = test_context("storage-disks", 1_800_000_000_000);
    let config = Config::parse(config).unwrap();
    let (mut counters, mut memory) = (Counters::default(), Memory::default());
    let mut answer = (State::Healthy, String::new(), Vec::new());
    for disks in checks {
        context.now += 900_000;
        let (report, after) = judge(&context, &config, disks, &mut counters, &memory);
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
fn verdicts() {
    let fine = "disks in good health: 1";
    let crc = |count: u32| sata(&format!(r#"{{"id":199,"raw":{{"value":{count}}}}}"#));
    let reported = |count: u32| {
        sata(&format!(
            r#"{{"id":187,"name":"Reported_Uncorrect","raw":{{"value":{count}}}}}"#
        ))
    };
    let errors = |count: u32| nvme(&format!(r#","media_errors":{count}"#));
    for (config, disks, health, reason) in [
        (
            "{}",
            vec![nvme(r#","available_spare":100,"percentage_used":3"#)],
            State::Healthy,
            fine,
        ),
        (
            "{}",
            vec![nvme(r#","available_spare":15"#)],
            State::Degraded,
            "nvme0 (X, serial S1) has 15 % of its spare blocks left, and fails below 10 %",
        ),
        (
            r#"{"spare_margin_percent":0}"#,
            vec![nvme(r#","available_spare":15"#)],
            State::Healthy,
            fine,
        ),
        (
            "{}",
            vec![nvme(r#","critical_warning":1,"available_spare":5"#)],
            State::Unhealthy,
            "nvme0 (X, serial S1) reports that it is failing: spare blocks below threshold",
        ),
        (
            "{}",
            vec![nvme(r#","critical_warning":2"#)],
            State::Degraded,
            "nvme0 (X, serial S1) is too hot by its own measure",
        ),
        (
            "{}",
            vec![nvme(r#","percentage_used":90"#)],
            State::Degraded,
            "nvme0 (X, serial S1) has used 90 % of its endurance",
        ),
        (
            "{}",
            vec![nvme(
                r#","critical_warning":4,"percentage_used":100,"available_spare":100,"media_errors":0"#,
            )],
            State::Degraded,
            "nvme0 (X, serial S1) has used 100 % of its endurance, and warns of its reliability for that alone",
        ),
        (
            "{}",
            vec![reported(1), reported(45)],
            State::Degraded,
            "sda (serial S2): 44 new errors of the medium within 24 h",
        ),
        (
            r#"{"max_used_percent":0}"#,
            vec![nvme(r#","percentage_used":190"#)],
            State::Healthy,
            fine,
        ),
        ("{}", vec![errors(5)], State::Healthy, fine),
        (
            "{}",
            vec![errors(5), errors(6)],
            State::Degraded,
            "nvme0 (X, serial S1): 1 new errors of the medium within 24 h",
        ),
        (
            r#"{"max_new_media_errors":1}"#,
            vec![errors(5), errors(6)],
            State::Healthy,
            fine,
        ),
        ("{}", vec![crc(500), crc(510)], State::Healthy, fine),
        (
            "{}",
            vec![crc(500), crc(511)],
            State::Degraded,
            "sda (serial S2): 11 transfers failed between disk and controller within 24 h",
        ),
        (
            "{}",
            vec![sata(r#"{"id":197,"raw":{"value":1}}"#)],
            State::Degraded,
            "sda (serial S2): 1 sectors cannot be read",
        ),
        (
            "{}",
            vec![sata(r#"{"id":5,"raw":{"value":51}}"#)],
            State::Degraded,
            "sda (serial S2): 51 sectors were replaced",
        ),
        (
            r#"{"ignored_disks":["sd*"]}"#,
            vec![sata(r#"{"id":5,"raw":{"value":51}}"#)],
            State::Healthy,
            "disks in good health: 0",
        ),
        (
            r#"{"expected_disks":2}"#,
            vec![nvme("")],
            State::Degraded,
            "1 disks report their health, expected 2",
        ),
        (
            "{}",
            vec![silent(
                "sdb",
                DiskAnswer::Nothing("Unknown USB bridge".into()),
            )],
            State::Healthy,
            "disks in good health: 0; 1 do not report it (sdb: Unknown USB bridge)",
        ),
        (
            "{}",
            vec![
                nvme(""),
                silent("nvme0", DiskAnswer::Nothing("no such device".into())),
            ],
            State::Degraded,
            "nvme0 (serial S1) does not report its health any more (no such device)",
        ),
        (
            "{}",
            vec![nvme(""), silent("nvme0", DiskAnswer::Asleep)],
            State::Healthy,
            "disks in good health: 0; 1 asleep",
        ),
    ] {
        let checks: Vec<&[Disk]> = disks.iter().map(std::slice::from_ref).collect();
        let (found, said, _) = run(config, &checks);
        assert_eq!((found, said.as_str()), (health, reason));
    }
    let failed = disk("sdc", r#"{"smart_status":{"passed":false}}"#);
    assert_eq!(run("{}", &[&[failed]]).0, State::Unhealthy);
}

#[test]
fn what_a_silent_disk_had_is_not_over() {
    let worn = [nvme(r#","percentage_used":95"#)];
    let none: [Disk; 0] = [];
    let (health, reason, events) = run("{}", &[&worn, &none, &worn]);
    assert_eq!(health, State::Degraded);
    assert_eq!(
        reason,
        "nvme0 (X, serial S1) has used 95 % of its endurance"
    );
    assert_eq!(
        events,
        [
            "storage_disk_worn",
            "storage_disk_silent",
            "storage_disk_silent_cleared"
        ]
    );
    // Somebody took it out, and said so.
    let context = CheckContext {
        trigger: Trigger::SetHealthy,
        ..test_context("storage-disks", 1)
    };
    let mut counters = Counters::default();
    counters.take(1, 1, "nvme0", "S1", None, None);
    let config = Config::parse("{}").unwrap();
    let (report, _) = judge(&context, &config, &none, &mut counters, &Memory::default());
    assert_eq!(report.states[0].health, State::Healthy);
    assert!(!counters.knows("nvme0"));
    assert_eq!(
        run("{}", &[&worn, &none]).1,
        "nvme0 (serial S1) does not report its health any more (the disk is gone)"
    );
}

#[test]
fn the_schema_says_the_same() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let defaults = schema["properties"].as_object().unwrap().iter();
    let defaults: serde_json::Map<_, _> = defaults
        .map(|(key, value)| (key.clone(), value["default"].clone()))
        .collect();
    let defaults = serde_json::Value::Object(defaults).to_string();
    assert_eq!(Config::parse(&defaults), Config::parse("{}"));
    assert!(Config::parse("{").is_err());
}
