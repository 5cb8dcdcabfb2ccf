//! Ports that go down and come back.

use super::*;

#[test]
fn three_outages_are_a_flap() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    assert_eq!(story.outage("mlx5_3"), ok());
    assert_eq!(story.outage("mlx5_3"), ok());
    assert_eq!(story.outage("mlx5_3"), inspect(FLAP));
    assert_eq!(state(&story.report()).recovery, [Recovery::SetHealthy]);
    // It stays, beyond the look-back too, until an operator says that it is over.
    story.now += 6 * 86_400;
    assert_eq!(story.look(), inspect(FLAP));
    story.boot = "b1";
    assert_eq!(story.look(), inspect(FLAP));
    story.set_healthy();
    assert_eq!(story.look(), ok());
    story.now += 30;
    assert_eq!(story.look(), ok());
    // What was is forgotten: it takes three again.
    assert_eq!(story.outage("mlx5_3"), ok());
    assert_eq!(story.outage("mlx5_3"), ok());
    assert_eq!(story.outage("mlx5_3"), inspect(FLAP));
}

#[test]
fn an_outage_seen_once_does_not_count() {
    let mut story = Story::eight();
    story.until("08:00:00");
    for _ in 0..10 {
        story.now += 30;
        story.machine.map.down("mlx5_3");
        assert_eq!(story.look(), bad(shortage(7, "mlx5_3")));
        story.now += 30;
        story.machine.map.up("mlx5_3");
        assert_eq!(story.look(), ok());
    }
}

#[test]
fn outages_beyond_the_look_back_do_not_count() {
    let mut story = Story::eight();
    story.look();
    for _ in 0..6 {
        assert_eq!(story.outage("mlx5_3"), ok());
        story.now += 2 * 86_400 + 43_200 + 300;
        story.look();
    }
}

#[test]
fn a_flap_that_clears_by_time() {
    let mut story = Story::eight();
    story.config.flap_auto_clear_seconds = 600;
    story.look();
    story.outage("mlx5_3");
    story.outage("mlx5_3");
    assert_eq!(story.outage("mlx5_3"), inspect(FLAP));
    let last = story.now - 30;
    assert_eq!(
        state(&story.report()).recovery,
        [Recovery::At((last + 600) * 1000), Recovery::SetHealthy]
    );
    // It goes on: the time restarts.
    story.now = last + 480;
    assert_eq!(story.outage("mlx5_3"), inspect(FLAP));
    let last = story.now - 30;
    story.now = last + 570;
    assert_eq!(story.look(), inspect(FLAP));
    story.now = last + 600;
    assert_eq!(story.look(), ok());
    assert_eq!(
        story.outage("mlx5_3"),
        ok(),
        "one outage later is not a flap again"
    );
}

/// An unrelated recovery hours ago says nothing of a flap now, and a drop does not hide a flap.
#[test]
fn flaps_and_drops_of_one_port_stand_side_by_side() {
    let mut story = Story::eight();
    story.look();
    for _ in 0..3 {
        story.outage("mlx5_3");
    }
    story.machine.map.down("mlx5_3");
    for _ in 0..10 {
        story.look();
        story.now += 30;
    }
    let short = shortage(7, "mlx5_3");
    assert_eq!(story.look(), inspect(format!("{short}; {DROP}; {FLAP}")));
    story.machine.map.up("mlx5_3");
    story.look();
    story.now += 600;
    assert_eq!(story.look(), inspect(FLAP));
}

#[test]
fn a_restart_loses_nothing_and_a_reboot_is_no_flap() {
    let mut story = Story::eight();
    story.look();
    story.outage("mlx5_3");
    story.outage("mlx5_3");
    // The machine goes down with the port, and comes up before it.
    story.machine.map.down("mlx5_3");
    story.look();
    story.now += 30;
    story.look();
    story.now += 300;
    story.boot = "b1";
    assert_eq!(
        story.look(),
        bad(shortage(7, "mlx5_3")),
        "that was no four minutes"
    );
    story.now += 60;
    story.look();
    story.machine.map.up("mlx5_3");
    story.now += 30;
    assert_eq!(story.look(), ok());
    story.now += 30;
    assert_eq!(
        story.outage("mlx5_3"),
        inspect(FLAP),
        "the two before it count"
    );
}

/// Reloading a driver is no flap of a link.
#[test]
fn a_device_that_comes_and_goes_is_no_flap() {
    let mut story = Story::eight();
    for _ in 0..6 {
        story.look();
        story.machine.map.remove("mlx5_3/");
        for _ in 0..3 {
            story.now += 30;
            assert!(!story.look().2);
        }
        story.machine.map.down("mlx5_3");
        story.now += 30;
        story.look();
        story.machine.map.up("mlx5_3");
        story.now += 30;
        assert_eq!(story.look(), ok());
    }
}
