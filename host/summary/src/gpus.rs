//! The GPUs of the machine by all their names, so that states that use different ones meet.

use super::{SubjectView, mention};
use crate::model::Subject;

/// What a GPU is called that could not be opened even once, before its number.
pub(super) const STRANGER: &str = "unknown-gpu-";

/// One GPU, by whatever is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownGpu {
    /// UUID as NVML gives it.
    pub uuid: Option<String>,
    /// Serial number of the board.
    pub serial: Option<String>,
    /// PCI id in any spelling.
    pub pci: Option<String>,
    /// Number in NVML's order.
    pub index: Option<usize>,
}

/// All GPUs that are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpus {
    known: Vec<KnownGpu>,
    /// How many of them the machine's inventory has.
    inventory: usize,
}

impl Gpus {
    /// The GPUs of an inventory.
    pub fn new(gpus: impl IntoIterator<Item = KnownGpu>) -> Self {
        let mut known: Vec<KnownGpu> = gpus.into_iter().collect();
        for gpu in &mut known {
            gpu.pci = gpu.pci.take().map(|id| pci_id(&id).unwrap_or(id));
            // A GPU that could not be opened even once has no name but its number.
            let is_name = |uuid: &String| !uuid.is_empty() && !uuid.starts_with(STRANGER);
            gpu.uuid = gpu.uuid.take().filter(is_name);
            gpu.pci = gpu.pci.take().filter(|id| !id.is_empty());
            gpu.serial = gpu.serial.take().filter(|serial| !serial.is_empty());
        }
        Self {
            inventory: known.len(),
            known,
        }
    }

    /// How many GPUs the inventory has.
    pub fn count(&self) -> usize {
        self.inventory
    }

    /// The place of the GPU that a subject names; one that nobody knew is added. `None` for other subjects, and for a GPU
    /// without any name.
    pub(super) fn place(&mut self, subject: &Subject) -> Option<usize> {
        let wanted = match subject {
            Subject::Gpu {
                uuid,
                serial,
                pci_id: id,
            } => KnownGpu {
                uuid: uuid
                    .clone()
                    .filter(|uuid| !uuid.is_empty() && !uuid.starts_with(STRANGER)),
                serial: serial.clone().filter(|serial| !serial.is_empty()),
                pci: id
                    .as_deref()
                    .and_then(pci_id)
                    .or_else(|| id.clone().filter(|id| !id.is_empty())),
                index: None,
            },
            // What watches the bus does not know that the device is a GPU.
            Subject::Other { kind, id } if kind == "pci" => return self.by_pci(id),
            _ => return None,
        };
        if wanted == KnownGpu::default() {
            let Subject::Gpu { uuid, .. } = subject else {
                return None;
            };
            let number = uuid.as_deref()?.strip_prefix(STRANGER)?;
            return self.by_index(number.parse().ok()?);
        }
        let is_same = |known: &KnownGpu| {
            let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
            same(&known.uuid, &wanted.uuid)
                // Boards with two GPUs have one serial number; what has an id of its own is identified by that.
                || same(&known.pci, &wanted.pci)
                || (same(&known.serial, &wanted.serial)
                    && (known.pci.is_none() || wanted.pci.is_none())
                    && (known.uuid.is_none() || wanted.uuid.is_none()))
        };
        match self.known.iter().position(is_same) {
            Some(place) => {
                if let Some(known) = self.known.get_mut(place) {
                    known.uuid = known.uuid.take().or(wanted.uuid);
                    known.serial = known.serial.take().or(wanted.serial);
                    known.pci = known.pci.take().or(wanted.pci);
                }
                Some(place)
            }
            None => {
                self.known.push(wanted);
                Some(self.known.len() - 1)
            }
        }
    }

    /// Takes a GPU that only the kernel log names and one that only has a number for the same, if there is one of each: it
    /// is lost since before gpud could ask for its names.
    pub(super) fn join_strangers(&mut self) {
        let mut added = self.known.iter().skip(self.inventory);
        let (Some(named), None) = (added.next().cloned(), added.next()) else {
            return;
        };
        let is_nameless =
            |gpu: &&mut KnownGpu| gpu.uuid.is_none() && gpu.pci.is_none() && gpu.serial.is_none();
        let mut nameless = self
            .known
            .iter_mut()
            .take(self.inventory)
            .filter(is_nameless);
        if let (Some(gpu), None) = (nameless.next(), nameless.next()) {
            *gpu = KnownGpu {
                index: gpu.index,
                ..named
            };
            self.known.truncate(self.inventory);
        }
    }

    /// The place of the GPU with this UUID.
    pub(super) fn by_uuid(&self, uuid: &str) -> Option<usize> {
        let mut known = self.known.iter();
        known.position(|gpu| gpu.uuid.as_deref() == Some(uuid))
    }

    /// The place of the GPU with this PCI id, however it is spelled.
    pub(super) fn by_pci(&self, text: &str) -> Option<usize> {
        let wanted = pci_id(text)?;
        let mut known = self.known.iter();
        known.position(|gpu| gpu.pci.as_ref() == Some(&wanted))
    }

    /// The place of the GPU with this number.
    pub(super) fn by_index(&self, index: usize) -> Option<usize> {
        let mut known = self.known.iter();
        known.position(|gpu| gpu.index == Some(index))
    }

    /// A GPU as it is shown, and its id.
    pub(super) fn view(&self, place: usize) -> (String, SubjectView) {
        let gpu = self.known.get(place).cloned().unwrap_or_default();
        let name = [&gpu.uuid, &gpu.pci, &gpu.serial];
        let name = name.into_iter().flatten().find(|name| !name.is_empty());
        let number = || gpu.index.map(|index| index.to_string());
        let name = name.cloned().or_else(number).unwrap_or_default();
        let label = match (gpu.index, &gpu.pci) {
            (Some(index), _) => format!("GPU {index}"),
            (None, Some(id)) => format!("GPU {id}"),
            (None, None) => format!("GPU {name}"),
        };
        let id = gpu.pci.clone().filter(|_| gpu.index.is_some());
        let serial = gpu.serial.as_ref().map(|serial| format!("serial {serial}"));
        let detail: Vec<String> = id.into_iter().chain(serial).collect();
        let view = SubjectView {
            detail: detail.join(", "),
            uuid: gpu.uuid,
            serial: gpu.serial,
            pci: gpu.pci,
            index: gpu.index,
            ..SubjectView::new("gpu", label)
        };
        (format!("gpu:{name}"), view)
    }

    /// A text with numbers in place of longer names: `GPU-… (0000:3b:00.0)` is `GPU 3`.
    pub(super) fn shortened(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for gpu in &self.known {
            let Some(index) = gpu.index else { continue };
            let number = format!("GPU {index}");
            let stranger = format!("{STRANGER}{index}");
            let (uuid, id) = (gpu.uuid.as_deref(), gpu.pci.as_deref());
            let both = uuid.zip(id).map(|(uuid, id)| format!("{uuid} ({id})"));
            let names = [both.as_deref(), uuid, id, Some(&stranger)];
            for name in names.into_iter().flatten() {
                if text.contains(name) {
                    text = text.replace(&format!("GPU {name}"), &number);
                    text = text.replace(name, &number);
                }
            }
        }
        text
    }

    /// The GPU that a text names, if it is one.
    pub fn named_in(&self, text: &str) -> Option<SubjectView> {
        let mut named = mention::gpus(text, self).into_iter();
        match (named.next(), named.next()) {
            (Some(place), None) => Some(self.view(place).1),
            _ => None,
        }
    }

    /// What an event or a change of health is about, as it is shown: its subject, or else the GPU that its text names.
    pub fn subject_of(&self, subject: Option<&Subject>, text: &str) -> Option<SubjectView> {
        match subject {
            Some(subject) => Some(self.describe(subject)),
            None => self.named_in(text),
        }
    }

    /// A subject as it is shown.
    pub fn describe(&self, subject: &Subject) -> SubjectView {
        let mut gpus = self.clone();
        gpus.place(subject);
        gpus.join_strangers();
        let place = gpus.place(subject);
        if !matches!(subject, Subject::Gpu { .. }) && place.is_none() {
            return SubjectView::of(subject);
        }
        match place.or_else(|| gpus.only_nameless()) {
            Some(place) => gpus.view(place).1,
            None => SubjectView::new("gpu", "a GPU"),
        }
    }

    /// The place of the one GPU of the inventory that has only a number; `None` where there are several.
    fn only_nameless(&self) -> Option<usize> {
        let inventory = self.known.iter().take(self.inventory).enumerate();
        let mut nameless = inventory
            .filter(|(_, gpu)| gpu.uuid.is_none() && gpu.pci.is_none() && gpu.serial.is_none());
        match (nameless.next(), nameless.next()) {
            (Some((place, _)), None) => Some(place),
            _ => None,
        }
    }
}

/// A PCI id in one spelling, `0000:3b:00.0`: lower case, a domain of four digits (more where it needs them), with function.
/// Understands `PCI:` before it, a domain of up to eight digits and a missing function, but no missing domain, which would
/// be a time of day as well.
pub(super) fn pci_id(text: &str) -> Option<String> {
    let id = text.strip_prefix("PCI:").unwrap_or(text);
    let (id, function) = id.split_once('.').unwrap_or((id, "0"));
    let mut parts = id.split(':');
    let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let number = |text: &str, least: usize, most: usize| {
        let fits = (least..=most).contains(&text.len());
        let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16)
            .ok()
            .filter(|_| fits && is_hexadecimal)
    };
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        number(domain, 4, 8)?,
        number(bus, 2, 2)?,
        number(device, 2, 2)?,
        number(function, 1, 1)?
    ))
}

#[cfg(test)]
mod tests;
