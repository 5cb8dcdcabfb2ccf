//! Spare ports, slow ports, devices that disappeared or cannot be read.

use super::*;

/// A port that never had a cable is a spare once as many as are wanted were up.
#[test]
fn spares_are_spares() {
    let map = Map::eight();
    map.down("mlx5_8");
    map.port(
        "mlx5_9",
        1,
        "InfiniBand",
        "1: DOWN",
        "3: Disabled",
        "10 Gb/sec (4X SDR)",
    );
    let mut story = Story::of(map, want(8, 400));
    assert_eq!(story.until("08:30:00"), ok());
    // The one that fails is named, and no other.
    story.now += 30;
    story.machine.map.down("mlx5_3");
    let short = shortage(7, "mlx5_3");
    assert_eq!(story.until("08:30:30"), bad(&short));
    assert_eq!(story.until("08:34:30"), inspect(format!("{short}; {DROP}")));
    // A spare takes its place: enough are up, but a port that had a cable is down.
    story.now += 30;
    story.machine.map.up("mlx5_8");
    assert_eq!(story.until("08:35:00"), inspect(DROP));
    assert_eq!(story.until("09:35:00"), inspect(DROP));
    // The operator knows.
    story.set_healthy();
    assert_eq!(story.until("09:35:00"), ok());
    assert_eq!(story.until("11:00:00"), ok());
    // It comes back and fails again: news.
    story.now += 30;
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("11:00:30"), ok());
    story.now += 30;
    story.machine.map.down("mlx5_3");
    assert_eq!(story.until("11:04:30"), ok());
    assert_eq!(story.until("11:05:00"), inspect(DROP));
}

/// Until then nobody knows which port is needed.
#[test]
fn before_enough_ports_were_up_all_that_are_down_are_named() {
    let map = Map::eight();
    map.down("mlx5_3");
    map.down("mlx5_8");
    let mut story = Story::of(map, want(8, 400));
    let short = shortage(7, "mlx5_3, mlx5_8");
    assert_eq!(story.until("08:03:30"), bad(&short));
    assert_eq!(
        story.until("08:04:00"),
        inspect(format!("{short}; {DROP}, mlx5_8"))
    );
    story.now += 30;
    story.machine.map.up("mlx5_3");
    // mlx5_8 turns out to be a spare.
    assert_eq!(story.until("08:04:30"), inspect(DROP));
    assert_eq!(story.until("08:14:30"), ok());
}

/// Slower ports for storage are not what is missing.
#[test]
fn storage_ports_are_not_named_for_their_rate() {
    let map = Map::eight();
    for device in ["mlx5_8", "mlx5_9"] {
        map.port(
            device,
            1,
            "InfiniBand",
            "4: ACTIVE",
            "5: LinkUp",
            "200 Gb/sec (4X HDR)",
        );
    }
    let mut story = Story::of(map, want(8, 400));
    assert_eq!(story.until("08:00:00"), ok());
    story.now += 30;
    story.machine.map.down("mlx5_3");
    assert_eq!(story.until("08:00:30"), bad(shortage(7, "mlx5_3")));
    // But they are watched.
    story.now += 30;
    story.machine.map.up("mlx5_3");
    story.machine.map.down("mlx5_9");
    assert_eq!(story.until("08:04:30"), ok());
    assert_eq!(
        story.until("08:05:00"),
        inspect("device(s) down too long: mlx5_9")
    );
    // One that lost speed is named.
    story.now += 30;
    story.machine.map.port(
        "mlx5_5",
        1,
        "InfiniBand",
        "4: ACTIVE",
        "5: LinkUp",
        "200 Gb/sec (2X NDR)",
    );
    let (_, reason, _) = story.until("08:05:30");
    assert_eq!(
        reason,
        "only 7 port(s) are active and >=400 Gb/s, expect >=8 port(s); 1 device(s) physical state Polling (mlx5_9) -- connecton lost from this card to other cards/switches; 1 device(s) below 400 Gb/s (mlx5_5: 200 Gb/s); device(s) down too long: mlx5_9"
    );
}

#[test]
fn a_device_that_is_gone_is_named() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.remove("mlx5_3/");
    let short = "only 7 port(s) are active and >=400 Gb/s, expect >=8 port(s); 1 device(s) missing (mlx5_3)";
    assert_eq!(story.until("08:04:00"), bad(short));
    assert_eq!(story.until("08:04:30"), inspect(format!("{short}; {DROP}")));
    let port = PortId {
        device: "mlx5_3".into(),
        port: 1,
    };
    assert_eq!(state(&story.report()).subject, Some(Subject::Port(port)));
    story.now += 30;
    story.machine.map.up("mlx5_3");
    assert_eq!(story.look(), inspect(DROP));
    story.now += 600;
    assert_eq!(story.look(), ok());
}

#[test]
fn all_devices_gone_is_the_worst() {
    let names = "mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7";
    let all = format!("8 device(s) missing ({names})");
    let down = format!("device(s) down too long: {names}");
    for (with_folder, config, first) in [
        (
            true,
            want(8, 400),
            "only 0 port(s) are active and >=400 Gb/s, expect >=8 port(s)",
        ),
        (false, want(8, 400), NOT_LOADED),
        // A product's default is enough once they were there.
        (
            true,
            Config::default(),
            "only 0 port(s) are active and >=400 Gb/s, expect >=8 port(s)",
        ),
        (false, Config::default(), NOT_LOADED),
    ] {
        let mut story = Story::of(Map::eight(), config);
        story.until("08:00:00");
        story.now += 30;
        story.machine.map.remove("");
        if with_folder {
            story.machine.map.set(".", "");
        }
        let end = if with_folder {
            "; no InfiniBand device is there"
        } else {
            ""
        };
        let short = format!("{first}; {all}{end}");
        assert_eq!(story.until("08:04:00"), bad(&short));
        assert_eq!(story.until("08:04:30"), inspect(format!("{short}; {down}")));
        let error = state(&story.report()).error.clone();
        assert_eq!(error.is_some(), !with_folder);
        // A reboot does not bring them back.
        story.boot = "b1";
        story.now += 30;
        assert_eq!(story.look(), inspect(format!("{short}; {down}")));
        story.now += 30;
        story.machine.map.remove("");
        (0..8).for_each(|number| story.machine.map.up(&format!("mlx5_{number}")));
        assert_eq!(story.look(), inspect(down.clone()));
    }
}

/// Virtual functions come and go; what nobody misses is forgotten.
#[test]
fn a_device_without_a_missing_port_is_forgotten() {
    let map = Map::eight();
    map.up("mlx5_8");
    let mut story = Story::of(map, want(8, 400));
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.remove("mlx5_8/");
    assert_eq!(story.until("08:09:30"), ok());
    assert!(
        story
            .machine
            .kept
            .borrow()
            .as_ref()
            .unwrap()
            .contains("mlx5_8")
    );
    assert_eq!(story.until("08:10:30"), ok());
    assert!(
        !story
            .machine
            .kept
            .borrow()
            .as_ref()
            .unwrap()
            .contains("mlx5_8")
    );
}

#[test]
fn a_port_that_became_ethernet_is_missing() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.port(
        "mlx5_3",
        1,
        "Ethernet",
        "4: ACTIVE",
        "5: LinkUp",
        "400 Gb/sec",
    );
    let short = "only 7 port(s) are active and >=400 Gb/s, expect >=8 port(s); 1 device(s) missing (mlx5_3: now Ethernet)";
    assert_eq!(story.until("08:00:30"), bad(short));
}

/// What cannot be read is neither down nor up.
#[test]
fn an_unreadable_port_is_not_blamed() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.machine.map.set("mlx5_3/ports/1/state", "?");
    let (health, reason, inspected) = story.until("08:30:00");
    assert_eq!((health, inspected), (Health::Unhealthy, false));
    assert!(
        reason.ends_with(
            "; 1 device(s) cannot be read (mlx5_3: state: \"?\" is not ‹number›: ‹word›)"
        ),
        "{reason}"
    );
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("08:30:00"), ok());
    let path = "mlx5_3/ports/1/link_layer";
    story.machine.map.break_file(path, timed_out(path));
    let (_, reason, inspected) = story.until("09:00:00");
    assert!(
        reason.contains("no answer for 5000 ms") && !inspected,
        "{reason}"
    );
    story
        .machine
        .map
        .break_folder(ROOT, AccessError::Denied(ROOT.into()));
    assert_eq!(story.until("09:30:00"), bad(NOT_LOADED));
    story.machine.map.repair_folders();
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("09:30:00"), ok());
}

#[test]
fn excluding_a_device_ends_its_story() {
    let mut story = Story::eight();
    story.config.expected = Some(Expected {
        ports: 7,
        rate: 400,
    });
    story.look();
    story.machine.map.down("mlx5_3");
    assert_eq!(story.until("08:10:00"), inspect(DROP));
    story.config.exclude_devices = vec!["mlx5_3".into()];
    assert_eq!(story.look(), ok());
    assert!(
        !story
            .machine
            .kept
            .borrow()
            .as_ref()
            .unwrap()
            .contains("mlx5_3")
    );
}

#[test]
fn drops_of_a_device_with_several_ports_have_numbers() {
    let map = Map::default();
    let port = |map: &Map, port, state, phys| {
        map.port(
            "mlx4_0",
            port,
            "InfiniBand",
            state,
            phys,
            "40 Gb/sec (4X QDR)",
        );
    };
    port(&map, 1, "4: ACTIVE", "5: LinkUp");
    port(&map, 2, "4: ACTIVE", "5: LinkUp");
    let mut story = Story::of(map, want(1, 40));
    story.look();
    port(&story.machine.map, 2, "1: DOWN", "2: Polling");
    assert_eq!(
        story.until("08:04:00"),
        inspect("device(s) down too long: mlx4_0 port 2")
    );
    port(&story.machine.map, 1, "1: DOWN", "2: Polling");
    story.now += 30;
    let (_, reason, _) = story.until("08:08:30");
    assert!(
        reason.ends_with("device(s) down too long: mlx4_0 port 1, mlx4_0 port 2"),
        "{reason}"
    );
}

/// The store can be lost, too: what is down then is named until it is known what is needed.
#[test]
fn what_is_wanted_may_change() {
    let map = Map::eight();
    map.down("mlx5_8");
    let mut story = Story::of(map, want(8, 400));
    assert_eq!(story.until("08:30:00"), ok());
    story.config = want(9, 400);
    let (_, reason, inspected) = story.look();
    assert!(reason.contains("(mlx5_8)") && inspected, "{reason}");
    story.config = want(8, 400);
    assert_eq!(story.look(), ok());
}
