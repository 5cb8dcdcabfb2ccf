//! The checker `cpu`, alone.

use gpud_builtin_cpu as cpu;
use gpud_sdk::{CheckContext, Checker, Error, Event, KmsgWatcher, Member, Message, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        cpu::Cpu::check(context)
    }
}

impl KmsgWatcher for Alone {
    fn patterns(component: &str) -> Vec<String> {
        <cpu::Cpu as KmsgWatcher>::patterns(component)
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        <cpu::Cpu as KmsgWatcher>::on_messages(context, messages)
    }
}

gpud_sdk::export!(Alone + kmsg_watcher: <cpu::Cpu as Member>::descriptor());
