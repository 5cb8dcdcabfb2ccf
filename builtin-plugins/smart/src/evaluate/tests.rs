use super::*;
use gpud_builtin_shared::findings::test_context;
use gpud_sdk::Health as Verdict;

fn run(config: &str, checks: &[Result<Health, String>]) -> (Verdict, String, Vec<String>) {
    let context = test_context("disk-smart", 1_000);
    let config = Config::parse(config).unwrap();
    let (mut counters, mut memory) = (Counters::default(), Memory::default());
    let mut answer = (Verdict::Healthy, String::new(), Vec::new());
    for health in checks {
        let answers = [Answer {
            name: "nvme0".to_owned(),
            health: health.clone(),
        }];
        let (report, after) = judge(&context, &config, &answers, &mut counters, &memory);
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
    let healthy = "1 of 1 disks find themselves healthy";
    for (config, health, verdict, reason) in [
        ("{}", fine(), Verdict::Healthy, healthy),
        (
            "{}",
            Health {
                passed: Some(false),
                ..fine()
            },
            Verdict::Unhealthy,
            "nvme0 finds itself failing",
        ),
        (
            "{}",
            Health {
                passed: Some(false),
                warning: 0b1001,
                ..fine()
            },
            Verdict::Unhealthy,
            "nvme0 finds itself failing: spare blocks below threshold, medium is read-only",
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
            "nvme0: 1 sectors cannot be read",
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

#[test]
fn what_cannot_be_asked_is_said() {
    let (found, said, events) = run("{}", &[Err("Permission denied".to_owned())]);
    assert_eq!((found, events.len()), (Verdict::Healthy, 0));
    assert_eq!(
        said,
        "no disk tells its health; 1 cannot be told (nvme0: Permission denied)"
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
    assert_eq!(
        run("{}", &[with(7), with(9)]).2,
        ["disk_smart_media_errors"]
    );
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
