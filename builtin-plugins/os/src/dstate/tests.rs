use super::*;

fn process(pid: u32, start: u64) -> Blocked {
    Blocked {
        pid,
        start,
        name: format!("p{pid}"),
    }
}

fn after(checks: &[(u64, &[Blocked])]) -> Tracker {
    let mut tracker = Tracker::default();
    for (now, seen) in checks {
        tracker.update(*now, seen);
    }
    tracker
}

fn none() -> Names {
    Names::default()
}

#[test]
fn a_watched_one_comes_before_any_number_of_others() {
    let mut seen: Vec<_> = (0..30).map(|pid| process(pid, 1)).collect();
    seen.push(process(77, 1));
    let watched = Names::parse(&["^p77".to_owned()]).unwrap();
    let stuck = after(&[(0, &seen)]).stuck(0, 1, &watched);
    assert_eq!((stuck.count, stuck.list.len()), (31, 20));
    let pids: Vec<u32> = stuck.list.iter().map(|process| process.pid).collect();
    assert_eq!(pids[..3], [77, 0, 1]);
}

#[test]
fn both_checks_and_time_make_a_process_stuck() {
    let one = [process(7, 1)];
    let hurried = after(&[(0, &one), (1, &one), (2, &one)]);
    assert_eq!(hurried.stuck(2, 3, &none()).count, 0);
    let slow = after(&[(0, &one), (300, &one)]);
    assert_eq!(slow.stuck(300, 3, &none()).count, 0);
    let stuck = after(&[(1000, &one), (1060, &one), (1120, &one)]).stuck(1120, 3, &none());
    assert_eq!(
        stuck.summary(),
        "pid=7 name=p7 blocked=2m0s consecutive_checks=3"
    );
    assert_eq!(after(&[(0, &one)]).stuck(0, 1, &none()).count, 1);
}

#[test]
fn one_absence_is_forgiven() {
    let one = [process(7, 1)];
    let mut tracker = after(&[(0, &one), (60, &one), (120, &one), (180, &[])]);
    assert_eq!(tracker.stuck(180, 3, &none()).list[0].consecutive_checks, 3);
    tracker.update(240, &one);
    assert_eq!(tracker.stuck(240, 3, &none()).list[0].consecutive_checks, 4);
    tracker.update(300, &[]);
    tracker.update(360, &[]);
    assert_eq!(tracker, Tracker::default());
}

#[test]
fn a_reused_pid_is_somebody_else() {
    let tracker = after(&[
        (0, &[process(7, 1)]),
        (60, &[process(7, 1)]),
        (120, &[process(7, 2)]),
    ]);
    assert_eq!(tracker.stuck(1000, 2, &none()).list.len(), 1);
    assert_eq!(tracker.followed[1].checks, 1);
}

#[test]
fn lists_and_summaries_are_bounded() {
    let many: Vec<_> = (0..600).map(|pid| process(pid, 1)).collect();
    let stuck = after(&[(0, &many)]).stuck(0, 1, &none());
    assert_eq!((stuck.count, stuck.list.len()), (MAX_FOLLOWED, 20));
    assert!(
        stuck
            .summary()
            .starts_with("pid=0 name=p0 blocked=0s consecutive_checks=1; pid=1 ")
    );
    assert!(
        stuck.summary().ends_with("; +17 more"),
        "{}",
        stuck.summary()
    );
    let long = Blocked {
        pid: u32::MAX,
        start: u64::MAX,
        name: "é".repeat(900),
    };
    let longest = Followed {
        last: u64::MAX,
        ..Followed::new(u64::MAX, &long)
    };
    let full = Tracker {
        followed: vec![longest; MAX_FOLLOWED],
        ..Tracker::default()
    };
    assert!(full.save("b-1").len() < 64 * 1024);
}

#[test]
fn it_survives_a_restart_but_not_a_boot() {
    let odd = Blocked {
        pid: 8,
        start: 9,
        name: "a b\nc".into(),
    };
    let mut tracker = after(&[(60, &[process(7, 1), odd])]);
    tracker.open = true;
    tracker.marked = 59_000;
    let restored = Tracker::restore(Some(&tracker.save("b-1")), "b-1");
    assert_eq!(restored, tracker);
    assert_eq!(restored.followed[1].process.name, "a b?c");
    assert_eq!(restored.wants_marks_since(), Some(60_000));
    for saved in [
        None,
        Some(""),
        Some("b-1\nopen x"),
        Some("b-1\nopen 1\nx"),
        Some(tracker.save("b-2").as_str()),
    ] {
        assert_eq!(
            Tracker::restore(saved, "b-1"),
            Tracker::default(),
            "{saved:?}"
        );
    }
}

#[test]
fn an_episode_has_one_beginning_and_one_end() {
    let one = [process(7, 1)];
    let mut tracker = after(&[(0, &one)]);
    let counts = Counts {
        current_count: 1,
        ..Counts::default()
    };
    let event = tracker.turn(5, Some("why"), &counts).unwrap();
    assert_eq!(
        (event.name.as_str(), event.message.as_str()),
        ("blocked_processes_persistent", "why")
    );
    let expected = r#"{"current_count":1,"persistent_count":0}"#;
    assert_eq!(
        event.extra_info,
        [("blocked_processes".to_owned(), expected.to_owned())]
    );
    assert_eq!(tracker.turn(6, Some("why"), &counts), None);
    let event = tracker.turn(7, None, &counts).unwrap();
    assert_eq!(
        (event.event_type, event.message.as_str()),
        (EventType::Info, CLEARED)
    );
    assert_eq!(tracker.turn(8, None, &counts), None);
    assert_eq!((tracker.mark(9), tracker.switch_off()), (None, None));

    tracker = after(&[(0, &one)]);
    tracker.open = true;
    assert_eq!(
        (tracker.mark(9), tracker.marked, tracker.followed.len()),
        (Some(CLEARED_BY_MARK), 9, 0)
    );
    tracker.open = true;
    assert_eq!(tracker.switch_off(), Some(SWITCHED_OFF));
}

#[test]
fn durations() {
    let cases = [
        (0, "0s"),
        (59, "59s"),
        (240, "4m0s"),
        (3605, "1h0m5s"),
        (90_000, "25h0m0s"),
    ];
    for (seconds, text) in cases {
        assert_eq!(duration(seconds), text);
    }
}
