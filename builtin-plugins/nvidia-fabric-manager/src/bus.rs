//! GPUs and NVLink switches on the PCI bus.

use gpud_builtin_nvidia_common::bus::{CONTROLLER_3D, Device, OTHER_BRIDGE};

/// Classes of what is counted: GPUs of data centres, and switches.
pub const CLASSES: [u16; 2] = [CONTROLLER_3D, OTHER_BRIDGE];

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bus {
    /// NVIDIA GPUs.
    pub gpus: usize,
    /// NVSwitches, up to the third generation; later ones are not on the bus of the node.
    pub switches: usize,
}

impl Bus {
    /// Counts NVIDIA's devices.
    pub fn count(devices: &[Device]) -> Self {
        let of = |class: u16| {
            devices
                .iter()
                .filter(|device| device.class == class)
                .count()
        };
        Self {
            gpus: of(CONTROLLER_3D),
            switches: of(OTHER_BRIDGE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let devices = [CONTROLLER_3D, CONTROLLER_3D, OTHER_BRIDGE, 0x0604].map(|class| Device {
            id: "0000:0f:00.0".to_owned(),
            class,
        });
        let expected = Bus {
            gpus: 2,
            switches: 1,
        };
        assert_eq!(Bus::count(&devices), expected);
    }
}
