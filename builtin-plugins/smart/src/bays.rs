//! The place of a disk in the machine, for the person who replaces it: the slot of an enclosure (the kernel's module `ses`,
//! link `enclosure_device:‹slot›` beside the disk), or the PCI slot of an NVMe disk (`/sys/bus/pci/slots`).
//!
//! A RAID controller knows the bays of its own disks; these files are of disks that the kernel sees one by one.

use std::collections::BTreeMap;

use gpud_sdk::AccessError;
use gpud_sdk::files::{self, segment};

/// Before the name of a slot in the name of the link.
const LINK: &str = "enclosure_device:";
/// Longest name of a slot, bytes.
const MAX_NAME: usize = 32;

/// The files that tell it.
pub const PATTERNS: [&str; 3] = [
    "/sys/block/*/device/enclosure_device:*/slot",
    "/sys/class/nvme/*/address",
    "/sys/bus/pci/slots/*/address",
];

/// The bays of this machine's disks, in words, by the disk's name.
///
/// # Errors
/// When a granted file is not answered in time.
pub fn read() -> Result<BTreeMap<String, String>, AccessError> {
    let [enclosures, nvme, slots] = PATTERNS.map(|pattern| match files::read_all(pattern) {
        // An older grant of the operator's does not have it: the disk is named without its bay.
        Err(AccessError::Denied(_)) => Ok(Vec::new()),
        files => files,
    });
    Ok(bays(&enclosures?, &nvme?, &slots?))
}

/// From the paths and contents of these files.
fn bays(
    enclosures: &[(String, String)],
    nvme: &[(String, String)],
    slots: &[(String, String)],
) -> BTreeMap<String, String> {
    let enclosed = enclosures.iter().filter_map(|(path, _)| {
        let slot = segment(path, 1)?.strip_prefix(LINK)?;
        Some((
            segment(path, 3)?.to_owned(),
            format!("bay {}", shortened(slot)?),
        ))
    });
    let in_slots = nvme.iter().filter_map(|(path, address)| {
        // Of a slot the function is not said: `0000:5e:00` of `0000:5e:00.0`.
        let (device, _) = address.rsplit_once('.')?;
        let (slot, _) = slots.iter().find(|(_, address)| address == device)?;
        let slot = shortened(segment(slot, 1)?)?;
        Some((segment(path, 1)?.to_owned(), format!("PCI slot {slot}")))
    });
    enclosed.chain(in_slots).collect()
}

/// A name as it is shown; makers fill some with spaces.
fn shortened(name: &str) -> Option<&str> {
    let name = name.get(..name.floor_char_boundary(MAX_NAME))?.trim();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_enclosures_and_of_the_board() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let enclosures = [
            file(
                "/sys/block/sda/device/enclosure_device:Slot 03    /slot",
                "3",
            ),
            file("/sys/block/sdb/device/enclosure_device:  /slot", "4"),
        ];
        let nvme = [
            file("/sys/class/nvme/nvme0/address", "0000:5e:00.0"),
            file("/sys/class/nvme/nvme1/address", "0000:5f:00.0"),
            file("/sys/class/nvme/nvme2/address", "traddr=10.0.0.1"),
        ];
        let slots = [
            file("/sys/bus/pci/slots/12/address", "0000:5e:00"),
            file("/sys/bus/pci/slots/13/address", "0000:60:00"),
        ];
        let found = bays(&enclosures, &nvme, &slots);
        let found: Vec<_> = found
            .iter()
            .map(|(disk, bay)| (disk.as_str(), bay.as_str()))
            .collect();
        assert_eq!(found, [("nvme0", "PCI slot 12"), ("sda", "bay Slot 03")]);
    }
}
