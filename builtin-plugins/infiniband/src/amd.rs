//! The InfiniBand ports of a machine of AMD's GPUs for the fabric between GPUs, and their rate.
//!
//! The GPUs are recognised by their PCI ids, so that no driver is needed. An accelerator module (OAM) is only built into
//! machines of eight, each with a port of 400 Gb/s of its own (AMD's reference design of the platform). A virtual machine
//! that was given fewer of them may have fewer ports, so that nothing is expected of it.

use crate::evaluate::Machine;
use crate::product::Expected;

/// PCI ids of the modules: MI300X, MI325X, MI350X, MI355X (Linux `drivers/gpu/drm/amd`, the `pci.ids` list).
const MODULES: [&str; 4] = ["1002:74A1", "1002:74A5", "1002:75A0", "1002:75A3"];
/// GPUs of a machine.
const GPUS: usize = 8;
/// The ports of such a machine.
const PORTS: Expected = Expected {
    ports: 8,
    rate: 400,
};

/// Returns what the machine should have. Nothing if its devices cannot be read: then there is no expectation either.
pub fn expected(machine: &impl Machine) -> Option<Expected> {
    let devices = machine.pci_devices().unwrap_or_default();
    let modules = devices.iter().filter(|uevent| is_module(uevent)).count();
    (modules == GPUS).then_some(PORTS)
}

/// Recognises a module by its `uevent` (`pci_uevent` in `drivers/pci/pci-driver.c`).
fn is_module(uevent: &str) -> bool {
    let id = uevent.lines().find_map(|line| line.strip_prefix("PCI_ID="));
    id.is_some_and(|id| MODULES.iter().any(|module| id.eq_ignore_ascii_case(module)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::tests::Map;
    use crate::evaluate::tests::Fake;

    fn machine(id: &str, count: usize) -> Fake {
        let mut machine = Fake::of(Map::default());
        machine.pci = vec![format!("DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID={id}\n"); count];
        machine
            .pci
            .push("DRIVER=nvme\nPCI_CLASS=10802\nPCI_ID=144D:A80A\n".to_owned());
        machine
    }

    #[test]
    fn whole_machines_of_eight_modules_have_eight_ports() {
        for (id, count, expected_ports) in [
            ("1002:74A1", 8, Some(PORTS)),
            ("1002:74a5", 8, Some(PORTS)),
            ("1002:74A1", 1, None),
            ("1002:74A1", 0, None),
            // A card for workstations.
            ("1002:744C", 8, None),
            ("10DE:2330", 8, None),
        ] {
            assert_eq!(
                expected(&machine(id, count)),
                expected_ports,
                "{count} x {id}"
            );
        }
        let mut unreadable = machine("1002:74A1", 8);
        unreadable.fails.set("pci");
        assert_eq!(expected(&unreadable), None);
        unreadable.fails.set("");
        unreadable.pci.clear();
        assert_eq!(expected(&unreadable), None);
    }
}
