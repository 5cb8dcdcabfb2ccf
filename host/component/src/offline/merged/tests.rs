use super::*;

fn event(second: u64, event_type: EventType, message: &str) -> Event {
    Event {
        time: second * 1000,
        name: "e".to_owned(),
        event_type,
        message: message.to_owned(),
        ..Event::default()
    }
}

#[test]
fn the_first_are_kept_one_by_one_and_repeats_are_counted() {
    let mut merged = MergedEvents::default();
    for second in 0..100_000 {
        let text = format!("code 31 at 0x{second:x}");
        merged.add(event(second, EventType::Warning, &text), 0, 1);
    }
    merged.add(event(100_000, EventType::Fatal, "code 79"), 0, 1);
    assert_eq!(merged.rows, SINGLE + 2);
    let (events, left_out) = merged.finish();
    assert_eq!(left_out, OmittedEvents::default());
    assert_eq!(events.iter().map(|row| row.count).sum::<u64>(), 100_001);
    assert_eq!(events[0].event.message, "code 79");
    let repeats = &events[1];
    assert_eq!(
        (repeats.event.time, repeats.last_time, repeats.count),
        (16_000, 99_999_000, 99_984)
    );
}

#[test]
fn an_event_may_stand_for_many_and_repeats_add_their_facts() {
    let mut merged = MergedEvents::default();
    for (second, pid) in [(1, "7"), (2, "8"), (3, "7")] {
        let mut event = event(second, EventType::Warning, "code 31");
        event.extra_info.push(("pid".to_owned(), pid.to_owned()));
        event.merge = Some(crate::model::Merge {
            key: "31".to_owned(),
            window_seconds: 60,
        });
        merged.add(event, 0, 1000);
    }
    let (events, _) = merged.finish();
    assert_eq!((events.len(), events[0].count), (1, 3000));
    let pids = ("pid".to_owned(), "7, 8".to_owned());
    assert_eq!(events[0].event.extra_info, [pids]);
}

#[test]
fn equal_events_of_a_second_are_one_and_boots_are_apart() {
    let mut merged = MergedEvents::default();
    for boot in [0, 0, 1] {
        merged.add(event(5, EventType::Info, "same"), boot, 1);
    }
    let (events, _) = merged.finish();
    let counts: Vec<u64> = events.iter().map(|row| row.count).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (2, 3));
}

#[test]
fn the_worst_and_the_newest_stay_and_the_rest_is_counted() {
    let mut merged = MergedEvents::default();
    let name = |n: u64| {
        // Letters only, so that each is of its own shape.
        n.to_string()
            .bytes()
            .map(|digit| char::from(b'a' + digit - b'0'))
            .collect::<String>()
    };
    for n in 0..50_000 {
        let event_type = match n {
            7 => EventType::Fatal,
            _ if n % 1000 == 0 => EventType::Critical,
            _ => EventType::Warning,
        };
        merged.add(event(n, event_type, &name(n)), 0, 1);
        assert!(merged.rows < FULL);
    }
    let (events, left_out) = merged.finish();
    assert_eq!(events.len(), MAX_EVENTS);
    assert_eq!(left_out.events, 50_000 - MAX_EVENTS as u64);
    assert_eq!(left_out.worst, EventType::Warning);
    assert_eq!(events[0].event.message, name(49_999));
    let of = |wanted: &EventType| {
        events
            .iter()
            .filter(|row| row.event.event_type == *wanted)
            .count()
    };
    assert_eq!((of(&EventType::Fatal), of(&EventType::Critical)), (1, 50));
}
