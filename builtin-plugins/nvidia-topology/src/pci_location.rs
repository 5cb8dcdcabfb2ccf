//! The place of a device on the PCI bus, and the distance of two devices.
//!
//! The place is read from where the kernel's link leads:
//! `../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0` is a GPU behind a root port and a
//! switch. The kinds of ways are those of `nvidia-smi topo`, in the order of their length.

/// The location of a PCI device: its root complex, the bridges above it and its NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PciLocation {
    /// The root complex, `pci0000:15`.
    pub root: String,
    /// PCI ids from the root port to the device.
    pub chain: Vec<String>,
    /// NUMA node; nothing where the kernel does not know it (-1).
    pub numa_node: Option<u32>,
}

/// The way from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PciPath {
    /// One switch, or two functions of one device.
    OneSwitch,
    /// Several switches, without the processor.
    Switches,
    /// Over the root complex of one processor.
    RootComplex,
    /// Over several root complexes of one NUMA node.
    NumaNode,
    /// Over the links between NUMA nodes, or nobody knows.
    System,
}

impl PciPath {
    /// As `nvidia-smi topo` calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::OneSwitch => "PIX",
            Self::Switches => "PXB",
            Self::RootComplex => "PHB",
            Self::NumaNode => "NODE",
            Self::System => "SYS",
        }
    }

    /// True where data goes from one to the other without the processor.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::OneSwitch | Self::Switches)
    }
}

/// A port of the switch, and the device behind it.
const BELOW_ONE_SWITCH: usize = 2;
/// Most devices on one way; PCIe allows 256 buses, real machines have four or five.
const MAX_CHAIN: usize = 32;

impl PciLocation {
    /// From the target of a link; nothing of a device that is not on the PCI bus.
    pub fn read(target: &str) -> Option<Self> {
        let mut segments = target.split('/').skip_while(|segment| !is_root(segment));
        let root = segments.next()?.to_owned();
        let chain: Vec<String> = segments
            .take_while(|segment| is_id(segment))
            .take(MAX_CHAIN)
            .map(str::to_owned)
            .collect();
        (!chain.is_empty()).then_some(Self {
            root,
            chain,
            numa_node: None,
        })
    }

    /// The device's own PCI id.
    pub fn id(&self) -> &str {
        self.chain.last().map_or("", String::as_str)
    }

    /// The bridge nearest to both, if there is one.
    pub fn common_bridge<'a>(&'a self, other: &Self) -> Option<&'a str> {
        if self.root != other.root {
            return None;
        }
        let same = self.chain.iter().zip(&other.chain);
        let common = same.take_while(|(one, other)| one == other);
        common.last().map(|(bridge, _)| bridge.as_str())
    }

    /// How far it is.
    pub fn way_to(&self, other: &Self, numa_nodes: usize) -> PciPath {
        if let Some(bridge) = self.common_bridge(other) {
            let below = |place: &Self| {
                let at = place.chain.iter().position(|id| id == bridge);
                place.chain.len() - at.map_or(0, |at| at + 1)
            };
            let farther = below(self).max(below(other));
            return match farther <= BELOW_ONE_SWITCH {
                true => PciPath::OneSwitch,
                false => PciPath::Switches,
            };
        }
        if self.root == other.root {
            return PciPath::RootComplex;
        }
        let same_node = self.numa_node.is_some() && self.numa_node == other.numa_node;
        match same_node || numa_nodes == 1 {
            true => PciPath::NumaNode,
            false => PciPath::System,
        }
    }
}

/// `pci0000:15`.
fn is_root(segment: &str) -> bool {
    let Some((domain, bus)) = segment
        .strip_prefix("pci")
        .and_then(|root| root.split_once(':'))
    else {
        return false;
    };
    is_hexadecimal(domain, 4..=8) && is_hexadecimal(bus, 2..=2)
}

/// `0000:15:01.0`.
pub fn is_id(segment: &str) -> bool {
    let parts = segment.split_once(':').and_then(|(domain, rest)| {
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.')?;
        Some([
            (domain, 4..=8),
            (bus, 2..=2),
            (device, 2..=2),
            (function, 1..=1),
        ])
    });
    parts.is_some_and(|parts| {
        let mut parts = parts.into_iter();
        parts.all(|(text, lengths)| is_hexadecimal(text, lengths))
    })
}

fn is_hexadecimal(text: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(path: &str, numa_node: Option<u32>) -> PciLocation {
        let target = format!("../../../devices/{path}");
        PciLocation {
            numa_node,
            ..PciLocation::read(&target).unwrap()
        }
    }

    const GPU: &str = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0";

    #[test]
    fn ways() {
        for (path, node, nodes, way, bridge) in [
            (
                "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:19:00.0",
                Some(0),
                2,
                PciPath::OneSwitch,
                Some("0000:16:00.0"),
            ),
            (
                "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0/0000:1b:00.0/0000:1c:00.1",
                Some(0),
                2,
                PciPath::Switches,
                Some("0000:16:00.0"),
            ),
            (
                "pci0000:15/0000:15:02.0/0000:20:00.0",
                Some(0),
                2,
                PciPath::RootComplex,
                None,
            ),
            (
                "pci0000:37/0000:37:01.0/0000:38:00.0",
                Some(0),
                2,
                PciPath::NumaNode,
                None,
            ),
            (
                "pci0000:97/0000:97:01.0/0000:98:00.0",
                Some(1),
                2,
                PciPath::System,
                None,
            ),
            (
                "pci0000:97/0000:97:01.0/0000:98:00.0",
                None,
                2,
                PciPath::System,
                None,
            ),
            (
                "pci0000:97/0000:97:01.0/0000:98:00.0",
                None,
                1,
                PciPath::NumaNode,
                None,
            ),
        ] {
            let (gpu, nic) = (place(GPU, Some(0)), place(path, node));
            assert_eq!(gpu.way_to(&nic, nodes), way, "{path}");
            assert_eq!(nic.way_to(&gpu, nodes), way, "{path}");
            assert_eq!(gpu.common_bridge(&nic), bridge, "{path}");
        }
        assert!(PciPath::OneSwitch < PciPath::Switches && PciPath::NumaNode < PciPath::System);
        assert!(PciPath::Switches.is_direct() && !PciPath::RootComplex.is_direct());
    }

    #[test]
    fn places() {
        let nic = "../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/mlx5_0";
        let read = PciLocation::read(nic).unwrap();
        assert_eq!(
            (read.root.as_str(), read.id()),
            ("pci0000:15", "0000:16:00.0")
        );
        for target in [
            "../../devices/virtual/net/lo",
            "pci0000:15",
            "pci:15/0000:15:01.0",
            "",
        ] {
            assert_eq!(PciLocation::read(target), None, "{target}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_link_is_survived(
            one in "(pci0000:[0-9]{2}/)?(0000:0[0-3]:00\\.[01]/){0,40}\\PC{0,10}",
            other in "(pci0000:[0-9]{2}/)?(0000:0[0-3]:00\\.[01]/){0,6}",
        ) {
            if let (Some(one), Some(other)) = (PciLocation::read(&one), PciLocation::read(&other)) {
                prop_assert_eq!(one.way_to(&other, 2), other.way_to(&one, 2));
                prop_assert!(one.chain.len() <= MAX_CHAIN);
            }
        }
    }
}
