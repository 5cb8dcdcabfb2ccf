//! What PCI devices are, as the kernel keeps it in memory and prints it (`drivers/pci/pci-sysfs.c`): read where it is
//! asked for, and of all devices at once only of those that are new. Large servers have some 300.
//!
//! `uevent` says the same, but some kernels wait in it for the device's lock.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{Dir, OFlags};

use super::{Answers, read::View, tree::AccessKind};
use crate::error::SourceError;

/// Folder of the devices.
pub const DEVICES: &str = "/sys/bus/pci/devices";
/// Attributes that are read here. Longest content: eleven bytes.
pub const ATTRIBUTES: [&str; 7] = [
    "class",
    "device",
    NUMA_NODE,
    "revision",
    "subsystem_device",
    "subsystem_vendor",
    "vendor",
];
/// The only one that an operator can set, and so the only one that is never kept.
const NUMA_NODE: &str = "numa_node";
/// Devices that are looked at without going to a thread.
const MAX_DEVICES: usize = 512;

/// Whether a path is that of such an attribute of one device.
pub fn is_attribute(path: &str) -> bool {
    let below = path
        .strip_prefix(DEVICES)
        .and_then(|rest| rest.strip_prefix('/'));
    let name = below.and_then(|below| below.split_once('/'));
    name.is_some_and(|(_, name)| ATTRIBUTES.contains(&name))
}

/// The attribute, where a pattern names one of all devices.
pub fn of_all(pattern: &str) -> Option<&'static str> {
    let name = pattern.strip_prefix(DEVICES)?.strip_prefix("/*/")?;
    ATTRIBUTES.into_iter().find(|known| *known == name)
}

/// Attributes of devices, as they were read.
#[derive(Default)]
pub struct Devices {
    known: Mutex<HashMap<&'static str, Vec<CachedAttribute>>>,
}

/// One device's attribute as it was last read.
struct CachedAttribute {
    name: String,
    /// Its name is a link, and each link that the kernel makes gets an inode number of its own (`fs/kernfs/dir.c`,
    /// `__kernfs_new_node`): another device in the same place has another one.
    link: u64,
    content: Vec<u8>,
}

impl Devices {
    /// An attribute of all devices of the machine's own sysfs, as [`View::read_glob`] gives it for
    /// `‹devices›/*/‹attribute›`; `None` where they are not there or too many, or anything is unusual.
    pub fn read(
        &self,
        view: View<'_>,
        attribute: &'static str,
        max_bytes_each: u64,
        max_files: usize,
    ) -> Option<Result<Answers<Vec<u8>>, SourceError>> {
        let pattern = format!("{DEVICES}/*/{attribute}");
        if view.roots.is_some_and(|roots| !roots.allow_all(&pattern)) {
            return None;
        }
        let view = View {
            roots: None,
            ..view
        };
        let links = links(view)?;
        if links.len() > MAX_DEVICES.min(max_files) {
            return None;
        }
        let mut before = self.take(attribute).into_iter().peekable();
        let mut now = Vec::with_capacity(links.len());
        let mut answers = Vec::with_capacity(links.len());
        for (name, link) in links {
            while before.next_if(|known| known.name < name).is_some() {}
            let path = format!("{DEVICES}/{name}/{attribute}");
            let content = match before.next_if(|known| known.name == name) {
                Some(known) if known.link == link => Ok(known.content),
                _ => view.read_own(&path, max_bytes_each)?,
            };
            match &content {
                Err(SourceError::NotFound(_)) => continue,
                Ok(content) if content.len() as u64 > max_bytes_each => return None,
                Ok(content) => now.push(CachedAttribute {
                    name,
                    link,
                    content: content.clone(),
                }),
                Err(_) => {}
            }
            answers.push((path, content));
        }
        if attribute != NUMA_NODE {
            self.lock().insert(attribute, now);
        }
        Some(Ok(answers))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, Vec<CachedAttribute>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The known facts. A caller that asks for the same in the meantime reads it itself.
    fn take(&self, attribute: &str) -> Vec<CachedAttribute> {
        self.lock().remove(attribute).unwrap_or_default()
    }
}

#[cfg(test)]
impl Devices {
    /// Has it that the first device said this, and still is there or was another one.
    pub fn pretend(&self, attribute: &str, content: &[u8], still_there: bool) {
        let mut known = self.lock();
        let first = known.get_mut(attribute).unwrap().first_mut().unwrap();
        first.content = content.to_vec();
        first.link += u64::from(!still_there);
    }
}

/// The devices by name, each with the inode number of its link.
fn links(view: View<'_>) -> Option<Vec<(String, u64)>> {
    let folder = view.open_own(
        DEVICES,
        OFlags::RDONLY | OFlags::DIRECTORY,
        AccessKind::Traversal,
    )?;
    let mut links = Vec::new();
    for entry in Dir::read_from(folder.ok()?).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_str().ok()?;
        if name != "." && name != ".." {
            links.push((name.to_owned(), entry.ino()));
        }
    }
    links.sort_unstable();
    Some(links)
}
