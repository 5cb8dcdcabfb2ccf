//! Answers of lsblk and findmnt, stored from check to check.

use std::collections::BTreeMap;

use gpud_sdk::sysfs::FileStat;
use serde::{Deserialize, Serialize};

use crate::evaluate::Devices;
use crate::findmnt::Answer;
use crate::lsblk::BlockDevice;
use crate::mounts::Mount;

/// Answers that are no failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Names {
    /// Nothing where there is no lsblk.
    pub devices: SavedDevices,
    /// The filesystems that hold the tracked paths.
    pub targets: BTreeMap<String, Answer>,
}

/// The block devices in the form in which they are saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedDevices(Option<Vec<BlockDevice>>);

impl Names {
    /// Makes the answer to store; nothing where lsblk failed.
    pub fn new(devices: &Devices, targets: &BTreeMap<String, Answer>) -> Option<Self> {
        let devices = match devices {
            Devices::Listed(devices) => Some(devices.clone()),
            Devices::NoProgram => None,
            Devices::Failed(_) => return None,
        };
        Some(Self {
            devices: SavedDevices(devices),
            targets: targets.clone(),
        })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From what [`Names::save`] gave; nothing from anything else.
    pub fn restore(saved: &str) -> Option<Self> {
        serde_json::from_str(saved).ok()
    }
}

impl From<SavedDevices> for Devices {
    fn from(kept: SavedDevices) -> Self {
        kept.0.map_or(Self::NoProgram, Self::Listed)
    }
}

/// A text that changes with the mounts and with the filesystems that hold the tracked paths.
pub fn depends(mounts: &[Mount], tracked: &[(&str, Option<FileStat>)]) -> String {
    let mut text = String::new();
    for mount in mounts {
        let Mount {
            point,
            fstype,
            source,
            major,
            minor,
        } = mount;
        text.push_str(&format!("{point}\t{fstype}\t{source}\t{major}:{minor}\n"));
    }
    for (path, stat) in tracked {
        let device = stat
            .as_ref()
            .map(|stat| (stat.device_major, stat.device_minor));
        text.push_str(&format!("{path}\t{device:?}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use gpud_sdk::sysfs::FileKind;
    use proptest::prelude::*;

    use super::*;
    use crate::{findmnt, lsblk, mounts};

    const LSBLK: &str = r#"{"blockdevices":[{"name":"/dev/sda","type":"disk","size":9,"rota":true,"serial":"A \"1\"",
        "children":[{"name":"/dev/sda1","type":"part","mountpoint":"/","fstype":"ext4","fsused":"7"}]}]}"#;
    const FINDMNT: &str = r#"{"filesystems":[{"source":"/dev/sda1","fstype":"ext4","size":"1.5T","used":"14.6G","avail":"0","use%":"6%","target":"/"}]}"#;

    fn targets() -> BTreeMap<String, Answer> {
        [("/".to_owned(), findmnt::parse("/", FINDMNT).unwrap())].into()
    }

    #[test]
    fn saved_names_are_restored() {
        let listed = lsblk::select(lsblk::parse_json(LSBLK).unwrap(), &[]);
        assert_eq!(listed.len(), 2);
        for devices in [Devices::Listed(listed), Devices::NoProgram] {
            let names = Names::new(&devices, &targets()).unwrap();
            let restored = Names::restore(&names.save()).unwrap();
            assert_eq!(restored, names);
            assert_eq!(
                format!("{:?}", Devices::from(restored.devices)),
                format!("{devices:?}")
            );
        }
    }

    #[test]
    fn a_failure_is_not_saved() {
        let failed = Devices::Failed("lsblk: exit code 1".to_owned());
        assert_eq!(Names::new(&failed, &targets()), None);
    }

    #[test]
    fn every_change_of_a_mount_or_of_a_tracked_path_is_one() {
        let line = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let stat = |device_minor| FileStat {
            kind: FileKind::Directory,
            size: 0,
            mode: 0,
            modified: 0,
            device_major: 8,
            device_minor,
            uid: 0,
        };
        let of = |text: &str, stat| depends(&mounts::parse(text), &[("/data", stat)]);
        let before = of(line, Some(stat(1)));
        assert_eq!(before, of(&line.replace("rw", "ro"), Some(stat(1))));
        for (text, stat) in [
            (line.to_owned(), Some(stat(2))),
            (line.to_owned(), None),
            (line.replace("sda1", "sdb1"), Some(stat(1))),
            (line.replace("8:1", "8:17"), Some(stat(1))),
            (line.replace("ext4", "xfs"), Some(stat(1))),
            (line.replace("/ /", "/ /mnt"), Some(stat(1))),
            (String::new(), Some(stat(1))),
        ] {
            assert_ne!(before, of(&text, stat), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,80}") {
            let _ = Names::restore(&text);
        }
    }
}
