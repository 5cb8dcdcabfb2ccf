//! Is fine on schedule, and panics on every kernel message. The component `panics-on-messages/flood` makes 2,000 events
//! of one message, and `panics-on-messages/patterns` wants 10,000 patterns.

use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, EventType, HealthState, KmsgWatcher, Message,
    Report,
};

struct PanicsOnMessages;

impl Checker for PanicsOnMessages {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "all well")))
    }
}

impl KmsgWatcher for PanicsOnMessages {
    fn patterns(component: &str) -> Vec<String> {
        let count = if component == "panics-on-messages/patterns" {
            10_000
        } else {
            1
        };
        vec!["gpud-hostile".to_owned(); count]
    }

    #[expect(clippy::panic, reason = "that is the point")]
    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        if context.component == "panics-on-messages/flood" {
            return Ok(vec![
                Event::new(context.now, "flood", EventType::Info, "");
                2000
            ]);
        }
        panic!("{} messages are too many", messages.len());
    }
}

gpud_sdk::export!(PanicsOnMessages + kmsg_watcher: Descriptor::new("panics-on-messages", "Panics on kernel messages")
    .and(Descriptor::new("panics-on-messages/flood", "Makes 2,000 events of a kernel message"))
    .and(Descriptor::new("panics-on-messages/patterns", "Has 10,000 patterns")));
