//! The node's present state, as exports want it.

use std::collections::BTreeMap;

use gpud_exports::{
    ComponentHealth, GpuIdentity, Health, HealthView, Inventory, NodeIdentity, Snapshot,
};

use super::{DaemonExports, records};
use crate::{model::HealthState, node::nvml};

/// A state by component, name and subject.
type StateKey = (String, String, Option<gpud_exports::Subject>);

/// Makes snapshots, and remembers since when each state has its health.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    since: BTreeMap<StateKey, (Health, u64)>,
}

impl Snapshots {
    /// Takes a picture of all components that apply to this machine.
    pub(super) fn take(&mut self, daemon: &DaemonExports, node: &NodeIdentity) -> Snapshot {
        let now = daemon.services.node.clock.now_ms();
        let inventory = daemon.services.node.nvml.inventory();
        let gpus = inventory.as_deref();
        let mut seen = BTreeMap::new();
        let mut components = Vec::new();
        for component in daemon.registry.all() {
            if !component.is_supported() {
                continue;
            }
            let name = component.name();
            let states = component.states(now);
            let states = daemon.services.with_own_trouble(name, states);
            let states = states.into_iter().map(|state| {
                let mut view = view(state, name, gpus);
                let key = (name.to_owned(), view.name.clone(), view.subject.clone());
                let known = self.since.get(&key);
                let same = known.filter(|(health, _)| *health == view.health);
                view.since = same.map_or(now, |(_, since)| *since);
                seen.insert(key, (view.health.clone(), view.since));
                view
            });
            components.push(ComponentHealth {
                component: name.to_owned(),
                states: states.collect(),
            });
        }
        self.since = seen;
        Snapshot {
            node: node.clone(),
            components,
            inventory: gpus.map(of_gpus).unwrap_or_default(),
        }
    }
}

fn view(state: HealthState, component: &str, gpus: Option<&nvml::Inventory>) -> HealthView {
    HealthView {
        name: state.name.unwrap_or_else(|| component.to_owned()),
        health: Health::from(state.health.as_str()),
        reason: state.reason,
        suggested_actions: records::actions(state.suggested_actions.as_ref()),
        subject: state.subject.map(|subject| records::subject(subject, gpus)),
        since: 0,
    }
}

fn of_gpus(inventory: &nvml::Inventory) -> Inventory {
    let gpus = inventory.gpus.iter().map(|gpu| GpuIdentity {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        serial: gpu.serial.clone().unwrap_or_default(),
        pci: gpu.bus_id.clone(),
    });
    let first = inventory.gpus.first();
    Inventory {
        chassis_serial: crate::machine_info::chassis_serial(inventory),
        driver_version: inventory.driver_version.clone(),
        product: first.map(|gpu| gpu.name.clone()).unwrap_or_default(),
        gpus: gpus.collect(),
    }
}
