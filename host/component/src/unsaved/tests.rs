use super::*;

fn found(time: u64, message: &str) -> Commit {
    let event = Event {
        time,
        message: message.to_owned(),
        ..Event::default()
    };
    Commit {
        events: vec![event],
        ..Commit::default()
    }
}

fn messages(waiting: &UnsavedData) -> Vec<&str> {
    let events = waiting.commit.events.iter();
    events.map(|event| event.message.as_str()).collect()
}

#[test]
fn what_is_found_again_waits_once_and_the_order_stays() {
    let unsaved = Unsaved::default();
    unsaved.keep("a", found(1, "first"));
    let taken = unsaved.take("a").unwrap();
    assert_eq!(unsaved.take("a"), None);
    unsaved.keep("a", found(2, "first"));
    unsaved.keep("a", found(3, "second"));
    unsaved.put_back("a", taken);
    let waiting = unsaved.take("a").unwrap();
    assert_eq!(messages(&waiting), ["first", "second"]);
    assert_eq!(waiting.commit.events[0].time, 1);
}

#[test]
fn it_is_bounded() {
    let unsaved = Unsaved::default();
    for number in 0..2 * MAX_EVENTS {
        unsaved.keep("a", found(1, &number.to_string()));
    }
    let waiting = unsaved.take("a").unwrap();
    assert_eq!(waiting.commit.events.len(), MAX_EVENTS);
    assert_eq!(
        messages(&waiting).last(),
        Some(&(2 * MAX_EVENTS - 1).to_string().as_str())
    );
}
