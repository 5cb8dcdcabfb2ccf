//! The verdict.

use gpud_sdk::{AccessError, CheckContext, Event, EventType, Evidence, HealthState, Report};
use serde::Serialize;

use crate::acs::Acs;
use crate::device::{Control, Device, NoConfigSpace, ROOT};

/// Name of the events.
pub const EVENT_NAME: &str = "acs_enabled";

/// The same devices are one event with a count for a day.
const MERGE_SECONDS: u32 = 24 * 60 * 60;
/// Devices given as evidence.
const MAX_EVIDENCE: usize = 16;
/// Bound of the host on a message is 4 KiB; this much of it for addresses.
const MAX_LISTED_BYTES: usize = 3_600;
/// Bound of the host on one fact, with some room.
const MAX_DATA_BYTES: usize = 60 * 1024;
/// Domain of nearly all devices of nearly all machines.
const FIRST_DOMAIN: &str = "0000:";

/// The machine's answers.
pub trait Machine {
    /// What `systemd-detect-virt` says: `none` on bare metal.
    ///
    /// # Errors
    /// When it cannot be run.
    fn virtualization(&self, arguments: &[&str]) -> Result<String, AccessError>;

    /// All PCI devices; none on a machine without the bus.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn devices(&self) -> Result<Vec<Device>, AccessError>;
}

/// A device as `data` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_control_service: Option<Acs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_driver_in_use: Option<&'a str>,
}

#[derive(Serialize)]
struct Data<'a> {
    devices: &'a [Row<'a>],
}

/// Judges a machine. In a virtual machine the bus is the hypervisor's, and nothing is looked at under KVM.
pub fn check(context: &CheckContext, machine: &impl Machine) -> Report {
    let healthy = |reason: &str| HealthState::healthy(context, reason);
    let ask = |arguments: &[&str]| {
        let asked = machine.virtualization(arguments);
        // A machine without systemd is no trouble.
        match asked {
            Ok(answer) => (answer, None),
            Err(AccessError::NotFound(_)) => (String::new(), None),
            Err(error) => (String::new(), Some(error.text())),
        }
    };
    let (vm, vm_error) = ask(&["--vm"]);
    if vm == "kvm" {
        return Report::of(healthy("host virt env is KVM (no need to check ACS)"));
    }
    let (kind, kind_error) = if vm_error.is_none() {
        ask(&[])
    } else {
        (String::new(), None)
    };
    if kind.is_empty() {
        let mut state = healthy("unknown virtualization environment (no need to check ACS)");
        state.error = vm_error.or(kind_error);
        return Report::of(state);
    }
    match machine.devices() {
        Ok(devices) => judge(context, &kind, &devices),
        Err(error) => {
            let mut state = HealthState::unjudged(context, &error);
            state.evidence.push(Evidence::File(ROOT.to_owned()));
            Report::of(state)
        }
    }
}

fn judge(context: &CheckContext, kind: &str, devices: &[Device]) -> Report {
    let ids = ids(devices);
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut enabled: Vec<(&str, &Device)> = Vec::new();
    let mut not_shown: Vec<&Device> = Vec::new();
    for (device, &id) in devices.iter().zip(&ids) {
        let control = device.control();
        let acs = match control {
            Control::Has(acs) => Some(acs),
            Control::HasNot => None,
            Control::NotShown => {
                not_shown.push(device);
                None
            }
        };
        if acs.is_some_and(|acs| acs.acs_ctl.src_valid) {
            enabled.push((id, device));
        }
        rows.push(Row {
            id,
            name: &device.name,
            access_control_service: acs,
            kernel_driver_in_use: device.driver.as_deref(),
        });
    }

    let matters = has_peers(devices);
    let reason = match (enabled.is_empty(), not_shown.is_empty()) {
        (false, _) if matters => "found some acs enabled devices (needs to be disabled)".to_owned(),
        (false, _) => {
            "non-KVM host env, acs enabled devices found but no GPU with a peer (no need to disable)"
                .to_owned()
        }
        (true, true) => {
            "non-KVM host env, no acs enabled device found (no need to disable)".to_owned()
        }
        (true, false) => format!(
            "non-KVM host env, ACS of {} of {} devices cannot be read without root",
            not_shown.len(),
            devices.len()
        ),
    };
    let mut state = HealthState::healthy(context, reason);
    state.error = not_shown.first().map(|device| {
        let why = match &device.config {
            Err(NoConfigSpace::Unread(why)) => why.clone(),
            _ => "only the first 64 bytes are shown".to_owned(),
        };
        format!("configuration space of {}: {why}", device.address)
    });
    let files = enabled.iter().take(MAX_EVIDENCE);
    state.evidence.extend(
        files.map(|(_, device)| Evidence::File(format!("{ROOT}/{}/config", device.address))),
    );
    if !rows.is_empty() {
        state = state.info("data", data(rows));
    }
    let report = Report::of(state);
    if enabled.is_empty() || !matters {
        return report;
    }
    let message = format!(
        "host virt env is \"{kind}\", ACS is enabled on the following PCI devices: {} (needs to be disabled)",
        listed(enabled.iter().map(|&(id, _)| id))
    );
    let event = Event::new(
        context.now,
        EVENT_NAME,
        EventType::Warning,
        message.as_str(),
    );
    report.event(event.merged_by(message, MERGE_SECONDS))
}

/// Whether there is a GPU and something that it can exchange data with directly: another GPU, or a network card that
/// reads its memory. Only then does ACS cost anything, and elsewhere it is a protection that kernels switch on by
/// themselves.
fn has_peers(devices: &[Device]) -> bool {
    let gpus = devices.iter().filter(|device| device.is_gpu()).count();
    let cards = devices.iter().filter(|device| device.is_rdma()).count();
    gpus > 1 || (gpus == 1 && cards > 0)
}

/// Addresses as `lspci` has them: without the domain where all have the first one.
fn ids(devices: &[Device]) -> Vec<&str> {
    let short = |device: &Device| device.address.starts_with(FIRST_DOMAIN);
    let cut = if devices.iter().all(short) {
        FIRST_DOMAIN.len()
    } else {
        0
    };
    let id = |device: &Device| device.address.len().min(cut);
    devices
        .iter()
        .map(|device| device.address.get(id(device)..).unwrap_or_default())
        .collect()
}

fn listed<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut more = 0;
    for id in ids {
        if more > 0 || text.len() + id.len() > MAX_LISTED_BYTES {
            more += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(id);
    }
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// The `data` document. When it is too long, devices without ACS are left out, and then the last ones.
fn data(mut rows: Vec<Row<'_>>) -> String {
    let document =
        |rows: &[Row<'_>]| serde_json::to_string(&Data { devices: rows }).unwrap_or_default();
    let mut text = document(&rows);
    if text.len() > MAX_DATA_BYTES {
        rows.retain(|row| row.access_control_service.is_some());
        text = document(&rows);
    }
    while text.len() > MAX_DATA_BYTES && rows.len() > 1 {
        rows.truncate(rows.len() / 2);
        text = document(&rows);
    }
    text
}

#[cfg(test)]
mod tests;
