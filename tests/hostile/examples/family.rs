//! Two components in one plugin: the first panics and spoils what they would share, the second must not notice.

use std::sync::atomic::{AtomicBool, Ordering};

use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, HealthState, KmsgWatcher, Message, Report,
};

/// Shared by both, if they ran in one instance.
static SPOILT: AtomicBool = AtomicBool::new(false);

struct Spoils;
struct Innocent;

impl Checker for Spoils {
    #[expect(clippy::panic, reason = "that is the point")]
    fn check(_: &CheckContext) -> Result<Report, Error> {
        SPOILT.store(true, Ordering::Relaxed);
        panic!("it fell off")
    }
}

impl KmsgWatcher for Spoils {
    fn patterns(_: &str) -> Vec<String> {
        vec!["family".to_owned()]
    }

    #[expect(clippy::panic, reason = "that is the point")]
    fn on_messages(_: &CheckContext, _: Vec<Message>) -> Result<Vec<Event>, Error> {
        panic!("it fell off")
    }
}

impl Checker for Innocent {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let reason = if SPOILT.load(Ordering::Relaxed) {
            "spoilt"
        } else {
            "all well"
        };
        Ok(Report::of(HealthState::healthy(context, reason)))
    }
}

gpud_sdk::member!("spoils" => Spoils + kmsg_watcher: Descriptor::new("spoils", "Panics"));
gpud_sdk::member!("innocent" => Innocent: Descriptor::new("innocent", "Does nothing wrong"));
gpud_sdk::export!([Spoils, Innocent] + kmsg_watcher);
