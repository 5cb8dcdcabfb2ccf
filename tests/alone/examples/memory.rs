//! The checker `memory`, alone.

use gpud_builtin_memory as memory;
use gpud_sdk::{CheckContext, Checker, Error, Event, KmsgWatcher, Member, Message, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        memory::Memory::check(context)
    }
}

impl KmsgWatcher for Alone {
    fn patterns(component: &str) -> Vec<String> {
        <memory::Memory as KmsgWatcher>::patterns(component)
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        <memory::Memory as KmsgWatcher>::on_messages(context, messages)
    }
}

gpud_sdk::export!(Alone + kmsg_watcher: <memory::Memory as Member>::descriptor());
