//! The checker `ipmi`, alone.

use gpud_builtin_ipmi as ipmi;
use gpud_sdk::{CheckContext, Checker, Error, Event, KmsgWatcher, Member, Message, Report};

struct Alone;

impl Checker for Alone {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        ipmi::Ipmi::check(context)
    }
}

impl KmsgWatcher for Alone {
    fn patterns(component: &str) -> Vec<String> {
        <ipmi::Ipmi as KmsgWatcher>::patterns(component)
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        <ipmi::Ipmi as KmsgWatcher>::on_messages(context, messages)
    }
}

gpud_sdk::export!(Alone + kmsg_watcher: <ipmi::Ipmi as Member>::descriptor());
