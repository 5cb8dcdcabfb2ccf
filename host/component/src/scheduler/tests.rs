use super::*;

#[test]
fn the_next_beat_is_the_same_for_all_whose_first_check_ended_in_between() {
    let (start, minute) = (Instant::now(), Duration::from_secs(60));
    let phase = Duration::from_secs(7);
    let beat = |seconds: f64| {
        let now = start + Duration::from_secs_f64(seconds);
        next_beat(start, phase, minute, now) - start
    };
    for (now, next) in [
        (0.0, 7),
        (0.2, 7),
        (6.9, 7),
        (7.0, 7),
        (7.1, 67),
        (66.0, 67),
        (3607.5, 3667),
    ] {
        assert_eq!(beat(now), Duration::from_secs(next), "{now}");
    }
    // Nonsense of an interval is no endless loop and no panic.
    next_beat(start, Duration::ZERO, Duration::ZERO, start);
}

#[test]
fn components_without_scripts_share_beats() {
    let minute = Duration::from_secs(60);
    let mut beats: Vec<u64> = (0..200)
        .map(|n| on_beat(phase(&format!("component-{n}"), minute)).as_secs())
        .collect();
    beats.sort_unstable();
    beats.dedup();
    assert_eq!(beats, [0, 30]);
    assert_eq!(
        on_beat(phase("quick", Duration::from_secs(10))),
        Duration::ZERO
    );
}

#[tokio::test]
async fn a_check_that_takes_long_gives_its_turn_to_the_next() {
    let (permits, done) = (Semaphore::new(1), tokio::sync::Notify::new());
    tokio::join!(
        in_turn(&permits, done.notified()),
        in_turn(&permits, async { done.notify_one() }),
    );
    assert_eq!(permits.available_permits(), 1);
}

#[test]
fn phases_are_stable_and_spread() {
    let minute = Duration::from_secs(60);
    let mut slots: Vec<u64> = (0..200)
        .map(|n| phase(&format!("component-{n}"), minute))
        .inspect(|phase| assert!(*phase <= minute))
        .map(|phase| phase.as_secs())
        .collect();
    assert_eq!(phase("cpu", minute), phase("cpu", minute));
    slots.sort_unstable();
    slots.dedup();
    assert!(
        slots.len() > 50,
        "200 components share {} of 60 seconds",
        slots.len()
    );
}
