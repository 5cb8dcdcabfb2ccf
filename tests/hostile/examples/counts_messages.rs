//! Does nothing wrong: numbers the kernel messages that it gets, from one call to the next, and makes an event of each.

use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, EventType, HealthState, KmsgWatcher, Message,
    Report, state,
};

struct CountsMessages;

impl Checker for CountsMessages {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "all well")))
    }
}

impl KmsgWatcher for CountsMessages {
    fn patterns(_: &str) -> Vec<String> {
        vec!["gpud-swap".to_owned()]
    }

    fn on_messages(_: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let saved = state::get_string("count")?;
        let mut count: u64 = saved.and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut events = Vec::new();
        for message in messages {
            count += 1;
            let text = format!("{count}: {}", message.text);
            events.push(Event::new(message.time, "counted", EventType::Info, text));
        }
        state::set("count", count.to_string().as_bytes())?;
        Ok(events)
    }
}

gpud_sdk::export!(CountsMessages + kmsg_watcher: Descriptor::new("counts-messages", "Counts kernel messages"));
