use super::*;
use gpud_sdk::Health as Verdict;
use gpud_sdk::testing::test_context;

fn run(config: &str, checks: &[Result<Health, UnknownHealth>]) -> (Verdict, String, Vec<String>) {
    let context = test_context("disk-smart", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut counters, mut memory) = (Counters::default(), Memory::default());
    let mut answer = (Verdict::Healthy, String::new(), Vec::new());
    for health in checks {
        let answers = [Answer {
            name: "nvme0".to_owned(),
            health: health.clone(),
        }];
        let (report, after) = judge(&context, &config, &answers, 0, &mut counters, &memory);
        (counters, memory) = (Counters::restore(Some(&counters.save())), after);
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.iter().map(|event| event.name.clone()));
    }
    answer
}

fn fine() -> Health {
    Health {
        passed: Some(true),
        ..Health::default()
    }
}

#[test]
fn verdicts() {
    let healthy = "1 of 1 disks are in good health";
    for (config, health, verdict, reason) in [
        ("{}", fine(), Verdict::Healthy, healthy),
        (
            "{}",
            Health {
                passed: Some(false),
                ..fine()
            },
            Verdict::Unhealthy,
            "nvme0 reports that it is failing",
        ),
        (
            "{}",
            Health {
                passed: Some(false),
                warning: 0b1001,
                ..fine()
            },
            Verdict::Unhealthy,
            "nvme0 reports that it is failing: spare blocks below threshold, medium is read-only",
        ),
        (
            "{}",
            Health {
                passed: Some(false),
                warning: HEAT,
                ..fine()
            },
            Verdict::Degraded,
            "nvme0 is too hot by its own measure",
        ),
        (
            "{}",
            Health {
                used: Some(99.0),
                ..fine()
            },
            Verdict::Healthy,
            healthy,
        ),
        (
            "{}",
            Health {
                used: Some(100.0),
                ..fine()
            },
            Verdict::Degraded,
            "nvme0 has used 100 % of its endurance",
        ),
        (
            "{}",
            Health {
                passed: Some(false),
                warning: 4,
                used: Some(101.0),
                spare: Some(100.0),
                spare_threshold: Some(10),
                errors: Some(0),
                ..fine()
            },
            Verdict::Degraded,
            "nvme0 has used 101 % of its endurance, and warns of its reliability for that alone",
        ),
        (
            r#"{"max_used_percent":0}"#,
            Health {
                used: Some(255.0),
                ..fine()
            },
            Verdict::Healthy,
            healthy,
        ),
        (
            "{}",
            Health {
                pending: Some(1),
                ..fine()
            },
            Verdict::Degraded,
            "nvme0: 1 sector cannot be read",
        ),
        (
            r#"{"max_pending_sectors":1}"#,
            Health {
                pending: Some(1),
                ..fine()
            },
            Verdict::Healthy,
            healthy,
        ),
        (
            r#"{"ignored_devices":["nvme0"]}"#,
            Health {
                passed: Some(false),
                ..fine()
            },
            Verdict::Healthy,
            healthy,
        ),
    ] {
        let (found, said, _) = run(config, &[Ok(health)]);
        assert_eq!((found, said.as_str()), (verdict, reason));
    }
}

fn silent(silence: NoHealthReason) -> Result<Health, UnknownHealth> {
    Err(UnknownHealth {
        silence,
        why: "why".to_owned(),
    })
}

#[test]
fn a_disk_is_named_so_that_it_can_be_found() {
    let health = Health {
        passed: Some(false),
        model: "M".to_owned(),
        serial: "S".to_owned(),
        failing: vec!["Reallocated_Sector_Ct".to_owned()],
        ..fine()
    };
    assert_eq!(
        run("{}", &[Ok(health)]).1,
        "nvme0 (M, serial S) reports that it is failing: Reallocated_Sector_Ct"
    );
}

#[test]
fn unreadable_is_never_healthy() {
    let (found, said, events) = run("{}", &[silent(NoHealthReason::Unread)]);
    assert_eq!(
        (found, events),
        (Verdict::Degraded, vec!["disk_smart_unreadable".to_owned()])
    );
    assert_eq!(
        said,
        "nvme0 cannot be asked for its health (why). See what smartctl -a says of it."
    );
    // It reported its health before.
    let (found, ..) = run("{}", &[Ok(fine()), silent(NoHealthReason::Nothing)]);
    assert_eq!(found, Verdict::Degraded);
    let (found, said, events) = run("{}", &[silent(NoHealthReason::Asleep)]);
    assert_eq!((found, events.len()), (Verdict::Healthy, 0));
    assert_eq!(
        said,
        "0 of 1 disks are in good health; 1 asleep and not asked"
    );
    let ignored = r#"{"ignored_devices":["nvme0"]}"#;
    assert_eq!(
        run(ignored, &[silent(NoHealthReason::Unread)]).0,
        Verdict::Healthy
    );
}

#[test]
fn disks_without_a_health_are_not_watched() {
    let answer = |name: &str, health| Answer {
        name: name.to_owned(),
        health,
    };
    let context = test_context("disk-smart", 1_000);
    let config = Config::parse("{}").unwrap();
    let none = [answer("sda", silent(NoHealthReason::Nothing))];
    let judged = |answers: &[Answer]| {
        let mut counters = Counters::default();
        let (report, _) = judge(
            &context,
            &config,
            answers,
            0,
            &mut counters,
            &Memory::default(),
        );
        (report.supported, report.states[0].reason.clone())
    };
    assert_eq!(
        judged(&none),
        (
            false,
            "no disk reports its health here (sda: why)".to_owned()
        )
    );
    let both = [answer("nvme0", Ok(fine())), none[0].clone()];
    assert_eq!(
        judged(&both),
        (
            true,
            "1 of 2 disks are in good health; 1 without a report (sda: why)".to_owned()
        )
    );
}

#[test]
fn skipped_disks_are_reported() {
    let context = test_context("disk-smart", 1_000);
    let config = Config::parse("{}").unwrap();
    let answers = [Answer {
        name: "sda".to_owned(),
        health: Ok(fine()),
    }];
    let mut counters = Counters::default();
    let none = Memory::default();
    let (report, _) = judge(&context, &config, &answers, 20, &mut counters, &none);
    assert_eq!(
        report.states[0].reason,
        "1 of 1 disks are in good health; 20 more were not asked"
    );
}

#[test]
fn a_failing_disk_that_falls_silent_is_not_well() {
    let failing = Health {
        passed: Some(false),
        ..fine()
    };
    for silence in [
        NoHealthReason::Asleep,
        NoHealthReason::Nothing,
        NoHealthReason::Unread,
    ] {
        let (found, said, events) = run("{}", &[Ok(failing.clone()), silent(silence)]);
        assert_eq!(found, Verdict::Unhealthy, "{silence:?}");
        assert!(said.starts_with("nvme0 reported that it was failing when it last answered"));
        assert!(!events.contains(&"disk_smart_failing_cleared".to_owned()));
    }
    let (found, _, events) = run(
        "{}",
        &[Ok(failing), silent(NoHealthReason::Asleep), Ok(fine())],
    );
    assert_eq!(
        (found, events.last().map(String::as_str)),
        (Verdict::Healthy, Some("disk_smart_failing_cleared"))
    );
}

#[test]
fn new_errors_are_events() {
    let with = |errors| {
        Ok(Health {
            errors: Some(errors),
            ..fine()
        })
    };
    assert!(run("{}", &[with(7), with(7), with(0)]).2.is_empty());
    let (found, said, events) = run("{}", &[with(7), with(9)]);
    assert_eq!(
        (found, said.as_str(), events),
        (
            Verdict::Degraded,
            "nvme0: 2 new errors of the medium within a day, 9 in its life",
            vec!["disk_smart_media_errors".to_owned()]
        )
    );
    // Each growth is an event; a day without any ends the finding.
    let (_, said, events) = run("{}", &[with(7), with(9), with(9), with(12)]);
    assert_eq!((said.contains(": 5 new errors"), events.len()), (true, 2));
    let silent = silent(NoHealthReason::Asleep);
    let (found, ..) = run("{}", &[with(7), with(9), silent]);
    assert_eq!(found, Verdict::Degraded);
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
