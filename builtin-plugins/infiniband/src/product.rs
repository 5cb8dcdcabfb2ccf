//! What a product's machines have: InfiniBand ports for the fabric between GPUs, and their rate.
//!
//! Only boards whose machines are all built alike have an entry: a PCIe card says nothing of the machine it sits in, so
//! `H100 PCIe`, `H100 NVL`, workstation cards (`RTX A1000` is not an A100) and one-GPU modules (`GH200`) have none.

/// Ports and rate that a machine should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Ports that must be up at the rate; 0 switches the check off.
    pub ports: u64,
    /// Gbit/s; 0 switches the check off.
    pub rate: u64,
}

/// Word of the product name, ports, Gbit/s.
///
/// - A100 (ports of 200 Gb/s), H100, H200, B200 (one port of 400 Gb/s for each of eight GPUs, NVIDIA's DGX user guides):
///   as in GPUd.
/// - GB200: a compute tray has four OSFP ports for InfiniBand (NVIDIA's DGX GB200 guides). GPUd wants eight.
const DEFAULTS: [(&str, u64, u64); 5] = [
    ("A100", 1, 200),
    ("H100", 8, 400),
    ("H200", 8, 400),
    ("B200", 8, 400),
    ("GB200", 4, 400),
];

/// Words of cards that are sold alone.
const CARDS: [&str; 3] = ["PCIE", "NVL", "RTX"];

/// What a product should have, by NVML's product name or by the same name with dashes.
pub fn expected(product: &str) -> Option<Expected> {
    let upper = product.to_ascii_uppercase();
    let words = || upper.split(|c: char| !c.is_ascii_alphanumeric());
    if words().any(|word| CARDS.contains(&word)) {
        return None;
    }
    let (_, ports, rate) = DEFAULTS
        .iter()
        .find(|(name, ..)| words().any(|word| word == *name))?;
    Some(Expected {
        ports: *ports,
        rate: *rate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn products() {
        for (product, wanted) in [
            ("NVIDIA A100-SXM4-80GB", Some((1, 200))),
            ("NVIDIA A100-SXM4-40GB", Some((1, 200))),
            ("NVIDIA-A100-SXM4-40GB", Some((1, 200))),
            ("NVIDIA H100 80GB HBM3", Some((8, 400))),
            ("nvidia h100 80gb hbm3", Some((8, 400))),
            ("NVIDIA H200", Some((8, 400))),
            ("NVIDIA B200", Some((8, 400))),
            ("NVIDIA GB200", Some((4, 400))),
            // Cards that can sit in any machine.
            ("NVIDIA A100-PCIE-40GB", None),
            ("NVIDIA A100 80GB PCIe", None),
            ("NVIDIA H100 PCIe", None),
            ("NVIDIA H100 NVL", None),
            ("NVIDIA H200 NVL", None),
            ("NVIDIA RTX A1000", None),
            ("NVIDIA GeForce RTX 4090", None),
            // One GPU and its own idea of a machine.
            ("NVIDIA GH200 480GB", None),
            // Not known well enough.
            ("NVIDIA B100", None),
            ("NVIDIA B300 SXM6 AC", None),
            ("NVIDIA GB300", None),
            ("NVIDIA H800", None),
            ("NVIDIA A800-SXM4-80GB", None),
            ("NVIDIA H20", None),
            ("NVIDIA A10", None),
            ("NVIDIA A100X", None),
            ("mock", None),
            ("", None),
        ] {
            let wanted = wanted.map(|(ports, rate)| Expected { ports, rate });
            assert_eq!(expected(product), wanted, "{product}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_survived(name in "\\PC{0,60}") {
            expected(&name);
        }
    }
}
