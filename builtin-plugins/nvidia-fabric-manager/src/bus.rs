//! GPUs and NVLink switches on the PCI bus.

/// What the kernel knows of each device.
pub const FILES: &str = "/sys/bus/pci/devices/*/uevent";
/// Class and subclass of GPUs in data centres: 3D controllers.
const GPU: &str = "302";
/// Of NVSwitches: bridges of no other kind. NVIDIA's PCI bridges (Grace's root ports) are not among them.
const SWITCH: &str = "680";

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bus {
    /// NVIDIA GPUs.
    pub gpus: usize,
    /// NVSwitches, up to the third generation; later ones are not on the bus of the node.
    pub switches: usize,
}

impl Bus {
    /// Counts, given all `uevent` files.
    pub fn count<'a>(uevents: impl Iterator<Item = &'a str>) -> Self {
        let mut bus = Self::default();
        for uevent in uevents {
            let value = |key: &str| {
                let mut lines = uevent.lines();
                lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            };
            let id = value("PCI_ID").unwrap_or("");
            let vendor = id.split(':').next().unwrap_or("");
            if !vendor.eq_ignore_ascii_case("10de") {
                continue;
            }
            // Six digits without zeros in front: class, subclass, interface.
            match value("PCI_CLASS").and_then(|class| class.get(..class.len().checked_sub(2)?)) {
                Some(GPU) => bus.gpus += 1,
                Some(SWITCH) => bus.switches += 1,
                _ => {}
            }
        }
        bus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let uevents = [
            "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n",
            "PCI_CLASS=30200\nPCI_ID=10de:2330\n",
            "DRIVER=nvidia-nvswitch\nPCI_CLASS=68000\nPCI_ID=10DE:22A3\n",
            // A root port of Grace, another maker's switch, something broken.
            "PCI_CLASS=60400\nPCI_ID=10DE:22B1\n",
            "PCI_CLASS=68000\nPCI_ID=8086:22A3\n",
            "PCI_CLASS=6\nPCI_ID=10DE:22A3\n",
            "PCI_CLASS=ää\nPCI_ID=10DE:22A3\n",
            "",
        ];
        let expected = Bus {
            gpus: 2,
            switches: 1,
        };
        assert_eq!(Bus::count(uevents.into_iter()), expected);
    }
}
