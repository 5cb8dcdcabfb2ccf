//! Which devices there are. Virtual disks (virtio, Xen, loop, RAM, device mapper) have no SMART and are not asked.

use gpud_sdk::files::segment;

/// One.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Below `/dev`: `nvme0` (the controller), `sda`.
    pub name: String,
    /// NVMe.
    pub is_nvme: bool,
}

/// From the files `/sys/class/nvme/‹name›/transport` (`pcie`; `tcp`, `rdma`, `fc` are disks of another machine) and
/// `/sys/block/‹name›/device/uevent` (`DRIVER=sd` for SCSI and SATA disks; optical drives have `sr`).
pub fn all(nvme: &[(String, String)], disks: &[(String, String)]) -> Vec<Device> {
    let nvme = nvme.iter().filter(|(_, transport)| transport == "pcie");
    let nvme = nvme.filter_map(|(path, _)| device(segment(path, 1)?, true));
    let disks = disks
        .iter()
        .filter(|(_, uevent)| uevent.lines().any(|line| line == "DRIVER=sd"));
    let disks = disks.filter_map(|(path, _)| device(segment(path, 2)?, false));
    nvme.chain(disks).collect()
}

fn device(name: &str, is_nvme: bool) -> Option<Device> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && !name.is_empty()).then(|| Device {
        name: name.to_owned(),
        is_nvme,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_of_this_machine() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let nvme = [
            file("/sys/class/nvme/nvme0/transport", "pcie"),
            file("/sys/class/nvme/nvme1/transport", "tcp"),
        ];
        let disks = [
            file(
                "/sys/block/sda/device/uevent",
                "DEVTYPE=scsi_device\nDRIVER=sd\nMODALIAS=scsi:t-0x00",
            ),
            file("/sys/block/sr0/device/uevent", "DRIVER=sr"),
            file("/sys/block/vda/device/uevent", "DRIVER=virtio_blk"),
            file("/sys/block/-x/device/uevent", "DRIVER=sd"),
        ];
        let found: Vec<String> = all(&nvme, &disks).into_iter().map(|one| one.name).collect();
        assert_eq!(found, ["nvme0", "sda"]);
    }
}
