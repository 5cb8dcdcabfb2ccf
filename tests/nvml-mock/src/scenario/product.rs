//! Machines that are known. Their readings are YAML in `src/products`, in the format of a scenario's `all`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::gpu::GpuPatch;

/// One machine with its GPUs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Name in scenario files.
    pub name: String,
    /// What it is.
    pub about: String,
    /// How many GPUs the usual machine has.
    pub gpus: u32,
    /// Driver version.
    pub driver_version: String,
    /// CUDA version.
    pub cuda_version: i32,
    /// Bus ids in order; beyond them they are made up.
    pub bus_ids: Vec<String>,
    /// How many GPUs share a NUMA node.
    pub gpus_per_numa_node: u32,
    /// Serial number of the first GPU; the others follow. Absent: the GPUs have none.
    #[serde(default)]
    pub first_serial: Option<u64>,
    /// GPUs are connected to each other over NVLink.
    pub nvlink_p2p: bool,
    /// Readings.
    pub gpu: GpuPatch,
}

const FILES: &[(&str, &str)] = &[
    ("a100-sxm", include_str!("../products/a100-sxm.yaml")),
    ("h100-sxm", include_str!("../products/h100-sxm.yaml")),
    ("h200-sxm", include_str!("../products/h200-sxm.yaml")),
    ("b200-sxm", include_str!("../products/b200-sxm.yaml")),
    ("gh200", include_str!("../products/gh200.yaml")),
    ("gb200", include_str!("../products/gb200.yaml")),
    (
        "rtx-6000-ada",
        include_str!("../products/rtx-6000-ada.yaml"),
    ),
];

impl Product {
    /// All of them. A file that does not parse is left out (a test sees to it that all do).
    pub fn all() -> &'static [Product] {
        static ALL: OnceLock<Vec<Product>> = OnceLock::new();
        ALL.get_or_init(|| {
            FILES
                .iter()
                .filter_map(|(name, text)| super::parse(name, text).ok())
                .collect()
        })
    }

    /// One by name; the `-sxm` may be left out.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Product> {
        Self::all()
            .iter()
            .find(|p| p.name == name || p.name.strip_suffix("-sxm") == Some(name))
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The files behind them, name and text.
    #[must_use]
    pub fn files() -> &'static [(&'static str, &'static str)] {
        FILES
    }
}
