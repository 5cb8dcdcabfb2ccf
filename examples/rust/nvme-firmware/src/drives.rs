//! Drives out of the attributes of `/sys/class/nvme` (kernel file `drivers/nvme/host/sysfs.c`). Pure.

use std::collections::BTreeMap;

use gpud_sdk::sysfs::FileContent;

/// Longest text of an attribute that is used, bytes.
const MAX_TEXT: usize = 64;

/// One drive of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// `nvme0`.
    pub name: String,
    /// What it is; empty where that cannot be read.
    pub model: String,
    /// What it runs; empty where that cannot be read.
    pub firmware: String,
    /// Which one it is; empty where that cannot be read.
    pub serial: String,
}

/// The drives, in the order of their numbers. Those that are reached over a network are another machine's.
pub fn find(
    models: &[FileContent],
    firmwares: &[FileContent],
    serials: &[FileContent],
    transports: &[FileContent],
) -> Vec<Drive> {
    let (firmwares, serials, transports) = (texts(firmwares), texts(serials), texts(transports));
    let of =
        |texts: &BTreeMap<&str, String>, name: &str| texts.get(name).cloned().unwrap_or_default();
    let mut drives: Vec<Drive> = texts(models)
        .into_iter()
        .filter(|(name, _)| {
            transports
                .get(name)
                .is_none_or(|transport| transport == "pcie")
        })
        .map(|(name, model)| Drive {
            model,
            firmware: of(&firmwares, name),
            serial: of(&serials, name),
            name: name.to_owned(),
        })
        .collect();
    drives.sort_by_key(|drive| (drive.name.len(), drive.name.clone()));
    drives
}

/// By the drive's name; what cannot be read or shown is empty.
fn texts(files: &[FileContent]) -> BTreeMap<&str, String> {
    let one = |file: &'_ FileContent| {
        let text = file
            .content
            .as_ref()
            .ok()
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default();
        let text = text.trim();
        match text.len() <= MAX_TEXT && !text.contains(char::is_control) {
            true => text.to_owned(),
            false => String::new(),
        }
    };
    files
        .iter()
        .filter_map(|file| Some((name(&file.path)?, one(file))))
        .collect()
}

/// `nvme0` of `/sys/class/nvme/nvme0/model`.
fn name(path: &str) -> Option<&str> {
    path.rsplit('/')
        .nth(1)
        .filter(|name| name.starts_with("nvme"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &[u8]) -> FileContent {
        FileContent {
            path: format!("/sys/class/nvme/{path}"),
            content: Ok(content.to_vec()),
        }
    }

    #[test]
    fn attributes_become_drives() {
        let models = [
            file("nvme10/model", b"A  \n"),
            file("nvme2/model", b"B\n"),
            file("nvme3/model", b"C\n"),
        ];
        let firmwares = [
            file("nvme10/firmware_rev", b"1.0     \n"),
            file("nvme2/firmware_rev", b"\xff\xff"),
        ];
        let serials = [file("nvme10/serial", b"S1\n")];
        let transports = [
            file("nvme10/transport", b"pcie\n"),
            file("nvme3/transport", b"tcp\n"),
        ];
        let drives = find(&models, &firmwares, &serials, &transports);
        let shown: Vec<_> = drives
            .iter()
            .map(|one| [&one.name, &one.model, &one.firmware, &one.serial])
            .collect();
        assert_eq!(
            shown,
            [["nvme2", "B", "", ""], ["nvme10", "A", "1.0", "S1"]]
        );
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut seed = 1_u64;
        let mut below = |limit: usize| {
            seed = seed * 48_271 % 2_147_483_647;
            seed as usize % limit
        };
        for _ in 0..500 {
            let mut files = |name: &str| -> Vec<FileContent> {
                let mut bytes = || {
                    (0..below(80))
                        .map(|_| below(256) as u8)
                        .collect::<Vec<u8>>()
                };
                (0..3)
                    .map(|n| file(&format!("nvme{n}/{name}"), &bytes()))
                    .collect()
            };
            let drives = find(
                &files("model"),
                &files("firmware_rev"),
                &files("serial"),
                &[],
            );
            assert!(
                drives
                    .iter()
                    .all(|one| one.firmware.len() <= MAX_TEXT && !one.model.contains('\n'))
            );
        }
    }
}
