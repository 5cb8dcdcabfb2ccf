//! One device of the PCI bus, as sysfs has it (kernel: `Documentation/ABI/testing/sysfs-bus-pci`).

use crate::acs::{self, Acs};
use crate::ids::{Ids, Numbers};

/// All devices, by address.
pub const ROOT: &str = "/sys/bus/pci/devices";
/// Of a configuration space, what everybody may read.
const PUBLIC_BYTES: usize = 64;

/// A device.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Domain, bus and function as sysfs has them, for example `0000:3b:00.0`.
    pub address: String,
    /// Class, vendor and device.
    pub numbers: Numbers,
    /// Revision, if known.
    pub revision: Option<u8>,
    /// The driver that has it, if any.
    pub driver: Option<String>,
    /// In words, as `lspci` has it.
    pub name: String,
    /// Its configuration space, or why there is none.
    pub config: Result<Vec<u8>, NoConfigSpace>,
}

/// Why there is no configuration space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoConfigSpace {
    /// The kernel put the device to sleep; nothing goes through it.
    Suspended,
    /// It cannot be read; the text says why.
    Unread(String),
}

/// The known facts about a device's ACS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// It has it.
    Has(Acs),
    /// It has none, or sleeps.
    HasNot,
    /// The caller is not allowed to know.
    NotShown,
}

impl Device {
    /// A device by its address and its `uevent` file; nothing if the address is none.
    pub fn new(address: &str, uevent: &str) -> Option<Self> {
        if !is_address(address) {
            return None;
        }
        let value = |key: &str| uevent.lines().find_map(|line| line.strip_prefix(key));
        let (vendor, device) = value("PCI_ID=").and_then(|id| id.split_once(':')).unzip();
        let number = |text: Option<&str>| {
            text.and_then(|text| u16::from_str_radix(text.trim(), 16).ok())
                .unwrap_or(0)
        };
        // Class, subclass and programming interface, without leading zeros.
        let class = value("PCI_CLASS=").and_then(|text| u32::from_str_radix(text.trim(), 16).ok());
        let driver = value("DRIVER=")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        Some(Self {
            address: address.to_owned(),
            numbers: Numbers {
                class: class
                    .and_then(|class| u16::try_from(class >> 8).ok())
                    .unwrap_or(0),
                vendor: number(vendor),
                device: number(device),
            },
            revision: None,
            driver: driver.map(str::to_owned),
            name: String::new(),
            config: Err(NoConfigSpace::Unread("not read".to_owned())),
        })
    }

    /// Its ACS.
    pub fn control(&self) -> Control {
        match &self.config {
            Err(NoConfigSpace::Suspended) => Control::HasNot,
            Err(NoConfigSpace::Unread(_)) => Control::NotShown,
            Ok(config) if config.len() <= PUBLIC_BYTES => Control::NotShown,
            Ok(config) => acs::find(config).map_or(Control::HasNot, Control::Has),
        }
    }

    /// An NVIDIA GPU, of a data centre (3D controller) or a workstation (VGA).
    pub fn is_gpu(&self) -> bool {
        self.numbers.vendor == 0x10de && self.numbers.class >> 8 == 0x03
    }

    /// A network card that can reach into a GPU's memory: InfiniBand, or any of Mellanox.
    pub fn is_rdma(&self) -> bool {
        self.numbers.class == 0x0207
            || (self.numbers.vendor == 0x15b3 && self.numbers.class >> 8 == 0x02)
    }
}

/// `‹domain›:‹bus›:‹device›.‹function›`; a domain can have more than four digits.
fn is_address(text: &str) -> bool {
    let mut parts = text.split([':', '.']);
    let mut part = |sizes: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| {
            sizes.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit())
        })
    };
    part(4..=8) && part(2..=2) && part(2..=2) && part(1..=1) && parts.next().is_none()
}

/// The number in a file such as `revision`: `0xa1`.
pub fn hex(text: &str) -> Option<u8> {
    u8::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// Names all devices: `‹class›: ‹vendor› ‹device› (rev ‹revision›)`.
pub fn name(devices: &mut [Device], ids: impl FnOnce() -> Option<Ids>) {
    if devices.is_empty() {
        return;
    }
    let ids = ids().unwrap_or_default();
    let wanted: Vec<Numbers> = devices.iter().map(|device| device.numbers).collect();
    for (device, [class, vendor, model]) in devices.iter_mut().zip(ids.names(&wanted)) {
        let numbers = device.numbers;
        let class = class.map_or_else(|| format!("Class {:04x}", numbers.class), str::to_owned);
        let model = match (vendor, model) {
            (Some(vendor), Some(model)) => format!("{vendor} {model}"),
            (Some(vendor), None) => format!("{vendor} Device {:04x}", numbers.device),
            (None, _) => format!("Device {:04x}:{:04x}", numbers.vendor, numbers.device),
        };
        device.name = format!("{class}: {model}");
        if let Some(revision) = device.revision.filter(|&revision| revision != 0) {
            device.name.push_str(&format!(" (rev {revision:02x})"));
        }
    }
}

#[cfg(test)]
mod tests;
