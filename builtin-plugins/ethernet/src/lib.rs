//! `ethernet`: network cards whose firmware or device fails, that run hot or lose their link, and bonds without one, as the
//! kernel log tells ([`lines`]). `mlx5_core` and transmit time-outs are `device-loss`'s.

pub mod lines;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod tests;

use gpud_sdk::kernel_lines::KernelLines;
use gpud_sdk::policy;
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
};

/// Name of the component.
pub const COMPONENT: &str = "ethernet";
/// The gauge of what happened lately.
pub const METRIC: &str = "ethernet_events_recent";

/// How it judges.
pub static LINES: KernelLines = KernelLines {
    catalog: &patterns::CATALOG,
    find: lines::find,
    subject: "nic",
    metric: METRIC,
    healthy: "no network card failed",
};

/// The checker.
pub struct Ethernet;

impl Checker for Ethernet {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        LINES.check(context)
    }
}

impl KmsgWatcher for Ethernet {
    fn patterns(_component: &str) -> Vec<String> {
        patterns::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        LINES.on_messages(context, &messages)
    }
}

impl Scanner for Ethernet {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        LINES.scan(context)
    }
}

gpud_sdk::member!(COMPONENT => Ethernet + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Network cards that fail, run hot or lose their link, and bonds without one, as the kernel log tells",
)
.tags(&["network", COMPONENT])
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(METRIC, "Lines about network cards and bonds within the last hour, by kind (number)")
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
