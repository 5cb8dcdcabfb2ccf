//! Set-healthy, restarts, reboots, clocks, limits, the store.

use super::*;

#[test]
fn set_healthy_while_a_needed_port_is_down() {
    let mut story = Story::eight();
    story.until("08:00:00");
    story.now += 30;
    story.machine.map.down("mlx5_3");
    let short = shortage(7, "mlx5_3");
    assert!(story.until("08:10:00").2);
    story.set_healthy();
    assert_eq!(
        story.until("08:13:30"),
        bad(&short),
        "the threshold failure goes on"
    );
    assert_eq!(
        story.until("08:14:00"),
        inspect(format!("{short}; {DROP}")),
        "the four minutes begin again"
    );
}

#[test]
fn set_healthy_counts_after_the_clock_was_set_back() {
    let mut story = Story::eight();
    story.look();
    story.set_healthy();
    story.now += 30;
    story.look();
    story.now -= 7_200;
    // As the host dates marks of the future.
    *story.machine.marks.borrow_mut() = vec![story.now * 1000];
    story.now += 30;
    story.look();
    story.machine.map.down("mlx5_3");
    for _ in 0..12 {
        story.now += 30;
        story.look();
    }
    story.machine.map.up("mlx5_3");
    story.now += 30;
    assert_eq!(story.look(), inspect(DROP));
    story.set_healthy();
    story.now += 30;
    assert_eq!(story.look(), ok());
}

#[test]
fn a_drop_outlives_a_reboot_with_its_port_down() {
    let mut story = Story::eight();
    story.look();
    story.machine.map.down("mlx5_3");
    story.until("08:05:00");
    story.now += 600;
    story.boot = "b1";
    assert_eq!(
        story.look(),
        inspect(format!("{}; {DROP}", shortage(7, "mlx5_3")))
    );
    story.machine.map.up("mlx5_3");
    story.now += 30;
    assert_eq!(story.look(), inspect(DROP));
    story.now += 600;
    assert_eq!(story.look(), ok());
}

#[test]
fn a_clock_that_is_set_back_makes_nothing_last() {
    let mut story = Story::eight();
    story.look();
    story.machine.map.down("mlx5_3");
    assert!(story.until("08:10:00").2);
    story.machine.map.up("mlx5_3");
    story.look();
    story.now -= 86_400;
    assert_eq!(story.look(), inspect(DROP));
    story.now += 600;
    assert_eq!(story.look(), ok());
}

#[test]
fn a_quiet_machine_writes_nothing() {
    let mut story = Story::eight();
    story.until("09:00:00");
    assert_eq!(story.machine.writes.get(), 1);
    story.machine.map.down("mlx5_3");
    story.until("10:00:00");
    assert!(
        story.machine.writes.get() <= 4,
        "{}",
        story.machine.writes.get()
    );
}

#[test]
fn saved_state_that_cannot_be_read_is_ignored() {
    let mut story = Story::eight();
    for text in ["", "{", "[]", "null", r#"{"ports":{"":{}}}"#] {
        *story.machine.kept.borrow_mut() = Some(text.into());
        assert_eq!(story.look(), ok(), "{text}");
        story.now += 30;
    }
}

#[test]
fn limits_to_the_second() {
    // Seconds down, and whether that is a drop and counts for a flap.
    for (seconds, drop, counts) in [
        (24, false, false),
        (25, false, true),
        (239, false, true),
        (240, true, true),
    ] {
        let mut story = Story::eight();
        story.config.flap_outages = 1;
        story.look();
        story.now += 30;
        story.machine.map.down("mlx5_3");
        story.look();
        story.now += seconds;
        assert_eq!(story.look().2, drop, "{seconds} s");
        story.machine.map.up("mlx5_3");
        story.now += 1;
        let (_, reason, _) = story.look();
        assert_eq!(reason.contains(DROP), drop, "{seconds} s: {reason}");
        assert_eq!(reason.contains(FLAP), counts, "{seconds} s: {reason}");
    }
}

#[test]
fn limits_are_those_of_the_configuration() {
    let mut story = Story::eight();
    story.config = config(
        r#"{"drop_after_seconds":60,"drop_shown_seconds":120,"flap_down_seconds":90,"flap_outages":1,
            "flap_auto_clear_seconds":30}"#,
    );
    story.look();
    story.now += 30;
    story.machine.map.down("mlx5_3");
    let short = shortage(7, "mlx5_3");
    assert_eq!(story.until("08:01:00"), bad(&short));
    assert_eq!(story.until("08:01:30"), inspect(format!("{short}; {DROP}")));
    story.until("08:02:00");
    story.now += 30;
    story.machine.map.up("mlx5_3");
    assert_eq!(story.until("08:02:30"), inspect(format!("{DROP}; {FLAP}")));
    assert_eq!(story.until("08:03:00"), inspect(DROP));
    assert_eq!(story.until("08:04:00"), inspect(DROP));
    assert_eq!(story.until("08:04:30"), ok());
}
