//! A machine at one moment: product, scenario and the timeline steps in force, put together.

use serde::Deserialize;

use super::Scenario;
use super::gpu::{Gpu, Health};
use super::product::Product;

/// Peer-to-peer state of pairs of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct P2p {
    /// All pairs among these GPUs; absent: all GPUs.
    #[serde(default)]
    pub gpus: Option<Vec<u32>>,
    /// `nvmlGpuP2PCapsIndex_t`: 0 read, 1 write, 2 NVLink, 3 atomics, 4 PCI; absent: each.
    #[serde(default)]
    pub index: Option<u32>,
    /// `nvmlGpuP2PStatus_t`.
    pub status: u32,
}

/// A machine at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Driver version.
    pub driver_version: String,
    /// NVML version.
    pub nvml_version: String,
    /// CUDA version.
    pub cuda_version: i32,
    /// All GPUs that there ever are, by number.
    pub gpus: Vec<Gpu>,
    /// The numbers of those that are enumerated now, in order.
    pub present: Vec<u32>,
    /// GPUs reach each other over NVLink.
    pub nvlink_p2p: bool,
    /// Exceptions.
    pub p2p: Vec<P2p>,
    /// See [`Scenario::strict_gpm_version`].
    pub strict_gpm_version: bool,
    /// Milliseconds since the file was read, when this was put together.
    pub made_at_ms: u64,
}

impl Node {
    /// Puts a machine together. `active` says for each step of the timeline whether it is in force.
    #[must_use]
    pub fn build(scenario: &Scenario, product: &Product, active: &[bool], now_ms: u64) -> Node {
        let steps = || {
            scenario
                .timeline
                .iter()
                .zip(active)
                .filter(|(_, active)| **active)
                .map(|(step, _)| &step.value)
        };
        let gpus: Vec<Gpu> = (0..scenario.slots(product))
            .map(|number| {
                let mut gpu = identity(product, number);
                gpu.patch(&product.gpu);
                gpu.patch(&scenario.all);
                if let Some(patch) = scenario.gpu.get(&number) {
                    gpu.patch(&patch.value);
                }
                for step in steps().filter(|step| step.is_for(number)) {
                    gpu.patch(&step.set);
                }
                gpu
            })
            .collect();
        let counts = steps().filter_map(|step| step.gpus);
        let count = counts
            .fold(None, |_, count| Some(count))
            .unwrap_or_else(|| scenario.count(product));
        let present = (0..count)
            .zip(&gpus)
            .filter(|(_, gpu)| gpu.health() != Health::Absent)
            .map(|(n, _)| n)
            .collect();
        let driver_version = scenario
            .driver_version
            .clone()
            .unwrap_or_else(|| product.driver_version.clone());
        Node {
            nvml_version: scenario
                .nvml_version
                .clone()
                .unwrap_or_else(|| format!("12.{driver_version}")),
            driver_version,
            cuda_version: scenario.cuda_version.unwrap_or(product.cuda_version),
            gpus,
            present,
            nvlink_p2p: product.nvlink_p2p,
            p2p: scenario.p2p.clone(),
            strict_gpm_version: scenario.strict_gpm_version,
            made_at_ms: now_ms,
        }
    }

    /// A GPU by its number.
    #[must_use]
    pub fn gpu(&self, number: u32) -> Option<&Gpu> {
        self.gpus.get(usize::try_from(number).ok()?)
    }

    /// Peer-to-peer state of two GPUs by NVML's index.
    #[must_use]
    pub fn p2p_status(&self, a: u32, b: u32, index: u32) -> u32 {
        let exception = self.p2p.iter().rev().find(|p2p| {
            p2p.index.is_none_or(|i| i == index)
                && p2p
                    .gpus
                    .as_ref()
                    .is_none_or(|gpus| gpus.contains(&a) && gpus.contains(&b))
        });
        match exception {
            Some(p2p) => p2p.status,
            // 5: not supported.
            None if index == 2 && !self.nvlink_p2p => 5,
            None => 0,
        }
    }
}

/// What makes one GPU of a product different from the next.
fn identity(product: &Product, number: u32) -> Gpu {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    let bus_id = product
        .bus_ids
        .get(place)
        .cloned()
        // A domain of their own, so that they are none of those.
        .unwrap_or_else(|| format!("0001:{:02x}:00.0", 0x20 + number));
    // A hash of the product's name keeps UUIDs of different machines apart, and the same on every run.
    let seed = product
        .name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
    let mut gpu = Gpu {
        uuid: Some(format!(
            "GPU-{:08x}-{:04x}-4{:03x}-a{number:03x}-{:012x}",
            seed >> 32,
            (seed >> 16) & 0xffff,
            seed & 0xfff,
            seed >> 16
        )),
        serial: product
            .first_serial
            .map(|first| (first + u64::from(number)).to_string()),
        minor_number: Some(number),
        module_id: Some(number + 1),
        numa_node: Some(number / product.gpus_per_numa_node.max(1)),
        irq: Some(100 + number),
        pdi: Some(seed ^ u64::from(number)),
        ..Gpu::default()
    };
    gpu.board_id = Some(bus(&bus_id).map_or(number, |(domain, bus, _)| domain << 16 | bus << 8));
    gpu.pci.bus_id = Some(bus_id);
    gpu
}

/// Domain, bus and device of a bus id.
#[must_use]
pub fn bus(id: &str) -> Option<(u32, u32, u32)> {
    let mut parts = id.split(':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let device = rest.split('.').next()?;
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    Some((hex(domain)?, hex(bus)?, hex(device)?))
}
