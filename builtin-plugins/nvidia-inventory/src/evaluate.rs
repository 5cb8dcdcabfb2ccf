//! The report. Nothing of it is trouble: GPUs whose firmware differs work. But who looks for the reason why one of
//! eight is slower wants to know.

use std::collections::BTreeMap;

use gpud_sdk::findings::{self, Finding, Memory, with_data};
use gpud_sdk::nvml::{Identity, MigDevice};
use gpud_sdk::{CheckContext, Report};
use serde_json::{Value, json};

/// Name of the event of a difference.
pub const EVENT: &str = "nvidia_firmware_differs";
/// Facts that GPUs of one product should have in common, as the contract calls them, and in words.
const COMPARED: [(&str, &str); 3] = [
    ("vbios", "VBIOS"),
    ("inforom-image", "InfoROM"),
    ("gsp-firmware", "GSP firmware"),
];
/// The host's name for a GPU that could never be opened, before its index.
const STRANGER: &str = "unknown-gpu-";
/// MIG devices that are shown of a GPU; hardware has 7 GPU instances, mostly with one compute instance each.
const MAX_PARTS: usize = 14;
/// Versions of one fact that a text names.
const MAX_VERSIONS: usize = 4;

/// The answers of NVML.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Version of the driver.
    pub driver_version: Option<String>,
    /// Major × 1000 + minor × 10.
    pub cuda_version: Option<u32>,
    /// The GPUs in NVML's order.
    pub gpus: Vec<Identity>,
    /// Their MIG devices, by UUID of the GPU; a GPU without any is not in it.
    pub mig: BTreeMap<String, Vec<MigDevice>>,
}

/// The report, and what to keep.
pub fn evaluate(context: &CheckContext, machine: &Machine, before: &Memory) -> (Report, Memory) {
    let differences = differences(&machine.gpus);
    let mut reason = format!("{} GPU(s)", machine.gpus.len());
    if differences.is_empty() {
        reason.push_str(", no difference in firmware between GPUs of one product");
    }
    for finding in &differences {
        reason.push_str("; ");
        reason.push_str(&finding.text);
    }
    let (report, after) = findings::judge(context, &reason, &differences, before);
    let parts = |gpu: &Identity| machine.mig.get(&gpu.uuid).map_or(&[][..], Vec::as_slice);
    let gpus: Vec<Value> = machine
        .gpus
        .iter()
        .map(|gpu| row(gpu, parts(gpu)))
        .collect();
    let cuda = machine
        .cuda_version
        .map(|cuda| format!("{}.{}", cuda / 1000, cuda % 1000 / 10));
    let data = json!({
        "driver_version": machine.driver_version,
        "cuda_version": cuda,
        "gpus": gpus,
    });
    (with_data(report, &data), after)
}

/// One for each product and fact that is not the same everywhere. A GPU that does not tell is not compared.
fn differences(gpus: &[Identity]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut products: BTreeMap<&str, Vec<&Identity>> = BTreeMap::new();
    for gpu in gpus.iter().filter(|gpu| !gpu.uuid.starts_with(STRANGER)) {
        products.entry(&gpu.name).or_default().push(gpu);
    }
    for (product, gpus) in products {
        for (fact, words) in COMPARED {
            let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for gpu in &gpus {
                if let Some(version) = gpu.fact(fact) {
                    versions.entry(version).or_default().push(&gpu.bus_id);
                }
            }
            if versions.len() > 1 {
                let text = format!("{product}: {words} differs: {}", list(&versions));
                found.push(Finding::note(format!("{product} {fact}"), EVENT, text));
            }
        }
    }
    found
}

/// `96.00.74.00.01 (7), 96.00.89.00.01 (0000:5d:00.0)`: the rarest are named, the rest counted.
fn list(versions: &BTreeMap<&str, Vec<&str>>) -> String {
    let mut sorted: Vec<_> = versions.iter().collect();
    sorted.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let shown = sorted
        .iter()
        .take(MAX_VERSIONS)
        .map(|(version, ids)| match ids.as_slice() {
            [id] if !id.is_empty() => format!("{version} ({id})"),
            ids => format!("{version} ({})", ids.len()),
        });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if sorted.len() > MAX_VERSIONS {
        text.push_str(&format!(" and {} more", sorted.len() - MAX_VERSIONS));
    }
    text
}

fn row(gpu: &Identity, parts: &[MigDevice]) -> Value {
    let parts: Vec<Value> = parts.iter().take(MAX_PARTS).map(part).collect();
    json!({
        "uuid": gpu.uuid,
        "bus_id": gpu.bus_id,
        "name": gpu.name,
        "serial": gpu.serial,
        "board_id": gpu.board_id,
        "minor_number": gpu.minor_number,
        "part_number": gpu.fact("board-part-number"),
        "chassis_serial": gpu.fact("chassis-serial"),
        "vbios": gpu.fact("vbios"),
        "inforom_image": gpu.fact("inforom-image"),
        "gsp_firmware": gpu.fact("gsp-firmware"),
        "mig_devices": parts,
    })
}

fn part(part: &MigDevice) -> Value {
    json!({
        "uuid": part.uuid,
        "name": part.name,
        "gpu_instance": part.gpu_instance,
        "compute_instance": part.compute_instance,
        "memory_bytes": part.memory.as_ref().map(|memory| memory.total),
        "multiprocessors": part.multiprocessors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{context, data, gpu, only_state};
    use gpud_sdk::Health;
    use proptest::prelude::*;

    fn identity(index: usize, facts: &[(&str, &str)]) -> Identity {
        let known = gpu(index);
        Identity {
            index: 0,
            uuid: known.uuid,
            name: known.name,
            bus_id: known.bus_id,
            brand: 0,
            compute_capability: (9, 0),
            serial: Some("165".into()),
            minor_number: None,
            board_id: Some(0x0f00),
            extra: facts
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    fn look(gpus: Vec<Identity>, before: &Memory) -> (Report, Memory) {
        let machine = Machine {
            driver_version: Some("570.133.20".into()),
            cuda_version: Some(12_080),
            gpus,
            mig: BTreeMap::new(),
        };
        evaluate(&context(), &machine, before)
    }

    #[test]
    fn differences_are_reported_and_are_no_fault() {
        let old = [
            ("vbios", "96.00.74.00.01"),
            ("inforom-image", "G520.0200.00.05"),
        ];
        let new = [
            ("vbios", "96.00.89.00.01"),
            ("inforom-image", "G520.0200.00.05"),
        ];
        let mut other = identity(3, &new);
        other.name = "NVIDIA L4".into();
        let mut stranger = identity(4, &[]);
        stranger.uuid = "unknown-gpu-4".into();
        let same = ", no difference in firmware between GPUs of one product";
        for (gpus, reason) in [
            (vec![identity(0, &old), identity(1, &old)], format!("2 GPU(s){same}")),
            (vec![identity(0, &old), other, stranger], format!("3 GPU(s){same}")),
            (vec![identity(0, &old), identity(1, &[])], format!("2 GPU(s){same}")),
            (
                vec![identity(0, &old), identity(1, &old), identity(2, &new)],
                "3 GPU(s); NVIDIA H100 80GB HBM3: VBIOS differs: 96.00.74.00.01 (2), 96.00.89.00.01 (0000:2f:00.0)"
                    .to_owned(),
            ),
            (vec![], format!("0 GPU(s){same}")),
        ] {
            let (report, _) = look(gpus, &Memory::default());
            let state = only_state(&report);
            assert_eq!((&state.health, &state.reason), (&Health::Healthy, &reason));
            assert_eq!(report.events.is_empty(), reason.contains("no difference"));
        }
    }

    #[test]
    fn an_event_is_a_change() {
        let differ = || {
            vec![
                identity(0, &[("vbios", "1")]),
                identity(1, &[("vbios", "2")]),
            ]
        };
        let (report, memory) = look(differ(), &Memory::default());
        assert_eq!(report.events[0].name, EVENT);
        let (report, memory) = look(differ(), &memory);
        assert_eq!(report.events, []);
        let (report, _) = look(vec![identity(0, &[])], &memory);
        assert_eq!(report.events[0].name, "nvidia_firmware_differs_cleared");
    }

    #[test]
    fn rows() {
        let facts = [
            ("vbios", "1"),
            ("board-part-number", "692-2G520"),
            ("gsp-firmware", "570.133.20"),
        ];
        let (report, _) = look(vec![identity(0, &facts)], &Memory::default());
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["driver_version"], "570.133.20");
        assert_eq!(document["cuda_version"], "12.8");
        let row = &document["gpus"][0];
        assert_eq!(
            (&row["serial"], &row["part_number"]),
            (&json!("165"), &json!("692-2G520"))
        );
        assert_eq!(
            (&row["gsp_firmware"], &row["inforom_image"]),
            (&json!("570.133.20"), &Value::Null)
        );
    }

    #[test]
    fn mig_devices_stand_with_their_gpu() {
        let part = |index: u32| MigDevice {
            index,
            uuid: format!("MIG-{index}"),
            name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".into(),
            gpu_instance: Some(7 + index),
            compute_instance: Some(0),
            memory: None,
            multiprocessors: Some(16),
            extra: Vec::new(),
        };
        let gpus = vec![identity(0, &[]), identity(1, &[])];
        let machine = Machine {
            mig: [(gpus[1].uuid.clone(), vec![part(0), part(1)])].into(),
            gpus,
            ..Machine::default()
        };
        let (report, _) = evaluate(&context(), &machine, &Memory::default());
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["gpus"][0]["mig_devices"], json!([]));
        let parts = &document["gpus"][1]["mig_devices"];
        assert_eq!(
            parts[1],
            json!({
                "uuid": "MIG-1", "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "gpu_instance": 8,
                "compute_instance": 0, "memory_bytes": null, "multiprocessors": 16,
            })
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

        #[test]
        fn any_versions_are_survived(versions in prop::collection::vec("\\PC{0,300}", 0..20)) {
            let gpus = versions.iter().enumerate().map(|(n, version)| identity(n, &[("vbios", version)]));
            let (report, _) = look(gpus.collect(), &Memory::default());
            prop_assert_eq!(&only_state(&report).health, &Health::Healthy);
            prop_assert!(only_state(&report).reason.len() <= 4096);
        }
    }
}
