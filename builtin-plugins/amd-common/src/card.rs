//! AMD GPUs and their files, as the `amdgpu` driver lays them out.
//!
//! GPUs are found below their driver rather than as `/sys/class/drm/card*`: that gives the PCI id with every path,
//! leaves out connectors and other drivers' cards, and counts a partitioned MI300 (one card for each partition) once.
//!
//! A GPU that the kernel put to sleep is not asked: in older kernels each read of a sensor wakes it
//! (`drivers/gpu/drm/amd/pm/amdgpu_pm.c`, `pm_runtime_get_sync`), which would empty a laptop's battery.

use std::collections::BTreeMap;
use std::str::FromStr;

use gpud_sdk::{AccessError, GpuId, Subject};

use crate::pci;
use crate::tree::Tree;

/// The devices of the driver.
pub const DRIVER: &str = "/sys/bus/pci/drivers/amdgpu";
/// The power state of a device in the kernel's power management (`Documentation/ABI/testing/sysfs-devices-power`).
const RUNTIME_STATUS: &str = "power/runtime_status";
/// Name of the product, on boards that carry it (`amdgpu_fru_eeprom.c`).
const PRODUCT: &str = "product_name";
/// Most GPUs that are looked at. An SR-IOV guest of eight MI300 in eight partitions each has 64.
const MAX_CARDS: usize = 128;
/// One number or word and a newline.
const SHORT: u32 = 256;
/// Longest product name that is shown, characters.
const MAX_PRODUCT: usize = 64;

/// A file of a GPU that a checker reads, or several by a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardFile {
    /// Path below the device's folder, with `*` where there are several: `ras/*_err_count`.
    pub name: &'static str,
    /// Most bytes of one.
    pub max_bytes: u32,
}

impl CardFile {
    /// Files of one number or word.
    pub const fn short(name: &'static str) -> Self {
        Self {
            name,
            max_bytes: SHORT,
        }
    }
}

/// One GPU and what its files said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Card {
    /// PCI id, `0000:c1:00.0`.
    pub id: String,
    /// Name of the product; empty on most boards that are not of a server.
    pub product: String,
    /// Put to sleep by the kernel; it was not asked then.
    pub asleep: bool,
    /// By path below the device's folder.
    files: BTreeMap<String, Result<String, AccessError>>,
}

impl Card {
    /// A file as text, if it could be read.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files
            .get(name)?
            .as_ref()
            .ok()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    /// A file as a number, if it is one.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// Files that could be read and whose path begins and ends so: the part of the path between, and the text.
    pub fn between<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files.iter().filter_map(move |(name, text)| {
            let middle = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            Some((middle, text.as_ref().ok()?.as_str()))
        })
    }

    /// The whole path of a file.
    pub fn path(&self, name: &str) -> String {
        format!("{DRIVER}/{}/{name}", self.id)
    }

    /// Both names, for a person.
    pub fn label(&self) -> String {
        match self.product.as_str() {
            "" => self.id.clone(),
            product => format!("{} ({product})", self.id),
        }
    }

    /// As the subject of a state or an event.
    pub fn subject(&self) -> Subject {
        subject(&self.id)
    }

    /// A file that should have been readable, and why it was not. A driver answers for what a GPU does not have with an
    /// error of many kinds; so such errors count only when there is nothing at all that could be read.
    pub fn unreadable(&self) -> Option<(&str, &AccessError)> {
        let failed = || {
            let files = self.files.iter();
            files.filter_map(|(name, text)| Some((name.as_str(), text.as_ref().err()?)))
        };
        let refused = failed().find(|(_, error)| {
            !matches!(
                error,
                AccessError::NotFound(_) | AccessError::NotSupported(_) | AccessError::Other(_)
            )
        });
        let nothing = self.files.values().all(Result::is_err);
        let broken = || failed().find(|(_, error)| matches!(error, AccessError::Other(_)));
        refused.or_else(|| broken().filter(|_| nothing))
    }
}

/// A GPU by its PCI id.
pub fn subject(id: &str) -> Subject {
    Subject::Gpu(GpuId {
        uuid: None,
        serial: None,
        pci_id: Some(id.to_owned()),
    })
}

/// PCI ids of the GPUs that the driver has, sorted; none where it is not loaded.
///
/// # Errors
/// When the folder cannot be read for another reason.
pub fn ids(tree: &impl Tree) -> Result<Vec<String>, AccessError> {
    let names = match tree.names(DRIVER) {
        Err(AccessError::NotFound(_)) => return Ok(Vec::new()),
        names => names?,
    };
    let ids = names.into_iter().filter(|name| pci::is_id(name));
    Ok(ids.take(MAX_CARDS).collect())
}

/// The GPUs with the files that are wanted.
///
/// # Errors
/// When the driver's devices cannot be listed, or this check has asked for too much. A file that cannot be read is the
/// GPU's matter: [`Card::unreadable`].
pub fn all(tree: &impl Tree, wanted: &[CardFile]) -> Result<Vec<Card>, AccessError> {
    ids(tree)?
        .into_iter()
        .map(|id| read(tree, id, wanted))
        .collect()
}

fn read(tree: &impl Tree, id: String, wanted: &[CardFile]) -> Result<Card, AccessError> {
    let mut card = Card {
        id,
        ..Card::default()
    };
    let status = tree.text(&card.path(RUNTIME_STATUS), SHORT);
    card.asleep = status.is_ok_and(|status| status == "suspended");
    if card.asleep {
        return Ok(card);
    }
    // Read from memory that the driver filled when it was loaded.
    if let Ok(product) = tree.text(&card.path(PRODUCT), SHORT) {
        let shown = product.chars().filter(|c| !c.is_control());
        card.product = shown.take(MAX_PRODUCT).collect();
    }
    for wanted in wanted {
        let path = card.path(wanted.name);
        let found = if wanted.name.contains('*') {
            match tree.files(&path, wanted.max_bytes) {
                Ok(files) => files,
                Err(error) => vec![(path, Err(error))],
            }
        } else {
            let text = tree.text(&path, wanted.max_bytes);
            vec![(path, text)]
        };
        let folder = card.path("");
        for (path, text) in found {
            if let Err(error @ AccessError::OverBudget(_)) = text {
                return Err(error);
            }
            let name = path.strip_prefix(&folder).unwrap_or(&path).to_owned();
            // An absent file is nothing to remember.
            if !matches!(text, Err(AccessError::NotFound(_))) {
                card.files.insert(name, text);
            }
        }
    }
    Ok(card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    const FILES: [CardFile; 2] = [
        CardFile::short("gpu_busy_percent"),
        CardFile::short("hwmon/hwmon*/temp*_input"),
    ];
    const A: &str = "/sys/bus/pci/drivers/amdgpu/0000:03:00.0";
    const B: &str = "/sys/bus/pci/drivers/amdgpu/0000:c1:00.0";

    #[test]
    fn finds_gpus_and_their_files() {
        let tree = Fixture::default()
            .file(
                "/sys/bus/pci/drivers/amdgpu/module/parameters/vm_size",
                "-1",
            )
            .file(&format!("{A}/gpu_busy_percent"), "7\n")
            .file(&format!("{A}/product_name"), "AMD Instinct MI300X\n")
            .file(&format!("{A}/hwmon/hwmon3/temp1_input"), "41000\n")
            .file(&format!("{A}/hwmon/hwmon3/temp2_input"), "46000\n")
            .file(&format!("{B}/power/runtime_status"), "suspended\n")
            .file(&format!("{B}/gpu_busy_percent"), "99\n");
        let cards = all(&tree, &FILES).unwrap();
        assert_eq!(cards.len(), 2);
        let first = &cards[0];
        assert_eq!(first.label(), "0000:03:00.0 (AMD Instinct MI300X)");
        assert_eq!(first.number::<u64>("gpu_busy_percent"), Some(7));
        let inputs: Vec<_> = first.between("hwmon/", "_input").collect();
        assert_eq!(
            inputs,
            [("hwmon3/temp1", "41000"), ("hwmon3/temp2", "46000")]
        );
        assert_eq!(first.unreadable(), None);
        assert!(cards[1].asleep && cards[1].text("gpu_busy_percent").is_none());
    }

    #[test]
    fn without_the_driver_there_are_none() {
        assert_eq!(all(&Fixture::default(), &FILES), Ok(vec![]));
        let denied = Fixture::default().fails(DRIVER, AccessError::Denied("x".into()));
        assert!(all(&denied, &FILES).is_err());
    }

    #[test]
    fn tells_what_cannot_be_read_from_what_is_not_there() {
        let busy = format!("{A}/gpu_busy_percent");
        let sensor = format!("{A}/hwmon/hwmon3/temp1_input");
        let denied = || AccessError::Denied("x".into());
        let invalid = || AccessError::Other("x: Invalid argument (os error 22)".into());
        for (tree, expected) in [
            // A card that vanished between the list and the reads.
            (Fixture::default().folder(A), None),
            (
                Fixture::default().file(&busy, "1").fails(&sensor, denied()),
                Some("hwmon/hwmon3/temp1_input"),
            ),
            (
                Fixture::default().fails(&busy, denied()),
                Some("gpu_busy_percent"),
            ),
            // A sensor that this GPU does not have.
            (
                Fixture::default()
                    .file(&busy, "1")
                    .fails(&sensor, invalid()),
                None,
            ),
            (
                Fixture::default().fails(&busy, invalid()),
                Some("gpu_busy_percent"),
            ),
        ] {
            let cards = all(&tree, &FILES).unwrap();
            assert_eq!(cards.len(), 1);
            let found = cards[0].unreadable().map(|(name, _)| name);
            assert_eq!(found, expected);
        }
        let spent = Fixture::default().fails(&busy, AccessError::OverBudget("x".into()));
        assert!(all(&spent, &FILES).is_err());
    }

    #[test]
    fn garbage_is_no_number() {
        for text in ["", "x", "-1", "99999999999999999999999", "1 2", "\u{0}"] {
            let tree = Fixture::default().file(&format!("{A}/gpu_busy_percent"), text);
            let cards = all(&tree, &FILES).unwrap();
            assert_eq!(cards[0].number::<u64>("gpu_busy_percent"), None, "{text}");
        }
    }
}
