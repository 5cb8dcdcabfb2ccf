//! `accelerator-nvidia-peermem`: does InfiniBand use NVIDIA's peer memory module (GPUDirect RDMA), and the module's
//! complaint in the kernel log.
//!
//! Neither answer is unhealthy: a machine without InfiniBand needs no such module.

pub mod evaluate;
pub mod kmsg;
pub mod modules;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, history, sysfs,
};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-peermem";
/// Some 300 modules of some 100 bytes.
const MAX_MODULES_BYTES: u32 = 1 << 20;

/// The checker.
pub struct Peermem;

impl Checker for Peermem {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let policy = policy::configured_alone(&patterns::CATALOG)?;
        let report = evaluate::check(
            context,
            &Driver::ask(),
            || sysfs::read_to_string("/proc/modules", MAX_MODULES_BYTES),
            || history::own_events(0, 1).map(|events| !events.is_empty()),
        )?;
        // Setting it healthy does not make it forget what happened: no event is a verdict by itself.
        let past = PolicyInput::ask(context, &policy, false)?;
        Ok(policy.add(context, past.as_ref(), report))
    }
}

impl KmsgWatcher for Peermem {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(messages
            .iter()
            .filter_map(|message| kmsg::event(context, message))
            .collect())
    }
}

gpud_sdk::member!(COMPONENT => Peermem + kmsg_watcher: Descriptor::new(
    COMPONENT,
    "NVIDIA's peer memory module for GPUDirect RDMA, and its errors in the kernel log",
)
.tags(&["accelerator", "gpu", "nvidia", COMPONENT])
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
