//! Which GPU, NIC or port a PCI id is: from `class`, `vendor`, `device`, `net/`, `infiniband/` and `nvme/` of
//! `/sys/bus/pci/devices/‹id›/` (kernel document `Documentation/ABI/testing/sysfs-bus-pci`), and from
//! `/proc/driver/nvidia/gpus/‹id›/information` where NVIDIA's driver is loaded.

use gpud_sdk::{GpuId, Subject};

use crate::line::is_pci_id;

/// Longest name that is taken over from a file.
const MAX_NAME: usize = 80;
/// Devices that are named below a port.
const MAX_BELOW: usize = 4;

/// What was read of a device; what could not be read is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// `0x030200`.
    pub class: String,
    /// `0x10de`.
    pub vendor: String,
    /// `0x2330`.
    pub device: String,
    /// Target of the link in `/sys/bus/pci/devices`.
    pub link: String,
    /// Names that drivers give: network interfaces, InfiniBand devices, NVMe controllers.
    pub names: Vec<String>,
    /// `information` of NVIDIA's driver.
    pub nvidia: String,
}

/// The roles of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A GPU or another accelerator.
    Gpu,
    /// An NVSwitch.
    Switch,
    /// A network adapter.
    Nic,
    /// An NVMe disk.
    Nvme,
    /// A port of a root complex or PCIe switch.
    Port,
    /// Anything else.
    Other,
}

impl Role {
    fn of(class: &str, vendor: &str) -> Self {
        // Base class and sub-class: include/linux/pci_ids.h.
        match (class.get(..6), vendor) {
            (Some("0x0302" | "0x1200"), _) | (Some("0x0300"), "0x10de" | "0x1002") => Self::Gpu,
            (Some("0x0680"), "0x10de") => Self::Switch,
            (Some("0x0200" | "0x0207"), _) => Self::Nic,
            (Some("0x0108"), _) => Self::Nvme,
            (Some("0x0604"), _) => Self::Port,
            _ => Self::Other,
        }
    }

    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Switch => "NVSwitch",
            Self::Nic => "NIC",
            Self::Nvme => "NVMe disk",
            Self::Port => "PCIe port",
            Self::Other => "device",
        }
    }
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// PCI id.
    pub id: String,
    /// Kind; [`Role::Other`] when nothing is known.
    pub role: Role,
    /// What it is called, for people: model, vendor, interfaces; may be empty.
    pub name: String,
    /// UUID of an NVIDIA GPU.
    pub uuid: Option<String>,
    /// PCI ids of the ports above it, the root port first; `None` for a device that was not found.
    pub above: Option<Vec<String>>,
    /// Names of the GPUs, NICs and disks below a port.
    pub below: Vec<String>,
}

impl Device {
    /// A device of which nothing is known.
    pub fn unknown(id: &str) -> Self {
        Self::new(id, &Facts::default())
    }

    /// From what was read.
    pub fn new(id: &str, facts: &Facts) -> Self {
        let role = Role::of(facts.class.trim(), facts.vendor.trim());
        let of_driver = |key: &str| {
            let value = facts.nvidia.lines().find_map(|line| line.strip_prefix(key));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let mut parts: Vec<&str> = Vec::new();
        match of_driver("Model:") {
            Some(model) => parts.push(model),
            None => parts.extend(vendor(facts.vendor.trim())),
        }
        let own: String;
        if parts.is_empty() && !facts.vendor.trim().is_empty() {
            own = format!(
                "{}:{}",
                facts.vendor.trim().trim_start_matches("0x"),
                facts.device.trim().trim_start_matches("0x")
            );
            parts.push(&own);
        }
        parts.extend(facts.names.iter().map(String::as_str));
        let uuid =
            of_driver("GPU UUID:").filter(|uuid| uuid.starts_with("GPU-") && !uuid.contains('?'));
        let above = facts
            .link
            .split('/')
            .filter(|part| is_pci_id(part) && *part != id);
        let above = (!facts.link.is_empty()).then(|| above.map(str::to_owned).collect());
        Self {
            id: id.to_owned(),
            role,
            name: cut(&parts.join(" ")).to_owned(),
            uuid: uuid.map(|uuid| cut(uuid).to_owned()),
            above,
            below: Vec::new(),
        }
    }

    /// With what is below it.
    pub fn with_below(mut self, devices: &[Device]) -> Self {
        let named = devices.iter().take(MAX_BELOW);
        self.below = named.map(Device::title).collect();
        self
    }

    /// `0000:3b:00.0 (GPU NVIDIA H100 80GB HBM3)`, `0000:3a:00.0 (PCIe port above …)`.
    pub fn title(&self) -> String {
        let Self { id, role, name, .. } = self;
        let mut text = match (role, name.is_empty()) {
            (Role::Other, true) => return id.clone(),
            (Role::Port, _) if !self.below.is_empty() => {
                return format!("{id} ({} above {})", role.word(), self.below.join(", "));
            }
            (_, true) => format!("{id} ({}", role.word()),
            (_, false) => format!("{id} ({} {name}", role.word()),
        };
        text.push(')');
        text
    }

    /// What a state or an event about it is about.
    pub fn subject(&self) -> Subject {
        match self.role {
            Role::Gpu => Subject::Gpu(GpuId {
                uuid: self.uuid.clone(),
                serial: None,
                pci_id: Some(self.id.clone()),
            }),
            _ => Subject::Other(("pci".to_owned(), self.id.clone())),
        }
    }

    /// Whether it is worth naming below a port.
    pub fn is_end(&self) -> bool {
        matches!(self.role, Role::Gpu | Role::Switch | Role::Nic | Role::Nvme)
    }
}

/// Vendors of what GPU machines hold; the PCI ID registry has all.
fn vendor(id: &str) -> Option<&'static str> {
    Some(match id {
        "0x10de" => "NVIDIA",
        "0x15b3" => "Mellanox",
        "0x1002" | "0x1022" => "AMD",
        "0x8086" => "Intel",
        "0x14e4" | "0x1000" => "Broadcom",
        "0x11f8" => "Microchip",
        "0x144d" => "Samsung",
        "0x1da3" => "Habana",
        "0x1d0f" => "Amazon",
        _ => return None,
    })
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
