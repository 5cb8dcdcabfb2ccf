//! Translates changes of components into records for exports.

use gpud_exports::{
    Finding, Health, HealthChange, LastHealths, NodeEvent, NodeIdentity, Record, Severity, Subject,
};

use crate::{
    component::feed::{Change, ChangeKind, reason_of_withdrawal},
    model::{self, HealthState, SuggestedActions},
    node::nvml,
};

/// Makes the record of a change; `None` for one that is no news to the outside.
pub(super) fn record(
    change: &Change,
    node: &NodeIdentity,
    gpus: Option<&nvml::Inventory>,
    healths: &mut LastHealths,
) -> Option<Record> {
    let component = change.component.clone();
    let (finding, subject) = match &change.kind {
        ChangeKind::Event(event) => {
            let found = NodeEvent {
                component,
                name: event.name.clone(),
                severity: Severity::from(event.event_type.as_str()),
                message: event.message.clone(),
                extra_info: event.extra_info.iter().cloned().collect(),
            };
            (Finding::Event(found), event.subject.clone())
        }
        ChangeKind::Health { was, state } => {
            let was = Health::from(was.as_str());
            let to = Health::from(state.health.as_str());
            let reason = state.reason.clone();
            let changed = health(component, state, &was, to, reason, healths)?;
            (changed, state.subject.clone())
        }
        ChangeKind::Withdrawn { state } => {
            let was = Health::from(state.health.as_str());
            let reason = reason_of_withdrawal(state);
            let changed = health(component, state, &was, Health::Healthy, reason, healths)?;
            (changed, state.subject.clone())
        }
    };
    let mut record = Record::new(change.time, node.clone(), finding);
    if let ChangeKind::Event(event) = &change.kind {
        // Its id says when gpud saw it, its time when it happened.
        record.time = event.time;
    }
    record.subject = subject.map(|found| self::subject(found, gpus));
    Some(record)
}

fn health(
    component: String,
    state: &HealthState,
    was: &Health,
    to: Health,
    reason: String,
    healths: &mut LastHealths,
) -> Option<Finding> {
    let name = state.name.clone().unwrap_or_else(|| component.clone());
    // It is not completed from the inventory: a driver that is loaded later is no change.
    let about = state.subject.clone().map(|found| subject(found, None));
    let from = healths.change(&component, &name, about.as_ref(), was, &to)?;
    let suggested_actions = match to {
        Health::Healthy => Vec::new(),
        _ => actions(state.suggested_actions.as_ref()),
    };
    Some(Finding::Health(HealthChange {
        component,
        name,
        from,
        to,
        reason,
        suggested_actions,
    }))
}

/// Returns the words of suggested actions.
pub(super) fn actions(suggested: Option<&SuggestedActions>) -> Vec<String> {
    let actions = suggested.into_iter().flat_map(|s| &s.repair_actions);
    actions.map(|action| action.as_str().to_owned()).collect()
}

/// Translates a subject, and completes the identity of a GPU.
pub(super) fn subject(found: model::Subject, gpus: Option<&nvml::Inventory>) -> Subject {
    match found {
        model::Subject::Node => Subject::Node,
        model::Subject::Gpu {
            uuid,
            serial,
            pci_id,
        } => gpu(uuid, serial, pci_id, gpus),
        model::Subject::Port { device, port } => Subject::Port { device, port },
        model::Subject::Mount(path) => Subject::Mount { path },
        model::Subject::Unit(name) => Subject::Unit { name },
        model::Subject::Other { kind, id } if kind == "disk" => Subject::Disk { name: id },
        model::Subject::Other { kind, id } => Subject::Other { what: kind, id },
    }
}

/// Completes a GPU from the inventory, by whichever of its names is known.
fn gpu(
    uuid: Option<String>,
    serial: Option<String>,
    pci: Option<String>,
    gpus: Option<&nvml::Inventory>,
) -> Subject {
    let known = gpus.and_then(|inventory| {
        let is_it = |gpu: &&std::sync::Arc<nvml::values::Identity>| match (&uuid, &pci) {
            (Some(uuid), _) => gpu.uuid == *uuid,
            (None, Some(pci)) => is_same_address(&gpu.bus_id, pci),
            (None, None) => false,
        };
        inventory.gpus.iter().find(is_it)
    });
    let Some(known) = known else {
        return Subject::Gpu {
            uuid,
            serial,
            pci,
            index: None,
        };
    };
    Subject::Gpu {
        uuid: Some(known.uuid.clone())
            .filter(|uuid| !uuid.is_empty())
            .or(uuid),
        serial: known.serial.clone().or(serial),
        pci: Some(known.bus_id.clone())
            .filter(|id| !id.is_empty())
            .or(pci),
        index: Some(known.index),
    }
}

/// Compares PCI addresses, of which the kernel's may lack the function (`0000:3b:00`).
fn is_same_address(full: &str, given: &str) -> bool {
    let full = full.to_ascii_lowercase();
    let given = given.to_ascii_lowercase();
    let bare = |address: &str| address.split('.').next().unwrap_or_default().to_owned();
    !given.is_empty() && (full == given || (!given.contains('.') && bare(&full) == given))
}

#[cfg(test)]
mod tests;
