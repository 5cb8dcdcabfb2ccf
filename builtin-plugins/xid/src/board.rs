//! The chip of a GPU and its slot, from the kernel log or the system.
//!
//! | line | source |
//! |---|---|
//! | `pci ‹GPU›: [10de:‹chip›] type 00 class …` | `drivers/pci/probe.c`, `pci_setup_device` |
//! | `NVRM: The NVIDIA GPU ‹GPU›`, `NVRM: (PCI ID: 10de:‹chip›) installed in this system …` | NVIDIA's driver, one message |
//! | `pci ‹port›: PCI bridge to [bus ‹n›…]` | `drivers/pci/probe.c`, `pci_scan_bridge_extend` |
//! | `pcieport ‹port›: pciehp: Slot #‹n› AttnBtn…`, `… Slot(‹n›): …` | `drivers/pci/hotplug/pciehp_hpc.c`, `pcie_init`; `pciehp_ctrl.c` |
//!
//! The lines are read in a saved log only: on the machine itself NVML knows the product, and
//! `/sys/bus/pci/slots/‹slot›/address` the slot.

use crate::gpu::{Gpu, pci_id};

/// The patterns of the lines that the host delivers of a saved log.
pub const PATTERNS: [&str; 4] = [
    r"^pci [0-9a-f:.]+: \[10de:",
    r"^NVRM: The NVIDIA GPU .*PCI ID: 10de:",
    r"^pci [0-9a-f:.]+: PCI bridge to \[bus ",
    r"^pcieport [0-9a-f:.]+: pciehp: Slot",
];
/// Most chips and ports that are remembered.
const MAX: usize = 256;
/// Longest name of a slot, bytes.
const MAX_SLOT: usize = 32;

/// The known facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Board {
    /// Full PCI ids, and NVIDIA's numbers of the chips.
    chips: Vec<(String, u16)>,
    ports: Vec<Port>,
}

/// A port with a bus behind it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Port {
    id: String,
    /// Domain and bus, `0000:3b`; empty while it is not known.
    bus: String,
    slot: String,
}

impl Board {
    /// Adds what lines say; true if there was anything.
    pub fn add<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) -> bool {
        let mut found = false;
        for line in lines {
            found |= self.add_line(line).is_some();
        }
        found
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        if let Some(rest) = line.strip_prefix("NVRM: The NVIDIA GPU ") {
            let (_, chip) = rest.split_once("PCI ID: 10de:")?;
            return self.add_chip(rest.get(..12)?, chip);
        }
        let (who, text) = line.split_once(": ")?;
        let (driver, device) = who.split_once(' ')?;
        match driver {
            "pci" => {
                if let Some(chip) = text.strip_prefix("[10de:") {
                    return self.add_chip(device, chip);
                }
                let bus = text.strip_prefix("PCI bridge to [bus ")?.get(..2)?;
                let domain = pci_id(device)?.get(..5)?.to_owned();
                let port = self.port(device)?;
                port.bus = domain + bus;
                Some(())
            }
            "pcieport" => {
                let rest = text.strip_prefix("pciehp: Slot")?;
                let rest = rest.strip_prefix(" #").or_else(|| rest.strip_prefix('('))?;
                let slot = rest.split([' ', ')']).next()?;
                let fits = slot
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                if slot.is_empty() || slot.len() > MAX_SLOT || !fits {
                    return None;
                }
                slot.clone_into(&mut self.port(device)?.slot);
                Some(())
            }
            _ => None,
        }
    }

    fn add_chip(&mut self, device: &str, chip: &str) -> Option<()> {
        let id = pci_id(device)?;
        let chip = u16::from_str_radix(chip.get(..4)?, 16).ok()?;
        self.chips.retain(|(known, _)| *known != id);
        if self.chips.len() < MAX {
            self.chips.push((id, chip));
        }
        Some(())
    }

    fn port(&mut self, device: &str) -> Option<&mut Port> {
        let id = pci_id(device)?;
        let at = match self.ports.iter().position(|port| port.id == id) {
            Some(at) => at,
            None if self.ports.len() >= MAX => return None,
            None => {
                self.ports.push(Port {
                    id,
                    ..Port::default()
                });
                self.ports.len() - 1
            }
        };
        self.ports.get_mut(at)
    }

    /// Adds what is known of chips and slots to GPUs.
    pub fn describe(&self, gpus: &mut Vec<Gpu>) {
        for (id, chip) in &self.chips {
            update(gpus, id.clone(), |gpu| gpu.chip = Some(*chip));
        }
        let ports = self.ports.iter();
        for port in ports.filter(|port| !port.bus.is_empty() && !port.slot.is_empty()) {
            add_slot(gpus, &port.slot, &port.bus);
        }
    }

    /// As text.
    pub fn write(&self) -> String {
        let chips = self.chips.iter();
        let chips = chips.map(|(id, chip)| format!("chip {id} {chip:04x}\n"));
        let ports = self.ports.iter();
        let ports = ports.map(|port| format!("port {} {} {}\n", port.id, port.bus, port.slot));
        chips.chain(ports).collect()
    }

    /// From what [`Self::write`] gave; lines of another form are left out.
    pub fn read(text: &str) -> Self {
        let mut board = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["chip", id, chip] => {
                    board.add_chip(id, chip);
                }
                ["port", id, bus, slot] => {
                    if let Some(port) = board.port(id) {
                        (*bus).clone_into(&mut port.bus);
                        (*slot).clone_into(&mut port.slot);
                    }
                }
                _ => {}
            }
        }
        board
    }
}

/// Adds a slot to the GPU whose address begins so: `0000:3b:00`, as the system writes it, or `0000:3b`.
pub fn add_slot(gpus: &mut Vec<Gpu>, slot: &str, address: &str) {
    let address = match address.matches(':').count() {
        1 => format!("{address}:00"),
        _ => address.to_owned(),
    };
    if let Some(id) = pci_id(&address) {
        update(gpus, id, |gpu| gpu.slot = Some(slot.to_owned()));
    }
}

/// Changes the GPU with this address, or one of which nothing else is known if there is none.
fn update(gpus: &mut Vec<Gpu>, id: String, change: impl FnOnce(&mut Gpu)) {
    let is_it = |gpu: &&mut Gpu| pci_id(&gpu.bus_id).as_deref() == Some(id.as_str());
    match gpus.iter_mut().find(is_it) {
        Some(gpu) => change(gpu),
        None => {
            let mut gpu = Gpu {
                bus_id: id,
                ..Gpu::default()
            };
            change(&mut gpu);
            gpus.push(gpu);
        }
    }
}

/// Whether GPUs with this chip remap rows; `None` for what has no memory that reports errors, or is not known.
///
/// The numbers of a generation are in one range (NVIDIA's list of supported chips). Volta and Turing retire pages, as do
/// those before; GA100 and later remap rows.
pub fn remaps_rows(chip: u16) -> Option<bool> {
    match chip {
        // Kepler to Turing.
        0x0fc0..=0x1fff => Some(false),
        // GA100; GA102 and GA10x; Hopper; Ada; Blackwell.
        0x2080..=0x20ff | 0x2200..=0x31ff => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::find;

    #[test]
    fn chips_and_slots_of_a_boot_are_read() {
        let mut board = Board::default();
        assert!(board.add([
            "pci 0000:3b:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint",
            "pci 0000:3b:00.1: [8086:1234] type 00 class 0x020000",
            "pci 0000:3a:00.0: PCI bridge to [bus 3b]",
            "pci 0000:5d:00.0: PCI bridge to [bus 5e-5f]",
            "pcieport 0000:3a:00.0: pciehp: Slot #5 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd-",
            "pcieport 0000:5d:00.0: pciehp: Slot(6-1): Link Down",
            "NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has",
        ]));
        assert!(!board.add([
            "pci 0000:3b:00.0: BAR 0",
            "pcieport x: pciehp: Slot(é): x",
            "pci: [10de:"
        ]));
        let again = Board::read(&board.write());
        assert_eq!(again, board);
        assert_eq!(Board::read("x\nchip\nport a b c d\n"), Board::default());
        let mut gpus = vec![Gpu {
            uuid: "GPU-a".into(),
            bus_id: "00000000:3B:00.0".into(),
            ..Gpu::default()
        }];
        again.describe(&mut gpus);
        let gpu = find(&gpus, "PCI:0000:3b:00").unwrap();
        assert_eq!(
            (gpu.uuid(), gpu.slot.as_deref(), gpu.chip),
            (Some("GPU-a"), Some("5"), Some(0x2330))
        );
        let other = find(&gpus, "PCI:0000:5e:00").unwrap();
        assert_eq!((other.uuid(), other.slot.as_deref()), (None, Some("6-1")));
        assert_eq!(find(&gpus, "0000:b3:00").unwrap().chip, Some(0x26b5));
    }

    #[test]
    fn slots_of_the_system_are_addresses_without_a_function() {
        let mut gpus = Vec::new();
        add_slot(&mut gpus, "PCIe Slot 3", "0001:17:00");
        add_slot(&mut gpus, "x", "none");
        assert_eq!(gpus.len(), 1);
        assert_eq!(
            find(&gpus, "PCI:0001:17:00").unwrap().slot.as_deref(),
            Some("PCIe Slot 3")
        );
    }

    #[test]
    fn rows_are_remapped_since_ampere() {
        // K80, P100, V100, T4, A100, A10, L40S, H100, B200; an audio function, and nothing.
        for (chip, expected) in [
            (0x102d, Some(false)),
            (0x15f8, Some(false)),
            (0x1db6, Some(false)),
            (0x1eb8, Some(false)),
            (0x20b0, Some(true)),
            (0x2236, Some(true)),
            (0x26b9, Some(true)),
            (0x2330, Some(true)),
            (0x2901, Some(true)),
            (0x0000, None),
            (0xffff, None),
        ] {
            assert_eq!(remaps_rows(chip), expected, "{chip:04x}");
        }
    }
}
