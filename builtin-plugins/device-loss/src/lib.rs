//! `device-loss`: drivers that lost their GPU or network card, or never got it.
//!
//! Kernel lines of `mlx5_core` and the NVIDIA driver, of a failed start of `amdgpu`, of network cards that do not send,
//! of PCIe slots and of IOMMUs ([`lines`]) become events; the state is judged from the recent ones ([`evaluate`]). What
//! the NVIDIA driver reports as an Xid (that a GPU fell off the bus among it) is the Xid check's, what the InfiniBand
//! check knows of mlx5 is that check's.

pub mod config;
pub mod evaluate;
pub mod lines;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_sdk::incidents::Repeats;
use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, incidents, sysfs,
};

use config::Config;
use evaluate::Drivers;

/// Name of the component.
pub const COMPONENT: &str = "device-loss";
const MAX_EVENTS: u32 = 2_000;
/// Devices of one driver, and the files that stand beside them.
const MAX_DEVICES: u32 = 1_024;
/// Interfaces of one network card.
const MAX_NAMES: u32 = 64;

/// The checker.
pub struct DeviceLoss;

impl Checker for DeviceLoss {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = read_config()?;
        let since = context.now.saturating_sub(evaluate::LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        let boots = incidents::boots(context, reboots.iter().map(|reboot| reboot.time));
        Ok(evaluate::judge(
            context,
            &config,
            &policy,
            &events,
            &boots,
            &drivers(context),
            || bound(context, "nouveau"),
        ))
    }
}

impl KmsgWatcher for DeviceLoss {
    fn patterns(_component: &str) -> Vec<String> {
        lines::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let mut repeats = Repeats::load(context)?;
        let events = evaluate::events(context, &messages, &mut repeats, |id| names(context, id));
        repeats.save()?;
        Ok(events)
    }
}

impl Scanner for DeviceLoss {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (config, policy) = read_config()?;
        // The host says so where the log cannot be read.
        let messages = incidents::read_log(&lines::PATTERNS)?.unwrap_or_default();
        let mut repeats = Repeats::default();
        let events = evaluate::events(context, &messages, &mut repeats, |id| names(context, id));
        let events = incidents::as_stored(events);
        let boots = incidents::boots(context, []);
        Ok(evaluate::judge(
            context,
            &config,
            &policy,
            &events,
            &boots,
            &drivers(context),
            || bound(context, "nouveau"),
        ))
    }
}

fn drivers(context: &CheckContext) -> Drivers {
    Drivers {
        nvidia: bound(context, "nvidia").len(),
        mlx5: bound(context, "mlx5_core").len(),
        amdgpu: bound(context, "amdgpu").len(),
    }
}

/// PCI ids of the devices that a driver has; none where it is not loaded.
fn bound(context: &CheckContext, driver: &str) -> Vec<String> {
    if !incidents::are_of_this_machine(context) {
        return Vec::new();
    }
    let folder = format!("/sys/bus/pci/drivers/{driver}");
    let entries = sysfs::list_directory(&folder, MAX_DEVICES).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name);
    names.filter_map(|name| lines::pci_id(&name)).collect()
}

/// Names that a network card has in the system: RDMA device and interfaces. None once it is gone.
fn names(context: &CheckContext, id: &str) -> Vec<String> {
    if !incidents::are_of_this_machine(context) {
        return Vec::new();
    }
    let list = |kind: &str| {
        let folder = format!("/sys/bus/pci/devices/{id}/{kind}");
        let entries = sysfs::list_directory(&folder, MAX_NAMES).unwrap_or_default();
        entries.into_iter().map(|entry| entry.name)
    };
    list("infiniband").chain(list("net")).collect()
}

fn read_config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::parse)
}

gpud_sdk::member!(COMPONENT => DeviceLoss + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "GPUs and network cards that their driver lost or could not start, and faults of PCIe slots and IOMMUs, as the kernel log tells",
)
.tags(&["accelerator", "gpu", "network", COMPONENT])
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(
    evaluate::METRIC,
    "Lines about lost or failing devices within repeat_window_seconds, by kind (number)",
)
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
