//! The present state of the node, for engines that want a picture rather than changes.

use serde::Serialize;

use crate::{Health, NodeIdentity, Subject, UnixMillis};

/// The node as it is now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// Which machine.
    pub node: NodeIdentity,
    /// All components that apply to this machine, ascending by name.
    pub components: Vec<ComponentHealth>,
    /// The machine's parts.
    pub inventory: Inventory,
}

/// A component and its latest verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentHealth {
    /// The component.
    pub component: String,
    /// Its verdicts, at least one.
    pub states: Vec<HealthView>,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthView {
    /// Name of the state; usually the component's.
    pub name: String,
    /// The verdict.
    pub health: Health,
    /// One line for a person.
    pub reason: String,
    /// Suggested actions in the API's words, such as `REBOOT_SYSTEM`, most important first.
    pub suggested_actions: Vec<String>,
    /// The part of the node that it is about, when not the whole component.
    pub subject: Option<Subject>,
    /// Since when this state has this health, as far as this daemon saw it.
    pub since: UnixMillis,
}

/// The machine's parts. Texts are empty where something is not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Inventory {
    /// Serial number of the chassis.
    pub chassis_serial: String,
    /// Version of the GPU driver.
    pub driver_version: String,
    /// GPU product.
    pub product: String,
    /// All GPUs, ascending by index.
    pub gpus: Vec<GpuIdentity>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GpuIdentity {
    /// Index in the driver's order.
    pub index: u32,
    /// NVML UUID (`GPU-…`).
    pub uuid: String,
    /// Board serial number.
    pub serial: String,
    /// PCI address as `domain:bus:device.function`.
    pub pci: String,
}

impl Snapshot {
    /// Returns the worst health of all components, leaving out those for which `is_left_out`.
    pub fn worst(&self, is_left_out: impl Fn(&str) -> bool) -> Health {
        let counted = self
            .components
            .iter()
            .filter(|c| !is_left_out(&c.component));
        let healths = counted.flat_map(|c| &c.states).map(|state| &state.health);
        let worst = healths.max_by_key(|health| health.rank());
        worst.cloned().unwrap_or(Health::Healthy)
    }

    /// Returns the same with these components only.
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let components = self.components.iter().filter(|c| is_wanted(&c.component));
        Self {
            components: components.cloned().collect(),
            ..self.clone()
        }
    }
}
