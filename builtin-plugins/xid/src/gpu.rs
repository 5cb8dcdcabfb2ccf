//! Which GPU a line is about, and what its product can do.

use gpud_builtin_shared::time::push_padded;
use gpud_sdk::{GpuId, Subject};

/// A GPU as NVML or the kernel log names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpu {
    /// `GPU-…`; empty where it is not known.
    pub uuid: String,
    /// PCI id, in any spelling that [`pci_id`] reads.
    pub bus_id: String,
    /// Serial number of the board.
    pub serial: Option<String>,
    /// Position in NVML's order.
    pub index: Option<usize>,
    /// Name of the slot of the chassis.
    pub slot: Option<String>,
    /// NVIDIA's number of the chip.
    pub chip: Option<u16>,
}

impl Gpu {
    /// The UUID, where it is known.
    pub fn uuid(&self) -> Option<&str> {
        Some(self.uuid.as_str()).filter(|uuid| !uuid.is_empty())
    }
}

/// A PCI id in one spelling, `0000:3b:00.0`: lower case, a domain of four digits (more where it needs them), with
/// function. Understands `PCI:` before it, a missing domain, domains of up to eight digits, and a missing function.
pub fn pci_id(text: &str) -> Option<String> {
    let id = text.strip_prefix("PCI:").unwrap_or(text);
    let (id, function) = id.split_once('.').unwrap_or((id, "0"));
    let mut parts = id.rsplit(':');
    let device = hexadecimal(parts.next()?, 2)?;
    let bus = hexadecimal(parts.next()?, 2)?;
    let domain = parts
        .next()
        .map_or(Some(0), |domain| hexadecimal(domain, 8))?;
    let function = hexadecimal(function, 1)?;
    if parts.next().is_some() {
        return None;
    }
    let mut id = String::with_capacity(12);
    for (number, width, after) in [
        (domain, 4, ":"),
        (bus, 2, ":"),
        (device, 2, "."),
        (function, 1, ""),
    ] {
        push_padded(&mut id, number.into(), 16, width);
        id.push_str(after);
    }
    Some(id)
}

fn hexadecimal(text: &str, most: usize) -> Option<u32> {
    let fits =
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fits {
        u32::from_str_radix(text, 16).ok()
    } else {
        None
    }
}

/// The GPU with this PCI id, however either spells it.
pub fn find<'a>(gpus: &'a [Gpu], device: &str) -> Option<&'a Gpu> {
    if gpus.is_empty() {
        return None;
    }
    let wanted = pci_id(device)?;
    gpus.iter()
        .find(|gpu| pci_id(&gpu.bus_id).as_ref() == Some(&wanted))
}

/// All names of a GPU for people: `GPU 3, 0000:3b:00.0, GPU-…, serial 1600000000005`.
pub fn words(device: &str, gpu: Option<&Gpu>) -> String {
    let mut parts = Vec::with_capacity(4);
    if let Some(index) = gpu.and_then(|gpu| gpu.index) {
        parts.push(format!("GPU {index}"));
    }
    parts.push(pci_id(device).unwrap_or_else(|| device.to_owned()));
    if let Some(gpu) = gpu {
        parts.extend(gpu.uuid().map(str::to_owned));
        if let Some(serial) = &gpu.serial {
            parts.push(format!("serial {serial}"));
        }
        if let Some(slot) = &gpu.slot {
            parts.push(format!("slot {slot}"));
        }
    }
    parts.join(", ")
}

/// The GPU as the subject of an event or state, unless nothing is known of it.
pub fn subject(device: &str, uuid: Option<&str>, serial: Option<&str>) -> Option<Subject> {
    let (pci_id, uuid) = (pci_id(device), uuid.map(str::to_owned));
    if pci_id.is_none() && uuid.is_none() {
        return None;
    }
    Some(Subject::Gpu(GpuId {
        uuid,
        serial: serial.map(str::to_owned),
        pci_id,
    }))
}

/// True if rows of the memory of a product, by NVML's name of it, can be remapped. On such Xid 63 and 64 say that a row
/// was or could not be remapped, which the component for remapped rows reports.
pub fn remaps_rows(product: &str) -> bool {
    gpud_builtin_nvidia_common::product::memory_errors(product).row_remapping
}

#[cfg(test)]
mod tests;
