//! Programs and mounts that give no answer.

use super::*;

#[test]
fn an_unreadable_store_is_named() {
    let config = Config::default();
    let broken = || AccessError::Other("disk I/O error".into());
    for (events, reboots, reason) in [
        (Err(broken()), Ok(Vec::new()), "failed to get recent events"),
        (failure(), Err(broken()), "failed to get reboot events"),
    ] {
        let inputs = Inputs {
            log: Log {
                available: true,
                events,
                reboots,
            },
            ..inputs(&config)
        };
        let before = Counters {
            lsblk: 2,
            ..Counters::default()
        };
        let (report, after) = judge(&context(), inputs, &before);
        let state = HealthState::unhealthy(&context(), reason).error("disk I/O error");
        assert_eq!((report.states, after), (vec![state], before));
    }
}

#[test]
fn a_failing_lsblk_gets_five_checks() {
    let config = Config::default();
    let mut counters = Counters::default();
    for check in 1..=7 {
        let inputs = Inputs {
            devices: Devices::Failed("lsblk: exit code 1: x".into()),
            ..inputs(&config)
        };
        let (report, after) = judge(&context(), inputs, &counters);
        let reason = if check < 5 {
            "ok"
        } else {
            "no block device found"
        };
        assert_eq!(
            short(&report.states[0]),
            (Health::Healthy, reason),
            "check {check}"
        );
        assert_eq!(
            report.states[0].error.as_deref(),
            Some("lsblk: exit code 1: x")
        );
        counters = after;
    }
    let scan = Inputs {
        devices: Devices::Failed("x".into()),
        log: Log::default(),
        ..inputs(&config)
    };
    let (report, _) = judge(&context(), scan, &Counters::default());
    assert_eq!(report.states[0].reason, "no block device found");
}

#[test]
fn a_silent_network_mount_gets_five_checks_in_a_row() {
    let config = Config {
        nfs_mounts: true,
        ..Config::default()
    };
    let mut counters = Counters::default();
    let mut check = |network: Vec<Partition>| {
        let (report, after) = judge(
            &context(),
            Inputs {
                network,
                ..inputs(&config)
            },
            &counters,
        );
        counters = after;
        report.states[0].clone()
    };
    for _ in 0..4 {
        assert_eq!(short(&check(vec![silent("/nfs")])), (Health::Healthy, "ok"));
    }
    let reason =
        "/nfs stat timed out (possible connection issue) has failed continuously for 5 checks";
    assert_eq!(
        short(&check(vec![silent("/nfs")])),
        (Health::Degraded, reason)
    );
    assert_eq!(
        short(&check(vec![silent("/nfs"), silent("/b")])),
        (Health::Degraded, reason)
    );
    assert_eq!(
        short(&check(vec![partition("/nfs", "nfs4", 1)])),
        (Health::Healthy, "ok")
    );
    assert_eq!(short(&check(vec![silent("/nfs")])), (Health::Healthy, "ok"));
}
