use super::*;

fn change(reason: &str) -> Change {
    Change {
        condition: "GpudXidError".into(),
        reason: reason.into(),
        message: "GPU 3: Xid 79\nreboot".into(),
        is_fault: true,
    }
}

fn view() -> NodeView {
    NodeView {
        name: "node-7".into(),
        uid: "4f1e".into(),
        ..NodeView::default()
    }
}

const T: UnixMillis = 1_790_000_000_000;

#[test]
fn a_repeat_is_counted_in_the_event_that_is_there() {
    let (view, mut events) = (view(), Events::default());
    assert_eq!(events.next(&view, T), None);
    events.add(&change("A"), "node-7", T);
    events.add(&change("A"), "node-7", T + 1000);
    let first = events.next(&view, T + 1000).unwrap();
    assert!(!first.is_repeat);
    assert_eq!(first.body["count"], 2);
    assert_eq!(first.body["type"], "Warning");
    assert_eq!(first.body["message"], "GPU 3: Xid 79 reboot");
    assert_eq!(first.body["firstTimestamp"], "2026-09-21T14:13:20Z");
    // The answer was lost: the same Event is sent again.
    assert_eq!(events.next(&view, T + 2000).unwrap().name, first.name);
    // One more arrives while the request is on its way.
    events.add(&change("A"), "node-7", T + 2000);
    events.done(first.clone());
    let repeat = events.next(&view, T + 2000).unwrap();
    assert!(repeat.is_repeat);
    assert_eq!(
        (&repeat.name, &repeat.body["count"]),
        (&first.name, &json!(3))
    );
    events.is_gone(&repeat);
    let new = events.next(&view, T + 2000).unwrap();
    assert!(!new.is_repeat);
    events.done(new);
    assert!(!events.is_waiting());
    // Long after, the server has forgotten it.
    events.add(&change("A"), "node-7", T + 4_000_000);
    assert!(!events.next(&view, T + 4_000_000).unwrap().is_repeat);
}

#[test]
fn a_flood_is_limited_and_nothing_of_it_is_lost() {
    let (view, mut events) = (view(), Events::default());
    let mut sent = 0;
    for number in 0..30 {
        events.add(&change(&format!("R{number}")), "node-7", T + number);
    }
    let mut send = |events: &mut Events, now| {
        while let Some(outgoing) = events.next(&view, now) {
            events.done(outgoing);
            sent += 1;
        }
        sent
    };
    assert_eq!(send(&mut events, T), 10);
    assert_eq!(send(&mut events, T + REFILL_MS - 1), 10);
    assert_eq!(send(&mut events, T + 3 * REFILL_MS), 13);
    assert_eq!(
        send(&mut events, T - 5_000_000),
        13,
        "the clock was set back"
    );
    assert_eq!(send(&mut events, T + 100 * REFILL_MS), 23);
    assert!(events.is_waiting());
    let given_up = events.next(&view, T + 200 * REFILL_MS).unwrap();
    events.give_up(&given_up);
    assert_eq!(events.waiting.len(), 6);
}

#[test]
fn names_are_names_however_long_the_nodes() {
    let name = event_name(&format!("{}.{}", "a".repeat(199), "b".repeat(50)), T);
    assert_eq!(name.len(), 199 + 1 + 32);
    assert!(!name.contains(".."));
}
