//! Ports that go down and stay down.

use super::*;

/// The reference's own example.
#[test]
fn a_plain_outage() {
    let mut story = Story::eight();
    assert_eq!(story.until("08:00:00"), ok());
    story.now += 30;
    story.machine.map.down("mlx5_3");
    let short = shortage(7, "mlx5_3");
    assert_eq!(story.until("08:00:30"), bad(&short));
    assert_eq!(story.until("08:04:00"), bad(&short));
    assert_eq!(story.until("08:04:30"), inspect(format!("{short}; {DROP}")));
    story.now = at("08:05:00");
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("08:05:00"), inspect(DROP));
    let report = story.report();
    let until = Recovery::At(at("08:15:00") * 1000);
    assert_eq!(state(&report).recovery, [until, Recovery::SetHealthy]);
    let port = PortId {
        device: "mlx5_3".into(),
        port: 1,
    };
    assert_eq!(state(&report).subject, Some(Subject::Port(port)));
    assert_eq!(story.until("08:14:30"), inspect(DROP));
    assert_eq!(story.until("08:15:00"), ok());
    assert_eq!(story.until("09:00:00"), ok());
}

#[test]
fn a_short_outage_leaves_no_trace() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.down("mlx5_3");
    assert_eq!(story.until("08:04:00"), bad(shortage(7, "mlx5_3")));
    story.now += 30;
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("08:04:30"), ok());
}

/// Every other word than ACTIVE is down.
#[test]
fn a_port_without_subnet_manager_drops() {
    for word in ["2: INIT", "3: ARMED", "5: ACTIVE_DEFER", "1: DOWN"] {
        let mut story = Story::eight();
        story.machine.map.port(
            "mlx5_3",
            1,
            "InfiniBand",
            word,
            "5: LinkUp",
            "400 Gb/sec (4X NDR)",
        );
        assert_eq!(story.until("08:03:30"), ok(), "{word}");
        assert_eq!(story.until("08:04:00"), inspect(DROP), "{word}");
        assert_eq!(story.until("12:00:00"), inspect(DROP), "{word}");
    }
}

/// While the counter moves, the port tries; the time counts from the last change.
#[test]
fn a_moving_counter_holds_the_drop_back() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.down("mlx5_3");
    story.until("08:00:30");
    story.now += 30;
    story
        .machine
        .map
        .set("mlx5_3/ports/1/counters/link_downed", "1");
    story.until("08:01:00");
    assert_eq!(story.until("08:04:30"), bad(shortage(7, "mlx5_3")));
    assert_eq!(
        story.until("08:05:00"),
        inspect(format!("{}; {DROP}", shortage(7, "mlx5_3")))
    );
}

#[test]
fn a_card_that_does_not_count_drops_all_the_same() {
    let mut story = Story::eight();
    let refused = AccessError::Other("x: Invalid argument (os error 22)".into());
    story.machine.map.down("mlx5_3");
    story
        .machine
        .map
        .break_file("mlx5_3/ports/1/counters/link_downed", refused);
    story.until("08:00:00");
    assert!(story.until("08:04:00").2);
    let reads = story.machine.map.reads.borrow();
    let asked = reads
        .iter()
        .filter(|path| path.contains("mlx5_3/ports/1/counters"));
    assert_eq!(asked.count(), 1, "not in this boot");
}

/// An old drop does not come back with another port's.
#[test]
fn old_drops_stay_old() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.down("mlx5_3");
    story.until("08:05:00");
    story.now += 30;
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("10:00:00"), ok());
    story.now += 30;
    story.machine.map.down("mlx5_6");
    assert_eq!(story.until("10:00:30"), bad(shortage(7, "mlx5_6")));
    story.now += 30;
    story.machine.map.up("mlx5_6");
    assert_eq!(story.until("10:01:00"), ok());
}
