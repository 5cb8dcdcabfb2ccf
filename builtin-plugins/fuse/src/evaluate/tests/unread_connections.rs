//! Connections that cannot be listed or read.

use super::*;

#[test]
fn what_cannot_be_listed_is_unknown_and_forgets_nothing() {
    let mut memory = Memory::default();
    memory.0.insert(
        42,
        ExceededThresholds {
            congested: true,
            background: false,
        },
    );
    let timed_out = TimeoutInfo {
        what: ROOT.into(),
        after_ms: 5000,
        last_good: None,
    };
    for (error, health, text) in [
        (
            AccessError::Denied(ROOT.into()),
            Health::Degraded,
            "/sys/fs/fuse/connections: permission denied",
        ),
        (
            AccessError::TimedOut(timed_out),
            Health::Unhealthy,
            "/sys/fs/fuse/connections: no answer for 5000 ms",
        ),
    ] {
        let inputs = Inputs {
            connections: Err(error),
            mountinfo: "",
        };
        let (report, after) = judge(&context(), inputs, &memory);
        assert_eq!(
            short(&report),
            (health, &*format!("cannot be judged: {text}"), Some(text))
        );
        assert_eq!(report.states[0].evidence, [Evidence::File(ROOT.into())]);
        assert_eq!(after, memory);
    }
}

#[test]
fn one_bad_connection_does_not_hide_the_others() {
    let failed = |text: &str| NumbersError::Failed(text.into());
    let report = first(vec![
        unread("abc", failed("\"abc\" is no device number")),
        connection(42, 10, 100, 10),
        unread("50", NumbersError::Gone),
    ]);
    assert_eq!(
        short(&report),
        (
            Health::Unhealthy,
            "error listing fuse connections",
            Some("\"abc\" is no device number")
        )
    );
    assert_eq!((report.events.len(), report.metrics.len()), (1, 2));

    let many = (0..9)
        .map(|n| unread("x", failed(&format!("t{n}"))))
        .collect();
    assert_eq!(
        short(&first(many)).2,
        Some("t0; t1; t2; t3; t4; and 4 more")
    );
}

#[test]
fn without_root_others_connections_are_reported_and_not_blamed() {
    let report = first(vec![
        connection(42, 9, 12, 0),
        unread("50", NumbersError::Denied),
        unread("51", NumbersError::Denied),
    ]);
    assert_eq!(
        short(&report),
        (
            Health::Healthy,
            "successfully fuse connection(s); 2 of 3 cannot be read without root",
            Some("/sys/fs/fuse/connections: permission denied")
        )
    );
}
