//! Sources that do not answer, and other folders.

use super::*;

#[test]
fn a_class_that_cannot_be_listed() {
    let map = Map::eight();
    map.break_folder(ROOT, AccessError::Denied(ROOT.into()));
    let report = look(map, &want(8, 400));
    assert_eq!(seen(&report), (Health::Unhealthy, NOT_LOADED.into()));
    assert_eq!(
        state(&report).error.as_deref(),
        Some("could not read \"/sys/class/infiniband\": /sys/class/infiniband: permission denied")
    );
    assert_eq!(state(&report).suggested_actions, None);
}

#[test]
fn another_root() {
    let map = Map::eight();
    let config = config(
        r#"{"class_root":"/elsewhere/ib/","expected_port_states":{"at_least_ports":1,"at_least_rate":1}}"#,
    );
    let report = look(map, &config);
    assert_eq!(
        state(&report).error.as_deref(),
        Some("could not read \"/elsewhere/ib\": stat /elsewhere/ib: no such file or directory")
    );
}

#[test]
fn a_store_that_fails() {
    let map = || {
        let map = Map::eight();
        map.down("mlx5_3");
        map
    };
    for (what, reason) in [
        ("get", "error scanning ib ports from store"),
        ("set", "error inserting ib ports into store"),
        ("marks", "error getting ib flap/drop events"),
    ] {
        let machine = Fake::of(map());
        machine.fails.set(what);
        let report = check(&context(START, "b0"), &want(8, 400), &h100(), &machine).unwrap();
        assert_eq!(seen(&report), (Health::Unhealthy, reason.into()));
        assert_eq!(state(&report).error.as_deref(), Some("disk full"));
        assert_eq!(state(&report).suggested_actions, None);
        assert!(!report.metrics.is_empty());
    }
}

/// In `gpud scan` there is no store: thresholds only.
#[test]
fn without_a_store() {
    let mut machine = Fake::of(Map::eight());
    machine.map.down("mlx5_3");
    machine.remembers = false;
    for seconds in [0, 300, 600] {
        let report = check(
            &context(START + seconds, "b0"),
            &want(8, 400),
            &h100(),
            &machine,
        )
        .unwrap();
        assert!(seen(&report).1.starts_with("only 7 port(s)"));
        assert_eq!(state(&report).suggested_actions, None);
    }
    assert_eq!(machine.writes.get(), 0);
}
