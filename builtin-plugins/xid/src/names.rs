//! Names of GPUs in the kernel log. The driver writes them once, before the first error of a GPU:
//!
//! ```text
//! NVRM: GPU at PCI:0000:07:00: GPU-11111111-aaaa-bbbb-cccc-000000000007
//! NVRM: GPU Board Serial Number: 1600000000007
//! ```
//!
//! They join PCI address and UUID where NVML does not answer: in a saved log, or when the driver is gone.

use crate::gpu::{Gpu, pci_id};

/// Regular expressions of these lines.
pub const PATTERNS: [&str; 2] = ["^NVRM: GPU at PCI:", "^NVRM: GPU Board Serial Number:"];
/// Most GPUs that are remembered.
const MAX_GPUS: usize = 64;
/// Longest name, bytes.
const MAX_NAME: usize = 64;

/// Adds the names in these lines to those that are known; the later one of an address counts.
pub fn add<'a>(gpus: &mut Vec<Gpu>, lines: impl IntoIterator<Item = &'a str>) -> bool {
    let mut last = None;
    let mut found = false;
    for line in lines {
        if let Some((bus_id, uuid)) = named(line) {
            gpus.retain(|gpu| gpu.bus_id != bus_id && gpu.uuid != uuid);
            if gpus.len() >= MAX_GPUS {
                continue;
            }
            gpus.push(Gpu {
                uuid: uuid.to_owned(),
                bus_id,
                ..Gpu::default()
            });
            last = Some(gpus.len() - 1);
            found = true;
        } else if let Some(serial) = serial(line)
            && let Some(gpu) = last.take().and_then(|at| gpus.get_mut(at))
        {
            gpu.serial = Some(serial.to_owned());
        }
    }
    found
}

fn named(line: &str) -> Option<(String, &str)> {
    let rest = line.strip_prefix("NVRM: GPU at ")?;
    let (device, uuid) = rest.split_once(": ")?;
    let uuid = word(uuid)?;
    Some((pci_id(device)?, uuid)).filter(|_| uuid.starts_with("GPU-"))
}

fn serial(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("NVRM: GPU Board Serial Number: ")?;
    word(rest).filter(|serial| *serial != "0")
}

/// The first word, if it can be a name.
fn word(text: &str) -> Option<&str> {
    let word = text.split_ascii_whitespace().next()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (word.len() <= MAX_NAME && word.bytes().all(fits)).then_some(word)
}

/// As a text that [`read`] understands.
pub fn write(gpus: &[Gpu]) -> String {
    let line = |gpu: &Gpu| {
        let serial = gpu.serial.as_deref().unwrap_or("-");
        [gpu.bus_id.as_str(), " ", &gpu.uuid, " ", serial, "\n"].concat()
    };
    gpus.iter().map(line).collect()
}

/// Reads what [`write()`] wrote; a broken line is left out.
pub fn read(text: &str) -> Vec<Gpu> {
    let gpu = |line: &str| {
        let mut words = line.split(' ');
        Some(Gpu {
            bus_id: words.next().and_then(pci_id)?,
            uuid: words.next()?.to_owned(),
            serial: words
                .next()
                .filter(|serial| *serial != "-")
                .map(str::to_owned),
            ..Gpu::default()
        })
    };
    text.lines().filter_map(gpu).take(MAX_GPUS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::find;

    #[test]
    fn addresses_uuids_and_serials_are_joined() {
        let mut gpus = Vec::new();
        let lines = [
            "NVRM: GPU at PCI:0000:00:05: GPU-aaaaaaaa-0000-0000-0000-000000000005",
            "NVRM: GPU Board Serial Number: 1600000000005",
            "NVRM: Xid (PCI:0000:00:05): 43, pid=1",
            "NVRM: GPU at PCI:00000000:3B:00.0: GPU-b",
            "NVRM: GPU Board Serial Number: 0",
            "NVRM: GPU at PCI:x: GPU-c",
            "NVRM: GPU at PCI:0000:07:00: other",
        ];
        assert!(add(&mut gpus, lines));
        assert_eq!(gpus.len(), 2);
        // One GPU, however its address is written.
        for device in [
            "PCI:0000:3b:00",
            "0000:3b:00",
            "PCI:00000000:3B:00.0",
            "3b:00",
        ] {
            assert_eq!(find(&gpus, device).unwrap().uuid, "GPU-b", "{device}");
        }
        let first = find(&gpus, "PCI:0000:00:05").unwrap();
        assert_eq!(first.serial.as_deref(), Some("1600000000005"));
        assert_eq!(read(&write(&gpus)), gpus);
        // Another board in that place.
        assert!(add(&mut gpus, ["NVRM: GPU at PCI:0000:3b:00: GPU-d"]));
        assert_eq!(find(&gpus, "3b:00").unwrap().uuid, "GPU-d");
        assert!(!add(&mut gpus, ["NVRM: Xid (PCI:0000:00:05): 43"]));
        assert_eq!(read("x\n\n0000:3b:00.0\n"), []);
    }
}
