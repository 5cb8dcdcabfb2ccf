//! Turns NVML's answers about GPUs into the words of the inventory, which are GPUd's.

use crate::{
    node::nvml::{Inventory, values::Identity},
    wire::{GpuInfo, GpuInstance},
};

/// `nvmlBrandType_t`, from 0.
const BRANDS: [&str; 17] = [
    "Unknown",
    "Quadro",
    "Tesla",
    "NVS",
    "GRID",
    "GeForce",
    "TITAN",
    "NVIDIA vApps",
    "NVIDIA Virtual PC",
    "NVIDIA Virtual Compute Server",
    "NVIDIA Virtual Workstation",
    "NVIDIA Cloud Gaming",
    "Quadro RTX",
    "NVIDIA RTX",
    "NVIDIA",
    "GeForce RTX",
    "TITAN RTX",
];
/// Suffixes of decimal quantities, each a thousand times the one before.
const SUFFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// The GPUs as a group. Product, brand and architecture are the first one's: machines have GPUs of one kind.
pub fn info(inventory: &Inventory) -> GpuInfo {
    let mut named = inventory.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let Some(first) = named.next() else {
        return GpuInfo::default();
    };
    GpuInfo {
        product: product(&first.name),
        manufacturer: brand(first.brand),
        architecture: architecture(first.compute_capability).to_owned(),
        memory: inventory.memory_total.map(quantity).unwrap_or_default(),
        gpus: inventory.gpus.iter().map(|gpu| instance(gpu)).collect(),
    }
}

/// `major.minor`; empty if unknown.
pub fn cuda_version(version: u32) -> String {
    match version {
        0 => String::new(),
        version => format!("{}.{}", version / 1000, version % 1000 / 10),
    }
}

/// The first one that a GPU tells.
pub fn chassis_serial(inventory: &Inventory) -> String {
    let mut serials = inventory
        .gpus
        .iter()
        .filter_map(|gpu| gpu.fact("chassis-serial"));
    serials.next().unwrap_or_default().to_owned()
}

fn instance(gpu: &Identity) -> GpuInstance {
    GpuInstance {
        uuid: gpu.uuid.clone(),
        bus_id: gpu.bus_id.clone(),
        serial: gpu.serial.clone().unwrap_or_default(),
        minor_id: gpu
            .minor_number
            .map_or_else(|| "-1".to_owned(), |minor| minor.to_string()),
        board_id: gpu.board_id.unwrap_or(0),
    }
}

/// A product's name as one word: `NVIDIA H100 80GB HBM3` is `NVIDIA-H100-80GB-HBM3`.
fn product(name: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let name: String = name.trim().chars().filter(kept).collect();
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join("-")
}

fn brand(code: u32) -> String {
    match BRANDS.get(code as usize) {
        Some(brand) => (*brand).to_owned(),
        None => format!("UnknownBrand({code})"),
    }
}

fn architecture((major, minor): (u32, u32)) -> &'static str {
    match (major, minor) {
        (1, _) => "tesla",
        (2, _) => "fermi",
        (3, _) => "kepler",
        (5, _) => "maxwell",
        (6, _) => "pascal",
        (7, 0..5) => "volta",
        (7, _) => "turing",
        (8, 0..9) => "ampere",
        (8, _) => "ada-lovelace",
        (9, _) => "hopper",
        (10 | 12, _) => "blackwell",
        _ => "undefined",
    }
}

/// Bytes as a decimal quantity of Kubernetes: the largest suffix that leaves a whole number.
fn quantity(mut bytes: u64) -> String {
    let mut suffixes = SUFFIXES.iter();
    let mut suffix = suffixes.next();
    while bytes != 0 && bytes.is_multiple_of(1000) && suffixes.len() > 0 {
        bytes /= 1000;
        suffix = suffixes.next();
    }
    format!("{bytes}{}", suffix.unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_machine_with_gpus() {
        let gpu = |index: u32, minor: Option<u32>| {
            Arc::new(Identity {
                index,
                uuid: format!("GPU-{index}"),
                name: "NVIDIA H100 80GB HBM3".into(),
                bus_id: format!("0000:0{index}:00.0"),
                brand: 14,
                compute_capability: (9, 0),
                minor_number: minor,
                board_id: Some(7),
                extra: vec![("chassis-serial".into(), format!("CH-{index}"))],
                ..Identity::default()
            })
        };
        let inventory = Inventory {
            gpus: vec![gpu(0, Some(3)), gpu(1, None)],
            memory_total: Some(85_520_809_984),
            ..Inventory::default()
        };
        let info = info(&inventory);
        assert_eq!(info.product, "NVIDIA-H100-80GB-HBM3");
        assert_eq!(info.manufacturer, "NVIDIA");
        assert_eq!(info.architecture, "hopper");
        assert_eq!(info.memory, "85520809984");
        let minors: Vec<&str> = info.gpus.iter().map(|gpu| gpu.minor_id.as_str()).collect();
        assert_eq!(minors, ["3", "-1"]);
        assert_eq!(chassis_serial(&inventory), "CH-0");
    }

    #[test]
    fn nothing_without_a_gpu_that_has_a_name() {
        assert_eq!(info(&Inventory::default()), GpuInfo::default());
        let stranger = Inventory {
            gpus: vec![Arc::new(Identity::default())],
            ..Inventory::default()
        };
        assert_eq!(info(&stranger), GpuInfo::default());
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(product(" NVIDIA  A10 (24GB)\t"), "NVIDIA-A10-24GB");
        assert_eq!(brand(99), "UnknownBrand(99)");
        assert_eq!(brand(15), "GeForce RTX");
        for (capability, name) in [
            ((7, 0), "volta"),
            ((7, 5), "turing"),
            ((8, 6), "ampere"),
            ((8, 9), "ada-lovelace"),
            ((12, 0), "blackwell"),
            ((4, 0), "undefined"),
        ] {
            assert_eq!(architecture(capability), name, "{capability:?}");
        }
        assert_eq!(cuda_version(12_040), "12.4");
        assert_eq!(cuda_version(0), "");
        for (bytes, text) in [
            (0, "0"),
            (80_000_000_000, "80G"),
            (1_500, "1500"),
            (2_000, "2k"),
            (u64::MAX, "18446744073709551615"),
            (18_000_000_000_000_000_000, "18E"),
        ] {
            assert_eq!(quantity(bytes), text);
        }
    }
}
