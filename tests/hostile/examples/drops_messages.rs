//! A bad successor of `counts_messages`: its checks go well, and it panics on what the kernel says.

use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, HealthState, KmsgWatcher, Message, Report,
    state,
};

struct DropsMessages;

impl Checker for DropsMessages {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(context, "all well")))
    }
}

impl KmsgWatcher for DropsMessages {
    fn patterns(_: &str) -> Vec<String> {
        vec!["gpud-swap".to_owned()]
    }

    #[expect(clippy::panic, reason = "that is the point")]
    fn on_messages(_: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        state::set("count", b"0")?;
        panic!("{} messages are too many", messages.len());
    }
}

gpud_sdk::export!(DropsMessages + kmsg_watcher: Descriptor::new("drops-messages", "Panics on kernel messages"));
