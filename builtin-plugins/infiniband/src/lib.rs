//! `accelerator-nvidia-infiniband`: are enough InfiniBand ports up at the wanted rate, did one drop or does one flap, and
//! what the kernel log says of the cards.
//!
//! The ports come from sysfs ([`class`]), what is wanted from the configuration or the product ([`config`], [`product`]).
//! What has to survive from check to check is kept per port ([`memory`]), as a summary rather than as a table of
//! samples, so that it is small and a restart loses nothing. Lines of the kernel log ([`kmsg`]) become events and do not
//! change the verdict.

pub mod amd;
pub mod class;
pub mod config;
pub mod evaluate;
pub mod files;
pub mod kmsg;
pub mod memory;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod product;
#[rustfmt::skip]
mod products;
pub mod shown;
pub mod wording;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    history, incidents, state, sysfs,
};

use crate::class::Tree;
use crate::config::Config;
use crate::evaluate::Machine;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-infiniband";
/// Files of the class hold a line.
const MAX_FILE_BYTES: u32 = 4_096;
/// Entries of one folder: devices of the class, ports of a device.
const MAX_ENTRIES: u32 = 1_024;
/// Names that a PCI function has; one, but for drivers that stack devices.
const MAX_NAMES: u32 = 16;
/// The kernel's facts of each PCI device.
const PCI_DEVICES: &str = "/sys/bus/pci/devices/*/uevent";
/// The PCI devices of a large machine.
const MAX_PCI_DEVICES: u32 = 8_192;
/// Key of the retained state.
const PORTS: &str = "ports";

/// The checker.
pub struct Infiniband;

/// The real machine.
struct Node;

impl Tree for Node {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        let entries = sysfs::list_directory(folder, MAX_ENTRIES)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn text(&self, path: &str) -> Result<String, AccessError> {
        sysfs::read_to_string(path, MAX_FILE_BYTES)
    }
}

impl Machine for Node {
    fn has_events(&self) -> Result<bool, AccessError> {
        history::own_events(0, 1).map(|events| !events.is_empty())
    }

    fn remembers(&self) -> bool {
        history::available()
    }

    fn saved(&self) -> Result<Option<String>, AccessError> {
        state::get_string(PORTS)
    }

    fn save(&self, text: &str) -> Result<(), AccessError> {
        state::set(PORTS, text.as_bytes())
    }

    fn pci_devices(&self) -> Result<Vec<String>, AccessError> {
        let files = sysfs::read_glob(PCI_DEVICES, MAX_FILE_BYTES, MAX_PCI_DEVICES)?;
        let texts = files.into_iter().filter_map(|file| file.content.ok());
        Ok(texts
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect())
    }

    fn set_healthy_after(&self, time: u64) -> Result<Option<u64>, AccessError> {
        history::set_healthy_marks(time).map(|marks| marks.into_iter().max())
    }
}

impl Checker for Infiniband {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = policy::configured(&patterns::CATALOG, Config::read)?;
        let report = evaluate::check(context, &config, &Driver::ask(), &Node)?;
        let past = PolicyInput::ask(context, &policy, true)?;
        Ok(policy.add(context, past.as_ref(), report))
    }
}

impl KmsgWatcher for Infiniband {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(kmsg::events(context, &messages, |id| name_of(context, id)))
    }
}

/// The RDMA device of a PCI function; none once it is gone, and none for a log that may be another machine's.
fn name_of(context: &CheckContext, id: &str) -> Option<String> {
    if !incidents::are_of_this_machine(context) {
        return None;
    }
    let folder = format!("/sys/bus/pci/devices/{id}/infiniband");
    let entries = sysfs::list_directory(&folder, MAX_NAMES).ok()?;
    entries.into_iter().next().map(|entry| entry.name)
}

fn descriptor() -> Descriptor {
    let plain = Descriptor::new(
        COMPONENT,
        "InfiniBand ports: enough of them up at the wanted rate, drops and flaps, and complaints of the cards",
    )
    .tags(&["accelerator", "gpu", "nvidia", COMPONENT])
    .interval_seconds(30)
    .set_healthy_clears_events()
    .config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG));
    shown::METRICS.iter().fold(plain, |descriptor, metric| {
        descriptor.metric(metric.name, metric.help)
    })
}

gpud_sdk::member!(COMPONENT => Infiniband + kmsg_watcher: descriptor());
