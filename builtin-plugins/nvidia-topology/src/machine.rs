//! GPUs and network cards with their places, from sysfs.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::Gpu;
use gpud_sdk::AccessError;

use crate::pci_location::{PciLocation, is_id};

const DEVICES: &str = "/sys/bus/pci/devices";
/// Devices with RDMA, and network interfaces.
const CLASSES: [&str; 2] = ["/sys/class/infiniband", "/sys/class/net"];
const NODES: &str = "/sys/devices/system/node";
/// Ethernet and InfiniBand (`include/linux/pci_ids.h`); others, such as WLAN, are no way for a GPU's data.
const KINDS: [&str; 2] = ["0x0200", "0x0207"];
/// Cards beyond this are not looked at. A node of sixteen GPUs has some 40 functions, besides virtual ones.
const MAX_NICS: usize = 128;

/// The source of files: the machine, or a test.
pub trait Tree {
    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// As `list-directory` of the contract.
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError>;

    /// One file as trimmed text.
    ///
    /// # Errors
    /// As `read` of the contract.
    fn text(&self, path: &str) -> Result<String, AccessError>;

    /// Target of a link.
    ///
    /// # Errors
    /// As `read-link` of the contract.
    fn link(&self, path: &str) -> Result<String, AccessError>;
}

/// A function of a network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Its RDMA devices and interfaces.
    pub names: Vec<String>,
    /// Where it is.
    pub place: PciLocation,
}

/// A GPU, and where it is; nothing where the bus does not have it (any more).
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedGpu {
    /// Which.
    pub gpu: Gpu,
    /// Where.
    pub place: Option<PciLocation>,
    /// True where the kernel says that it does not know the NUMA node.
    pub numa_unknown: bool,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// GPUs in NVML's order.
    pub gpus: Vec<PlacedGpu>,
    /// Network cards by PCI id.
    pub nics: Vec<Nic>,
    /// NUMA nodes; at least 1.
    pub numa_nodes: usize,
    /// What could not be read, in words; then nothing is said of what is missing.
    pub unreadable: Option<String>,
}

impl Machine {
    /// Looks.
    ///
    /// # Errors
    /// When this check has asked for too much.
    pub fn read(tree: &impl Tree, gpus: Vec<Gpu>) -> Result<Self, AccessError> {
        let mut machine = Self {
            numa_nodes: 1,
            ..Self::default()
        };
        let nodes = machine.names(tree, NODES)?;
        let is_node = |name: &&String| {
            let number = name.strip_prefix("node").unwrap_or("");
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        machine.numa_nodes = nodes.iter().filter(is_node).count().max(1);
        for gpu in gpus {
            let placed = machine.gpu(tree, gpu)?;
            machine.gpus.push(placed);
        }
        let mut nics: BTreeMap<String, Nic> = BTreeMap::new();
        for class in CLASSES {
            for name in machine.names(tree, class)? {
                let target = machine.asked(tree.link(&format!("{class}/{name}")))?;
                let Some(place) = target.as_deref().and_then(PciLocation::read) else {
                    continue;
                };
                if let Some(nic) = nics.get_mut(place.id()) {
                    nic.names.push(name);
                } else if nics.len() < MAX_NICS && machine.is_nic(tree, place.id())? {
                    let place = machine.with_node(tree, place)?.0;
                    let names = vec![name];
                    nics.insert(place.id().to_owned(), Nic { names, place });
                }
            }
        }
        machine.nics = nics.into_values().collect();
        Ok(machine)
    }

    fn gpu(&mut self, tree: &impl Tree, gpu: Gpu) -> Result<PlacedGpu, AccessError> {
        let mut placed = PlacedGpu {
            gpu,
            place: None,
            numa_unknown: false,
        };
        let id = placed.gpu.bus_id.to_ascii_lowercase();
        if !is_id(&id) {
            return Ok(placed);
        }
        let target = self.asked(tree.link(&format!("{DEVICES}/{id}")))?;
        if let Some(place) = target.as_deref().and_then(PciLocation::read) {
            let (place, unknown) = self.with_node(tree, place)?;
            placed.place = Some(place);
            placed.numa_unknown = unknown;
        }
        Ok(placed)
    }

    /// The place with its NUMA node, and whether the kernel says that it knows none.
    fn with_node(
        &mut self,
        tree: &impl Tree,
        mut place: PciLocation,
    ) -> Result<(PciLocation, bool), AccessError> {
        let path = format!("{DEVICES}/{}/numa_node", place.id());
        let text = self.asked(tree.text(&path))?;
        place.numa_node = text.as_deref().and_then(|text| text.parse().ok());
        Ok((place, text.as_deref() == Some("-1")))
    }

    /// A virtual function is as far away as the card that it is a part of.
    fn is_nic(&mut self, tree: &impl Tree, id: &str) -> Result<bool, AccessError> {
        let class = self.asked(tree.text(&format!("{DEVICES}/{id}/class")))?;
        let is_kind = class.is_some_and(|class| KINDS.iter().any(|kind| class.starts_with(kind)));
        Ok(is_kind
            && self
                .asked(tree.link(&format!("{DEVICES}/{id}/physfn")))?
                .is_none())
    }

    fn names(&mut self, tree: &impl Tree, folder: &str) -> Result<Vec<String>, AccessError> {
        Ok(self.asked(tree.names(folder))?.unwrap_or_default())
    }

    /// An answer; nothing of what is not there. What should be readable and is not is remembered.
    fn asked<T>(&mut self, answer: Result<T, AccessError>) -> Result<Option<T>, AccessError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error @ AccessError::OverBudget(_)) => Err(error),
            // The last is the answer to reading a link that is none, as `/sys/class/net/bonding_masters` is.
            Err(
                AccessError::NotFound(_)
                | AccessError::NotSupported(_)
                | AccessError::Other(_)
                | AccessError::InvalidArgument(_),
            ) => Ok(None),
            Err(error) => {
                self.unreadable.get_or_insert_with(|| error.text());
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::gpu;
    use std::collections::BTreeSet;

    /// A tree of plain values.
    #[derive(Default, Clone)]
    pub(crate) struct Fixture {
        texts: BTreeMap<String, Result<String, AccessError>>,
        links: BTreeMap<String, String>,
    }

    impl Fixture {
        pub(crate) fn text(mut self, path: &str, text: &str) -> Self {
            self.texts.insert(path.to_owned(), Ok(text.to_owned()));
            self
        }

        pub(crate) fn fails(mut self, path: &str, error: AccessError) -> Self {
            self.texts.insert(path.to_owned(), Err(error));
            self
        }

        /// A device at the end of this way, of this class, on this node.
        pub(crate) fn device(mut self, way: &str, class: &str, node: &str) -> Self {
            let id = way.rsplit('/').next().unwrap();
            let folder = format!("{DEVICES}/{id}");
            self.links
                .insert(folder.clone(), format!("../../../devices/{way}"));
            self.text(&format!("{folder}/class"), class)
                .text(&format!("{folder}/numa_node"), node)
        }

        pub(crate) fn name(mut self, class: &str, name: &str, way: &str) -> Self {
            let target = format!("../../devices/{way}/x/{name}");
            self.links
                .insert(format!("/sys/class/{class}/{name}"), target);
            self
        }

        pub(crate) fn symlink(mut self, path: &str, target: &str) -> Self {
            self.links.insert(path.to_owned(), target.to_owned());
            self
        }

        pub(crate) fn nodes(mut self, count: usize) -> Self {
            for node in 0..count {
                self = self.text(&format!("{NODES}/node{node}/cpulist"), "0-7");
            }
            self.text(&format!("{NODES}/online"), "0")
        }

        pub(crate) fn machine(&self, gpus: usize) -> Machine {
            Machine::read(self, (0..gpus).map(gpu).collect()).unwrap()
        }
    }

    impl Tree for Fixture {
        fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
            if let Some(Err(error)) = self.texts.get(folder) {
                return Err(error.clone());
            }
            let paths = self.texts.keys().chain(self.links.keys());
            let names: BTreeSet<String> = paths
                .filter_map(|path| {
                    path.strip_prefix(folder)?
                        .strip_prefix('/')?
                        .split('/')
                        .next()
                })
                .map(str::to_owned)
                .collect();
            match names.is_empty() {
                true => Err(AccessError::NotFound(folder.to_owned())),
                false => Ok(names.into_iter().collect()),
            }
        }

        fn text(&self, path: &str) -> Result<String, AccessError> {
            let missing = || Err(AccessError::NotFound(path.to_owned()));
            self.texts.get(path).cloned().unwrap_or_else(missing)
        }

        fn link(&self, path: &str) -> Result<String, AccessError> {
            if let Some(Err(error)) = self.texts.get(path) {
                return Err(error.clone());
            }
            let target = self.links.get(path).cloned();
            target.ok_or_else(|| AccessError::NotFound(path.to_owned()))
        }
    }

    const NIC: &str = "pci0000:0e/0000:0e:01.0/0000:10:00.0";

    #[test]
    fn finds_cards_and_leaves_out_what_is_none() {
        let virtual_function = "pci0000:0e/0000:0e:01.0/0000:10:00.2";
        let wlan = "pci0000:00/0000:00:1c.0/0000:02:00.0";
        let tree = Fixture::default()
            .nodes(2)
            .device("pci0000:0e/0000:0e:02.0/0000:0f:00.0", "0x030200", "1")
            .device(NIC, "0x020700", "1")
            .device(virtual_function, "0x020700", "1")
            .symlink(&format!("{DEVICES}/0000:10:00.2/physfn"), "../0000:10:00.0")
            .device(wlan, "0x028000", "0")
            .name("infiniband", "mlx5_0", NIC)
            .name("infiniband", "mlx5_2", virtual_function)
            .name("net", "ib0", NIC)
            .name("net", "wlan0", wlan)
            .symlink("/sys/class/net/lo", "../../devices/virtual/net/lo")
            .fails(
                "/sys/class/net/bonding_masters",
                AccessError::InvalidArgument("not a link".into()),
            );
        let machine = tree.machine(2);
        assert_eq!(machine.numa_nodes, 2);
        assert_eq!(machine.nics.len(), 1);
        assert_eq!(machine.nics[0].names, ["mlx5_0", "ib0"]);
        assert_eq!(machine.nics[0].place.numa_node, Some(1));
        // GPU 0 is at 0000:0f:00.0, GPU 1 at 0000:1f:00.0, which the bus does not have.
        assert_eq!(
            machine.gpus[0].place.as_ref().map(PciLocation::id),
            Some("0000:0f:00.0")
        );
        assert_eq!(machine.gpus[1].place, None);
        assert_eq!(machine.unreadable, None);
    }

    #[test]
    fn what_cannot_be_read_is_remembered() {
        let denied = AccessError::Denied("/sys/class/infiniband".into());
        let machine = Fixture::default()
            .fails("/sys/class/infiniband", denied)
            .machine(1);
        let expected = "/sys/class/infiniband: permission denied";
        assert_eq!(machine.unreadable.as_deref(), Some(expected));
        let spent = Fixture::default().fails("/sys/class/net", AccessError::OverBudget("x".into()));
        assert!(Machine::read(&spent, vec![]).is_err());
        assert_eq!(Fixture::default().machine(1).numa_nodes, 1);
    }
}
