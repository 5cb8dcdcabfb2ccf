//! Links from sysfs (`drivers/pci/pci-sysfs.c`): `current_link_speed` (`16.0 GT/s PCIe`), `current_link_width` (`16`),
//! and the `max_` ones.
//!
//! Most AMD boards have a PCIe switch of their own, and the GPU behind it always has a full link to that switch. So the
//! link that matters is that of the outermost device of the same maker on the way to the root.

use std::collections::BTreeMap;

use gpud_builtin_amd_common::Card;
use gpud_builtin_amd_common::pci::ids_in;
use gpud_builtin_amd_common::tree::Tree;
use gpud_sdk::AccessError;

/// PCI devices, as links to their places.
const DEVICES: &str = "/sys/bus/pci/devices";
/// AMD's graphics division; its processors have another id.
const ATI: &str = "0x1002";
/// Virtual ports, which can do whatever somebody wrote into them.
const VIRTUAL: [&str; 3] = ["0x1b36", "0x15ad", "0x1af4"];
const SHORT: u32 = 256;
/// Most devices on the way from the root to a GPU.
const MAX_DEPTH: usize = 16;

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkRate {
    /// PCIe generation.
    pub generation: Option<u8>,
    /// Lanes.
    pub width: Option<u8>,
}

/// The link of a GPU to its slot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// PCI id of the end that was looked at: the GPU, or the switch in front of it.
    pub end: String,
    /// Now.
    pub now: LinkRate,
    /// What both ends can do; nothing where one does not say, or is a virtual one.
    pub best: LinkRate,
    /// A file that should have been readable and was not, in words.
    pub trouble: Option<String>,
}

/// The links of GPUs, by their PCI id. GPUs that sleep are left out.
///
/// # Errors
/// When this check has asked for too much.
pub fn all(tree: &impl Tree, cards: &[Card]) -> Result<BTreeMap<String, Link>, AccessError> {
    let mut links = BTreeMap::new();
    for card in cards.iter().filter(|card| !card.asleep) {
        if let Some(link) = of(tree, &card.id)? {
            links.insert(card.id.clone(), link);
        }
    }
    Ok(links)
}

fn of(tree: &impl Tree, id: &str) -> Result<Option<Link>, AccessError> {
    let mut reader = Reader {
        tree,
        trouble: None,
    };
    let Some(target) = reader.asked(tree.link(&format!("{DEVICES}/{id}")))? else {
        // Removed, unless this cannot be determined.
        return Ok(reader.trouble.map(|trouble| Link {
            end: id.to_owned(),
            trouble: Some(trouble),
            ..Link::default()
        }));
    };
    let mut end = id;
    let mut slot = None;
    for above in ids_in(&target).rev().skip(1).take(MAX_DEPTH) {
        let vendor = reader.text(above, "vendor")?;
        if vendor.as_deref() == Some(ATI) {
            end = above;
        } else {
            slot = Some((above, vendor));
            break;
        }
    }
    let now = reader.ability(end, "current")?;
    let own = reader.ability(end, "max")?;
    let best = match slot {
        Some((slot, Some(vendor))) if !VIRTUAL.contains(&vendor.as_str()) => {
            let slot = reader.ability(slot, "max")?;
            LinkRate {
                generation: least(own.generation, slot.generation),
                width: least(own.width, slot.width),
            }
        }
        _ => LinkRate::default(),
    };
    Ok(Some(Link {
        end: end.to_owned(),
        now,
        best,
        trouble: reader.trouble,
    }))
}

/// Reads files of devices, and remembers the first that should have been readable and was not.
struct Reader<'a, T> {
    tree: &'a T,
    trouble: Option<String>,
}

impl<T: Tree> Reader<'_, T> {
    fn ability(&mut self, id: &str, which: &str) -> Result<LinkRate, AccessError> {
        let speed = self.text(id, &format!("{which}_link_speed"))?;
        let width = self.text(id, &format!("{which}_link_width"))?;
        Ok(LinkRate {
            generation: speed.as_deref().and_then(generation),
            width: width.as_deref().and_then(lanes),
        })
    }

    fn text(&mut self, id: &str, file: &str) -> Result<Option<String>, AccessError> {
        let answer = self.tree.text(&format!("{DEVICES}/{id}/{file}"), SHORT);
        self.asked(answer)
    }

    fn asked<A>(&mut self, answer: Result<A, AccessError>) -> Result<Option<A>, AccessError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error @ AccessError::OverBudget(_)) => Err(error),
            // The last is the answer to reading a link that is none.
            Err(
                AccessError::NotFound(_)
                | AccessError::NotSupported(_)
                | AccessError::Other(_)
                | AccessError::InvalidArgument(_),
            ) => Ok(None),
            Err(error) => {
                self.trouble.get_or_insert_with(|| error.text());
                Ok(None)
            }
        }
    }
}

fn least(one: Option<u8>, other: Option<u8>) -> Option<u8> {
    Some(one?.min(other?))
}

/// The PCIe generation of a speed. `Unknown`, and what no generation has, is none.
pub fn generation(speed: &str) -> Option<u8> {
    let (number, _) = speed.split_once(" GT/s")?;
    Some(match number {
        "2.5" => 1,
        "5" | "5.0" => 2,
        "8" | "8.0" => 3,
        "16" | "16.0" => 4,
        "32" | "32.0" => 5,
        "64" | "64.0" => 6,
        _ => return None,
    })
}

/// Lanes. A device that is gone has 63 or 255.
pub fn lanes(width: &str) -> Option<u8> {
    let lanes = width.parse().ok()?;
    matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32).then_some(lanes)
}

#[cfg(test)]
mod tests;
