//! NVIDIA's devices on the PCI bus, as the kernel lists them, whether or not the driver has them.
//!
//! Class and vendor stand in files of their own, which the kernel answers out of its memory
//! (`drivers/pci/pci-sysfs.c`). `uevent` would have both in one, but some kernels wait in it for the device's lock, which
//! a driver keeps that hangs while it starts.

use gpud_sdk::AccessError;
use gpud_sdk::files;

const DEVICES: &str = "/sys/bus/pci/devices";
const VENDOR: &str = "0x10de";
/// 3D controllers: GPUs without a display, as those of data centres are.
pub const CONTROLLER_3D: u16 = 0x0302;
/// GPUs with one, and some servers' management chips, which are not NVIDIA's.
pub const VGA_CONTROLLER: u16 = 0x0300;
/// NVSwitches: bridges of no other kind. NVIDIA's PCI bridges (Grace's root ports) are not among them.
pub const OTHER_BRIDGE: u16 = 0x0680;

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its PCI id, such as `0000:0f:00.0`.
    pub id: String,
    /// Class and subclass (`include/linux/pci_ids.h`).
    pub class: u16,
}

/// NVIDIA's devices of these classes, by PCI id.
///
/// # Errors
/// When the bus cannot be looked at: not granted, no answer in time.
pub fn devices(classes: &[u16]) -> Result<Vec<Device>, AccessError> {
    let files = files::read_all(&format!("{DEVICES}/*/class"))?;
    let mut devices = Vec::new();
    for device in files.iter().filter_map(|(path, text)| device(path, text)) {
        if !classes.contains(&device.class) {
            continue;
        }
        let vendor =
            files::read_optional(&format!("{DEVICES}/{}/vendor", device.id), files::SHORT)?;
        if vendor.as_deref() == Some(VENDOR) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// From the path of its `class` and what it says: class, subclass and interface, `0x030200`.
fn device(path: &str, text: &str) -> Option<Device> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 6)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let class = u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| are_digits)?
        >> 8;
    Some(Device {
        id: path.strip_suffix("/class")?.rsplit('/').next()?.to_owned(),
        class: u16::try_from(class).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_class() {
        let path = "/sys/bus/pci/devices/0000:0f:00.0/class";
        for (text, expected) in [
            ("0x030200", Some(CONTROLLER_3D)),
            ("0x030000", Some(VGA_CONTROLLER)),
            ("0x068000", Some(OTHER_BRIDGE)),
            ("0x060400", Some(0x0604)),
            ("030200", None),
            ("0x30200", None),
            ("0x+30200", None),
            ("0xzz0200", None),
            ("0x0302000", None),
            ("0xää00", None),
            ("", None),
        ] {
            let device = device(path, text);
            let expected = expected.map(|class| Device {
                id: "0000:0f:00.0".to_owned(),
                class,
            });
            assert_eq!(device, expected, "{text}");
        }
    }
}
