//! AMD's GPUs on the PCI bus, as the kernel lists them, whether or not the driver has them.

use gpud_builtin_amd_common::pci::{is_id, uevent};
use gpud_builtin_amd_common::tree::Tree;
use gpud_sdk::AccessError;

/// What the kernel knows of each device (`drivers/pci/pci-driver.c`, `pci_uevent`).
const FILES: &str = "/sys/bus/pci/devices/*/uevent";
const MAX_BYTES: u32 = 4_096;
/// The id of AMD's graphics division; its processors and their parts have another.
const ATI: &str = "1002:";
/// Class and subclass: VGA controller, 3D controller, other display controller, processing accelerator (MI300).
const CLASSES: [&str; 4] = ["300", "302", "380", "1200"];

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// PCI id, `0000:c1:00.0`.
    pub id: String,
    /// Vendor and device, `1002:74A1`.
    pub device_id: String,
    /// The driver that has it.
    pub driver: Option<String>,
}

impl Gpu {
    /// From a `uevent`, if it is of such a GPU.
    pub fn read(text: &str) -> Option<Self> {
        let device_id = uevent(text, "PCI_ID")?.to_ascii_uppercase();
        // Without zeros in front: class, subclass, and two digits of interface.
        let class = uevent(text, "PCI_CLASS")?;
        let kind = class.get(..class.len().checked_sub(2)?)?;
        let id = uevent(text, "PCI_SLOT_NAME").filter(|id| is_id(id))?;
        let is_gpu = device_id.starts_with(ATI) && CLASSES.contains(&kind);
        is_gpu.then(|| Self {
            id: id.to_owned(),
            device_id,
            driver: uevent(text, "DRIVER")
                .filter(|driver| !driver.is_empty())
                .map(str::to_owned),
        })
    }

    /// True if the driver that is watched has it.
    pub fn is_driven(&self) -> bool {
        self.driver.as_deref() == Some("amdgpu")
    }
}

/// The devices on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bus {
    /// The GPUs, by PCI id. A device that vanished in the meantime is not there.
    pub gpus: Vec<Gpu>,
    /// A device that cannot be looked at, in words: it may be a GPU.
    pub unreadable: Option<String>,
}

impl Bus {
    /// Looks.
    ///
    /// # Errors
    /// When the devices cannot be listed.
    pub fn read(tree: &impl Tree) -> Result<Self, AccessError> {
        let files = match tree.files(FILES, MAX_BYTES) {
            Err(AccessError::NotFound(_)) => return Ok(Self::default()),
            files => files?,
        };
        let mut bus = Self::default();
        for (_, text) in files {
            match text {
                Ok(text) => bus.gpus.extend(Gpu::read(&text)),
                // The kernel's answer for a device that is being taken away.
                Err(AccessError::NotFound(_) | AccessError::Other(_)) => {}
                Err(error) => bus.unreadable = Some(error.text()),
            }
        }
        Ok(bus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_amd_common::testing::Fixture;
    use proptest::prelude::*;

    fn text(class: &str, id: &str, driver: &str) -> String {
        format!(
            "{driver}PCI_CLASS={class}\nPCI_ID={id}\nPCI_SUBSYS_ID=1002:0001\nPCI_SLOT_NAME=0000:03:00.0\n"
        )
    }

    #[test]
    fn tells_gpus_from_other_devices() {
        for (class, id, expected) in [
            ("120000", "1002:74A1", true),
            ("30000", "1002:164E", true),
            ("38000", "1002:73FF", true),
            ("30200", "1002:66A0", true),
            ("30000", "1002:164e", true),
            // Its sound, a switch, a processor's bridge, another maker, another kind of accelerator.
            ("40300", "1002:AB28", false),
            ("60400", "1002:1478", false),
            ("60400", "1022:1483", false),
            ("30200", "10DE:2330", false),
            ("300", "1002:164E", false),
            ("1", "1002:164E", false),
            ("", "1002:164E", false),
        ] {
            let found = Gpu::read(&text(class, id, "DRIVER=amdgpu\n"));
            assert_eq!(found.is_some(), expected, "{class} {id}");
            assert!(found.is_none_or(|gpu| gpu.is_driven()));
        }
        let unbound = Gpu::read(&text("120000", "1002:74A1", "")).unwrap();
        assert_eq!(
            (unbound.driver, unbound.device_id.as_str()),
            (None, "1002:74A1")
        );
    }

    #[test]
    fn reads_the_bus() {
        let path = |id: &str| format!("/sys/bus/pci/devices/{id}/uevent");
        let tree = Fixture::default()
            .file(&path("0000:03:00.0"), &text("120000", "1002:74A1", ""))
            .fails(&path("0000:04:00.0"), AccessError::Other("gone".into()));
        let bus = Bus::read(&tree).unwrap();
        assert_eq!((bus.gpus.len(), bus.unreadable), (1, None));
        let denied = tree.fails(&path("0000:05:00.0"), AccessError::Denied("uevent".into()));
        let bus = Bus::read(&denied).unwrap();
        assert_eq!(bus.unreadable.as_deref(), Some("uevent: permission denied"));
        assert_eq!(Bus::read(&Fixture::default()), Ok(Bus::default()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_survived(class in "\\PC{0,7}", id in "(1002:)?\\PC{0,6}", rest in "\\PC{0,20}") {
            Gpu::read(&text(&class, &id, &rest));
            Gpu::read(&rest);
        }
    }
}
