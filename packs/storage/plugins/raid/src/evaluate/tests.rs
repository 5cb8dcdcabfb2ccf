use super::*;
use crate::storcli;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn run(config: &str, checks: &[Result<&Answer, &str>]) -> (Health, String, Vec<String>) {
    let context = test_context("storage-raid", 1_000);
    let config = Config::parse(config).unwrap();
    let mut memory = Memory::default();
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for check in checks {
        let (report, after) = judge(&context, &config, *check, &memory);
        memory = after;
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.into_iter().map(|event| event.name));
    }
    answer
}

fn fine() -> Controller {
    Controller {
        status: "Optimal".to_owned(),
        celsius: Some(60),
        volumes: vec![Volume {
            id: "0/0".to_owned(),
            level: "RAID1".to_owned(),
            state: "Optl".to_owned(),
            name: "os".to_owned(),
        }],
        disks: vec![Disk {
            slot: "64:0".to_owned(),
            state: "Onln".to_owned(),
            group: "0".to_owned(),
            model: "M".to_owned(),
            ..Disk::default()
        }],
        backups: vec![Backup {
            model: "CV".to_owned(),
            state: "Optimal".to_owned(),
        }],
        ..Controller::default()
    }
}

fn answer(controller: Controller) -> Answer {
    Answer {
        controllers: vec![controller],
        unread: Vec::new(),
    }
}

type Change = fn(&mut Controller);

const HEALTHY: &str = "1 controllers with 1 virtual and 1 physical drives, none failed";

/// Configurations, changes of a controller that is well, and the health and the reason that follow.
const VERDICTS: &[(&str, Change, Health, &str)] = &[
    ("{}", |_| {}, Health::Healthy, HEALTHY),
    (
        "{}",
        |one| one.volumes[0].state = "Dgrd".into(),
        Health::Degraded,
        "c0/0/0 (RAID1, os) is degraded: another disk less may cost its data",
    ),
    (
        "{}",
        |one| one.volumes[0].state = "Pdgd".into(),
        Health::Degraded,
        "c0/0/0 (RAID1, os) is partially degraded",
    ),
    (
        "{}",
        |one| one.volumes[0].state = "OfLn".into(),
        Health::Unhealthy,
        "c0/0/0 (RAID1, os) is offline",
    ),
    (
        "{}",
        |one| one.status = "Controller Lockup".into(),
        Health::Unhealthy,
        "c0 says Controller Lockup: it answers no access to its drives",
    ),
    (
        "{}",
        |one| one.volumes[0].state = "Rec".into(),
        Health::Degraded,
        "c0/0/0 (RAID1, os) is recovering",
    ),
    (
        "{}",
        |one| one.volumes[0].state = "Xyz".into(),
        Health::Degraded,
        "c0/0/0 (RAID1, os) is in the state Xyz, which gpud does not know",
    ),
    (
        "{}",
        |one| one.disks[0].state = "Failed".into(),
        Health::Degraded,
        "disk c0/64:0 (M) has failed",
    ),
    (
        "{}",
        |one| one.disks[0].state = "UBad".into(),
        Health::Degraded,
        "disk c0/64:0 (M) is bad, and in no group",
    ),
    (
        "{}",
        |one| one.disks[0].state = "Rbld".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| one.disks[0].group = "F".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        r#"{"ignored_slots":["c0/64:0"]}"#,
        |one| one.disks[0].state = "Failed".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| one.backups[0].state = "Learning".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| one.backups[0].state = "Failed".into(),
        Health::Degraded,
        "c0: the cache's backup CV says Failed",
    ),
    (
        "{}",
        |one| one.backups[0].state = "Unknown".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| {
            one.backups[0].state = "Unknown".into();
            one.status = "Needs Attention".into();
        },
        Health::Degraded,
        "c0: the cache's backup CV says Unknown. During a learn cycle of the battery that is so for hours; if it stays, look into the controller's log.",
    ),
    (
        "{}",
        |one| {
            one.disks[0].state = "UConf".into();
            one.disks[0].status = "Failed".into();
            one.disks[0].serial = "S1".into();
        },
        Health::Degraded,
        "disk c0/64:0 (M, serial S1) has failed",
    ),
    (
        "{}",
        |one| {
            one.disks[0].state = "Conf".into();
            one.disks[0].status = "Online".into();
        },
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| one.disks[0].status = "Sanitize".into(),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| {
            one.predicted = 1;
            one.status = "Need Attention".into();
        },
        Health::Degraded,
        "c0 counts 1 disks that are about to fail",
    ),
    (
        "{}",
        |one| one.celsius = Some(106),
        Health::Degraded,
        "c0 has 106 °C, more than 105 °C",
    ),
    (
        r#"{"max_controller_celsius":0}"#,
        |one| one.celsius = Some(106),
        Health::Healthy,
        HEALTHY,
    ),
    (
        "{}",
        |one| one.memory_errors = 2,
        Health::Degraded,
        "c0: 2 uncorrectable errors of the controller's memory",
    ),
    (
        "{}",
        |one| one.status = "Needs Attention".into(),
        Health::Degraded,
        "c0 says Needs Attention",
    ),
    (
        "{}",
        |one| one.status = "Failed".into(),
        Health::Unhealthy,
        "c0 has failed",
    ),
    (
        r#"{"min_hot_spares":1}"#,
        |_| {},
        Health::Degraded,
        "c0 has 0 hot spares, expected 1",
    ),
    (
        r#"{"expected_controllers":2}"#,
        |_| {},
        Health::Degraded,
        "1 controllers answer, expected 2",
    ),
];

#[test]
fn verdicts() {
    for (config, change, health, reason) in VERDICTS.iter().cloned() {
        let mut controller = fine();
        change(&mut controller);
        let (found, said, _) = run(config, &[Ok(&answer(controller))]);
        assert_eq!((found, said.as_str()), (health, reason));
    }
}

#[test]
fn what_begins_and_ends() {
    let degraded = storcli::parse(storcli::tests::TEXT).unwrap();
    let (health, reason, events) = run("{}", &[Ok(&degraded), Err("busy"), Ok(&degraded)]);
    assert_eq!(health, Health::Degraded);
    assert_eq!(
        reason,
        "c0/1/238 (RAID6, data) is partially degraded; disk c0/64:2 (KPM6XRUG7T68) has failed"
    );
    assert_eq!(
        events,
        [
            "storage_raid_partially_degraded",
            "storage_raid_disk_failed",
            "storage_raid_disk_note",
            "storage_raid_disk_note",
            "storage_raid_unreadable",
            "storage_raid_unreadable_cleared",
        ]
    );
    let (_, reason, _) = run("{}", &[Ok(&degraded), Err("busy")]);
    assert!(
        reason.starts_with(
            "the RAID controllers cannot be read (busy); last known trouble: c0/1/238"
        )
    );
}

#[test]
fn one_controller_that_says_nothing_hides_no_other() {
    let mut offline = fine();
    offline.volumes[0].state = "OfLn".into();
    let mut second = fine();
    second.number = 1;
    second.disks[0].state = "Failed".into();
    let both = Answer {
        controllers: vec![offline.clone(), second],
        unread: Vec::new(),
    };
    let one = Answer {
        controllers: vec![offline],
        unread: vec![(1, "busy".to_owned())],
    };
    let (health, reason, _) = run("{}", &[Ok(&one)]);
    assert_eq!(health, Health::Unhealthy);
    assert_eq!(
        reason,
        "c0/0/0 (RAID1, os) is offline; controller c1 cannot be read (busy)"
    );
    let (_, reason, events) = run("{}", &[Ok(&both), Ok(&one), Ok(&both)]);
    assert!(reason.contains("disk c1/64:0 (M) has failed"), "{reason}");
    assert_eq!(
        events,
        [
            "storage_raid_offline",
            "storage_raid_disk_failed",
            "storage_raid_unreadable",
            "storage_raid_unreadable_cleared",
        ]
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
