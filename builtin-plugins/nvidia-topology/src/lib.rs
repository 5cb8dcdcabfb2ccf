//! `accelerator-nvidia-topology`: how far it is from each NVIDIA GPU to each network card: bridges, root complexes,
//! NUMA nodes.

pub mod config;
pub mod evaluate;
pub mod machine;
pub mod pci_location;

use gpud_builtin_nvidia_common::{asking, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::findings;
use gpud_sdk::nvml;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use crate::config::Config;
use crate::machine::{Machine, Tree};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-topology";
/// Boards do not move.
const INTERVAL_SECONDS: u64 = 600;
const MAX_ENTRIES: u32 = 4_096;
const MAX_BYTES: u32 = 256;

/// The checker.
pub struct Topology;

/// The real machine.
struct Node;

impl Tree for Node {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        let entries = sysfs::list_directory(folder, MAX_ENTRIES)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn text(&self, path: &str) -> Result<String, AccessError> {
        sysfs::read_to_string(path, MAX_BYTES).map(|text| text.trim().to_owned())
    }

    fn link(&self, path: &str) -> Result<String, AccessError> {
        sysfs::read_link(path)
    }
}

impl Checker for Topology {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if let Some(report) = asking::closed(context, &Driver::ask()) {
            return Ok(report);
        }
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let gpus = nvml::ask(&[])?.iter().map(Into::into).collect();
        let machine = Machine::read(&Node, gpus)?;
        findings::check(|before| Ok(evaluate::evaluate(context, &config, &machine, before)))
    }
}

gpud_sdk::member!(COMPONENT => Topology: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(
        COMPONENT,
        "Where NVIDIA GPUs and network cards are on the PCI bus, and which are close to each other",
    )
    .tags(&tags(COMPONENT))
    .interval_seconds(INTERVAL_SECONDS)
    .config_schema(config::SCHEMA)
}
