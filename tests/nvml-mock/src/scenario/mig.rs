//! MIG mode and MIG devices.

use serde::Deserialize;

use super::patch::readings;

readings! {
    /// MIG. `enabled: null`: the GPU cannot do it.
    Mig, MigPatch {
        /// On now.
        enabled: bool,
        /// On after the next reset; by default as now.
        pending: bool,
        /// How many devices there can be.
        max_devices: u32,
        /// The devices; their place is the index.
        devices: Vec<MigDevice>,
    }
}

/// One MIG device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigDevice {
    /// `MIG-…`; by default made from the GPU's.
    #[serde(default)]
    pub uuid: Option<String>,
    /// Profile as in names, `1g.10gb`.
    pub profile: String,
    /// GPU instance.
    pub gpu_instance: u32,
    /// Compute instance.
    #[serde(default)]
    pub compute_instance: u32,
    /// Slices of the GPU.
    #[serde(default = "MigDevice::one")]
    pub slices: u32,
    /// Multiprocessors.
    #[serde(default = "MigDevice::sixteen")]
    pub multiprocessors: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Memory in use, bytes.
    #[serde(default)]
    pub used_memory: u64,
}

impl MigDevice {
    fn one() -> u32 {
        1
    }
    fn sixteen() -> u32 {
        16
    }
}

impl Mig {
    /// The devices, where MIG is on.
    #[must_use]
    pub fn devices(&self) -> &[MigDevice] {
        if self.enabled == Some(true) {
            self.devices.as_deref().unwrap_or_default()
        } else {
            &[]
        }
    }
}
