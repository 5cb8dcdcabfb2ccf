//! GPUs on the PCI bus, as the kernel lists them, whether or not the driver does.

/// What the kernel knows of each device.
pub const FILES: &str = "/sys/bus/pci/devices/*/uevent";
/// NVIDIA's vendor id.
const NVIDIA: &str = "10DE:";
/// Class and subclass of 3D controllers, which GPUs without a display are. Boards with one are VGA controllers, and so
/// are some servers' management chips, which are not NVIDIA's.
const CLASSES: [&str; 2] = ["302", "300"];

/// The PCI id of an NVIDIA GPU, from its `uevent`.
pub fn gpu(uevent: &str) -> Option<&str> {
    let value = |key: &str| {
        uevent
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let is_nvidia = value("PCI_ID")?.to_ascii_uppercase().starts_with(NVIDIA);
    let class = value("PCI_CLASS")?;
    // Six digits without zeros in front: class, subclass, interface.
    let is_gpu = CLASSES
        .iter()
        .any(|wanted| class.len() == 5 && class.starts_with(wanted));
    if is_nvidia && is_gpu {
        value("PCI_SLOT_NAME")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_gpus_from_other_devices() {
        for (class, id, expected) in [
            ("30200", "10DE:2330", true),
            ("30200", "10de:2330", true),
            ("30000", "10DE:2684", true),
            // A switch, its sound, a management chip, another maker's accelerator.
            ("68000", "10DE:22A3", false),
            ("40300", "10DE:22BA", false),
            ("30000", "1A03:2000", false),
            ("38000", "1002:74A1", false),
            ("302", "10DE:2330", false),
        ] {
            let uevent = format!(
                "DRIVER=nvidia\nPCI_CLASS={class}\nPCI_ID={id}\nPCI_SUBSYS_ID=10DE:16C1\nPCI_SLOT_NAME=0000:0f:00.0\n"
            );
            let expected = expected.then_some("0000:0f:00.0");
            assert_eq!(gpu(&uevent), expected, "{class} {id}");
        }
        for uevent in [
            "",
            "PCI_CLASS=30200\n",
            "PCI_CLASS=30200\nPCI_ID=10DE:2330\n",
        ] {
            assert_eq!(gpu(uevent), None, "{uevent}");
        }
    }
}
