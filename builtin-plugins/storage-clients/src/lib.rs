//! `storage-clients`: clients of network storage (Lustre, Ceph, IBM Storage Scale, BeeGFS, WEKA, SMB, iSCSI) that lost
//! their servers or data, as the kernel log tells ([`lines`]). NFS has a component of its own.

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
pub const COMPONENT: &str = "storage-clients";
/// The gauge of what happened lately.
pub const METRIC: &str = "storage_clients_events_recent";

/// How it judges.
pub static LINES: KernelLines = KernelLines {
    catalog: &patterns::CATALOG,
    find: lines::find,
    subject: "storage",
    metric: METRIC,
    healthy: "no storage server is lost",
};

/// The checker.
pub struct StorageClients;

impl Checker for StorageClients {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        LINES.check(context)
    }
}

impl KmsgWatcher for StorageClients {
    fn patterns(_component: &str) -> Vec<String> {
        patterns::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        LINES.on_messages(context, &messages)
    }
}

impl Scanner for StorageClients {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        LINES.scan(context)
    }
}

gpud_sdk::member!(COMPONENT => StorageClients + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Clients of network storage that lost their servers or data, as the kernel log tells",
)
.tags(&["storage", COMPONENT])
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(METRIC, "Lines about clients of network storage within the last hour, by kind (number)")
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
