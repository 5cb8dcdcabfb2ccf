//! Conditions across restarts: nothing flaps, and a fault that came after the start is not delayed.

use std::time::Duration;

use super::{
    super::{SETTLING, STARTING},
    conditions::Server,
    *,
};

#[test]
fn a_restart_flaps_nothing() {
    let mut server = Server::new("{}");
    server.apply(&xid(), T);
    let before = server.view.conditions.clone();
    server.restart();
    // Components come one by one, unchecked at first.
    for (snapshot, second) in [
        (Snapshot::default(), 1),
        (one("disk", Health::Initializing), 2),
        (one("disk", Health::Healthy), 3),
        (one(XID, Health::Initializing), 4),
        (xid_gone(), 5),
        (xid(), 6),
        (xid(), 7),
    ] {
        let (written, changes) = server.apply(&snapshot, T + second * 1000);
        assert_eq!((written, changes), (false, Vec::new()), "second {second}");
    }
    assert_eq!(server.view.conditions, before);
    // What recovered during the restart is shown when the start is over.
    server.age = STARTING;
    let (written, changes) = server.apply(&xid_gone(), T + 20_000);
    assert!(written && changes.len() == 3);
    // A component that never comes loses its condition in the end.
    server.age = SETTLING;
    server.apply(&one("disk", Health::Healthy), T + 200_000);
    assert!(!server.view.conditions.contains_key("GpudXidError"));
}

#[test]
fn a_fault_that_came_after_the_start_recovers_at_once() {
    let mut server = Server::new("{}");
    server.age = Duration::ZERO;
    server.apply(&one(XID, Health::Initializing), T);
    for round in 0..2 {
        let second = T + 1000 + 4000 * round;
        server.apply(&xid_gone(), second);
        assert_eq!(server.shown(), "GpudHealthy=True(Healthy)", "round {round}");
        let (written, changes) = server.apply(&xid(), second + 1000);
        assert!(written && changes.len() == 3, "round {round}: {changes:?}");
        let (written, changes) = server.apply(&xid_gone(), second + 2000);
        assert!(written && changes.len() == 3, "round {round}: {changes:?}");
        assert_eq!(server.shown(), "GpudHealthy=True(Healthy)", "round {round}");
    }
}

#[test]
fn a_fault_of_before_the_start_waits_though_its_component_has_spoken() {
    let mut server = Server::new("{}");
    server.apply(&xid(), T);
    server.restart();
    let before = server.view.conditions.clone();
    server.apply(&xid(), T + 1000);
    // Another component may have had the same fault, and may be missing still.
    assert_eq!(server.apply(&xid_gone(), T + 2000), (false, Vec::new()));
    assert_eq!(server.view.conditions, before);
    // The disk had no fault before, so its own recovers.
    let mut full = xid_gone();
    full.components[1].states[0].health = Health::Unhealthy;
    assert!(server.apply(&full, T + 3000).0);
    assert!(server.shown().contains("GpudDiskError=True"));
    assert!(server.apply(&xid_gone(), T + 4000).0);
    assert!(!server.shown().contains("GpudDiskError"));
    assert!(server.shown().contains("GpudXidError=True"));
}
