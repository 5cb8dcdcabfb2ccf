//! The InfiniBand ports of a product's machines for the fabric between GPUs, and their rate.
//!
//! Only boards whose machines are all built alike have an entry: a PCIe card says nothing of the machine it sits in, so
//! `H100 PCIe`, `H100 NVL`, workstation cards (`RTX A1000` is not an A100) and one-GPU modules (`GH200`) have none. The
//! table is `builtin-plugins/nvidia-common/catalog/products.json`, with its sources:
//!
//! - A100 (ports of 200 Gb/s), H100, H200, B200 (one port of 400 Gb/s for each of eight GPUs): as in GPUd.
//! - GB200: a compute tray has four OSFP ports for InfiniBand. GPUd wants eight.

use crate::products::{CARDS, DEFAULTS};

/// Ports and rate that a machine should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Ports that must be up at the rate; 0 switches the check off.
    pub ports: u64,
    /// Gbit/s; 0 switches the check off.
    pub rate: u64,
}

impl Expected {
    /// Returns whether there is something to check.
    pub fn is_set(&self) -> bool {
        self.ports > 0 && self.rate > 0
    }
}

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
    use serde_json::Value;

    fn data() -> Value {
        let file = include_str!("../../nvidia-common/catalog/products.json");
        serde_json::from_str(file).unwrap()
    }

    fn wanted(of: &Value) -> Option<Expected> {
        let number = |key: &str| of["infiniband"][key].as_u64();
        Some(Expected {
            ports: number("ports")?,
            rate: number("rate")?,
        })
    }

    #[test]
    fn the_table_is_that_of_the_file() {
        let data = data();
        let models = data["models"].as_array().unwrap().iter();
        let defaults: Vec<(String, u64, u64)> = models
            .filter_map(|model| {
                let wanted = wanted(model)?;
                let name = model["model"].as_str()?.to_ascii_uppercase();
                Some((name, wanted.ports, wanted.rate))
            })
            .collect();
        let made = DEFAULTS.map(|(name, ports, rate)| (name.to_owned(), ports, rate));
        let run = "run builtin-plugins/nvidia-common/products.py";
        assert_eq!(defaults, made, "{run}");
        let cards = data["sold_alone"]["words"].as_array().unwrap().iter();
        let cards: Vec<String> = cards
            .filter_map(|word| Some(word.as_str()?.to_ascii_uppercase()))
            .collect();
        assert_eq!(cards, CARDS, "{run}");
    }

    #[test]
    fn products() {
        let data = data();
        let examples = data["examples"].as_array().unwrap();
        for example in examples {
            let name = example["name"].as_str().unwrap();
            assert_eq!(expected(name), wanted(example), "{name}");
            assert_eq!(expected(&name.to_ascii_lowercase()), wanted(example));
        }
        let with_ports = examples.iter().filter_map(wanted).count();
        assert!(with_ports >= DEFAULTS.len());
    }

    proptest! {
        #[test]
        fn any_name_is_survived(name in "\\PC{0,60}") {
            expected(&name);
        }
    }
}
