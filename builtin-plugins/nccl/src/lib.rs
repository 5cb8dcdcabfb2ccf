//! `accelerator-nvidia-nccl`: processes that crash inside the NCCL library, seen in the kernel log.
//!
//! A crash is an event; the state is always healthy, since it tells of a program, not of the machine.

pub mod evaluate;
pub mod line;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, kmsg,
};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-nccl";
/// Most messages that `kmsg` gives.
const MAX_MESSAGES: u32 = 4_096;

/// The checker.
pub struct Nccl;

impl Checker for Nccl {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let policy = policy::configured_alone(&patterns::CATALOG)?;
        let report = evaluate::check(&Driver::ask(), || {
            history::own_events(0, 1).map(|events| !events.is_empty())
        })?;
        // Setting it healthy does not make it forget what happened: no event is a verdict by itself.
        let past = PolicyInput::ask(context, &policy, false)?;
        Ok(policy.add(context, past.as_ref(), report))
    }
}

impl KmsgWatcher for Nccl {
    fn patterns(_component: &str) -> Vec<String> {
        line::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(messages
            .iter()
            .filter_map(|message| evaluate::event(context, message))
            .collect())
    }
}

impl Scanner for Nccl {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let read_back = || kmsg::read_back(&line::PATTERNS.map(str::to_owned), MAX_MESSAGES);
        Ok(evaluate::scan(context, &Driver::ask(), read_back))
    }
}

gpud_sdk::member!(COMPONENT => Nccl + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Crashes inside the NCCL library, in the kernel log",
)
.tags(&["accelerator", "gpu", "nvidia", COMPONENT])
.judged_by_kernel_log()
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
