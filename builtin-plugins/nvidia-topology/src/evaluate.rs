//! The verdict. Where the cards are is shown and not judged, unless the configuration names pairs: what is close enough
//! depends on the machine's design.

use gpud_sdk::findings::{self, Finding, Memory, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;
use crate::machine::{Machine, Nic, PlacedGpu};
use crate::pci_location::{PciLocation, PciPath};

/// Event of a GPU whose NUMA node is not known.
pub const NUMA: &str = "nvidia_numa_node_unknown";
/// Event of a pair that is not there.
pub const PAIR: &str = "nvidia_topology_pair_missing";
/// Event of a machine that cannot be looked at.
pub const UNREADABLE: &str = "nvidia_topology_unreadable";

/// Network cards that are shown for a GPU.
const MAX_NEAREST: usize = 16;
const NUMA_ADVICE: &str = "The firmware does not say to which processor the GPU belongs, so programs run on the \
    wrong one: look at the settings of the firmware (NUMA, SR-IOV, virtual machine), or set \"numa\" to false.";
const PAIR_ADVICE: &str = "The card is gone, in another slot, or named differently: look at the machine, or at the \
    configuration.";

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    machine: &Machine,
    before: &Memory,
) -> (Report, Memory) {
    let mut found = Vec::new();
    if let Some(error) = &machine.unreadable {
        let text = format!("the places of GPUs and network cards cannot be read: {error}");
        found.push(Finding::degraded("unreadable", UNREADABLE, text));
    }
    if config.numa && machine.numa_nodes > 1 {
        found.extend(
            machine
                .gpus
                .iter()
                .filter(|gpu| gpu.numa_unknown)
                .map(no_node),
        );
    }
    // What cannot be read may be there.
    if machine.unreadable.is_none() {
        let pairs = config.pairs.iter();
        found.extend(pairs.filter_map(|(gpu, nic)| missing_pair(machine, gpu, nic)));
    }
    let healthy = format!(
        "{} GPU(s), {} network card function(s), {} NUMA node(s)",
        machine.gpus.len(),
        machine.nics.len(),
        machine.numa_nodes
    );
    let (report, after) = findings::judge(context, &healthy, &found, before);
    let gpus: Vec<Value> = machine
        .gpus
        .iter()
        .map(|gpu| gpu_row(machine, gpu))
        .collect();
    let nics: Vec<Value> = machine.nics.iter().map(nic_row).collect();
    let data = json!({ "numa_nodes": machine.numa_nodes, "gpus": gpus, "nics": nics });
    (with_data(report, &data), after)
}

fn no_node(gpu: &PlacedGpu) -> Finding {
    let text = format!("GPU {}: its NUMA node is not known", gpu.gpu.label());
    let file = format!("/sys/bus/pci/devices/{}/numa_node", gpu.gpu.bus_id);
    Finding::degraded(format!("{} numa", gpu.gpu.uuid), NUMA, text)
        .advice(NUMA_ADVICE)
        .subject(gpu.gpu.subject())
        .from_file(file)
}

fn missing_pair(machine: &Machine, gpu: &str, nic: &str) -> Option<Finding> {
    let is_gpu =
        |known: &&PlacedGpu| known.gpu.uuid == gpu || known.gpu.bus_id.eq_ignore_ascii_case(gpu);
    let is_nic = |known: &&Nic| {
        known.place.id().eq_ignore_ascii_case(nic) || known.names.iter().any(|name| name == nic)
    };
    let known = machine.gpus.iter().find(is_gpu);
    let place = known.and_then(|gpu| gpu.place.as_ref());
    let card = machine.nics.iter().find(is_nic);
    let what = match (place, card) {
        (None, _) => format!("there is no GPU {gpu}"),
        (_, None) => format!("there is no network card {nic}"),
        (Some(place), Some(card)) => {
            let way = place.way_to(&card.place, machine.numa_nodes);
            if way.is_direct() {
                return None;
            }
            format!("they are {} apart", way.word())
        }
    };
    let text = format!("GPU {gpu} and network card {nic} are not behind one PCIe switch: {what}");
    let mut finding = Finding::degraded(format!("{gpu}={nic}"), PAIR, text)
        .action(RepairAction::HardwareInspection, PAIR_ADVICE);
    finding.subject = known.map(|known| known.gpu.subject());
    Some(finding)
}

fn gpu_row(machine: &Machine, placed: &PlacedGpu) -> Value {
    let mut nearest: Vec<(PciPath, &Nic, &PciLocation)> = placed
        .place
        .iter()
        .flat_map(|place| {
            let nics = machine.nics.iter();
            nics.map(move |nic| (place.way_to(&nic.place, machine.numa_nodes), nic, place))
        })
        .collect();
    nearest.sort_by_key(|(way, ..)| *way);
    let best = nearest.first().map(|(way, ..)| *way);
    let shown: Vec<Value> = nearest
        .iter()
        .filter(|(way, ..)| Some(*way) == best)
        .take(MAX_NEAREST)
        .map(|(way, nic, place)| {
            json!({
                "nic": nic.place.id(),
                "names": nic.names,
                "way": way.word(),
                "common_bridge": place.common_bridge(&nic.place),
            })
        })
        .collect();
    let place = placed.place.as_ref();
    json!({
        "uuid": placed.gpu.uuid,
        "bus_id": placed.gpu.bus_id,
        "numa_node": place.and_then(|place| place.numa_node),
        "root_complex": place.map(|place| place.root.as_str()),
        "bridges": place.map(|place| place.chain.len().saturating_sub(1)),
        "nearest_nics": shown,
    })
}

fn nic_row(nic: &Nic) -> Value {
    json!({
        "bus_id": nic.place.id(),
        "names": nic.names,
        "numa_node": nic.place.numa_node,
        "root_complex": nic.place.root,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::Fixture;
    use gpud_builtin_nvidia_common::testing::{GPU_0, actions, context, data, only_state};
    use gpud_sdk::{AccessError, Health};

    const GPU: &str = "pci0000:0c/0000:0c:01.0/0000:0d:00.0/0000:0e:00.0/0000:0f:00.0";
    const NEAR: &str = "pci0000:0c/0000:0c:01.0/0000:0d:00.0/0000:0e:01.0/0000:10:00.0";
    const FAR: &str = "pci0000:9c/0000:9c:01.0/0000:9d:00.0";

    fn tree(numa: &str, nodes: usize) -> Fixture {
        Fixture::default()
            .nodes(nodes)
            .device(GPU, "0x030200", numa)
            .device(NEAR, "0x020700", "0")
            .device(FAR, "0x020000", "1")
            .name("infiniband", "mlx5_0", NEAR)
            .name("net", "eth0", FAR)
    }

    fn look(config: &str, tree: &Fixture) -> Report {
        let config = Config::parse(config).unwrap();
        evaluate(&context(), &config, &tree.machine(1), &Memory::default()).0
    }

    #[test]
    fn verdicts() {
        let fine = |nodes| format!("1 GPU(s), 2 network card function(s), {nodes} NUMA node(s)");
        let apart = |what: &str, nic: &str| {
            format!(
                "GPU 0000:0f:00.0 and network card {nic} are not behind one PCIe switch: {what}"
            )
        };
        let unknown =
            format!("GPU {GPU_0} (0000:0f:00.0): its NUMA node is not known. {NUMA_ADVICE}");
        let denied = tree("0", 2).fails(
            "/sys/class/net",
            AccessError::Denied("/sys/class/net".into()),
        );
        for (config, tree, health, reason) in [
            ("{}", tree("0", 2), Health::Healthy, fine(2)),
            ("{}", tree("-1", 1), Health::Healthy, fine(1)),
            ("{}", tree("-1", 2), Health::Degraded, unknown),
            (r#"{"numa":false}"#, tree("-1", 2), Health::Healthy, fine(2)),
            (r#"{"pairs":["0000:0f:00.0=mlx5_0"]}"#, tree("0", 2), Health::Healthy, fine(2)),
            (
                r#"{"pairs":["0000:0f:00.0=eth0"]}"#,
                tree("0", 2),
                Health::Degraded,
                apart("they are SYS apart", "eth0"),
            ),
            (
                r#"{"pairs":["0000:0f:00.0=mlx5_9"]}"#,
                tree("0", 2),
                Health::Degraded,
                apart("there is no network card mlx5_9", "mlx5_9"),
            ),
            (
                r#"{"pairs":["0000:ff:00.0=mlx5_0"]}"#,
                tree("0", 2),
                Health::Degraded,
                "GPU 0000:ff:00.0 and network card mlx5_0 are not behind one PCIe switch: there is no GPU 0000:ff:00.0"
                    .to_owned(),
            ),
            (
                r#"{"pairs":["0000:0f:00.0=eth0"]}"#,
                denied,
                Health::Degraded,
                "the places of GPUs and network cards cannot be read: /sys/class/net: permission denied".to_owned(),
            ),
        ] {
            let report = look(config, &tree);
            let state = only_state(&report);
            assert_eq!((&state.health, &state.reason), (&health, &reason), "{config}");
            let inspect = reason.contains("not behind");
            assert_eq!(actions(&report).1.is_empty(), !inspect, "{config}");
            assert_eq!(report.events.is_empty(), health == Health::Healthy, "{config}");
        }
    }

    #[test]
    fn the_nearest_are_shown() {
        let report = look("{}", &tree("0", 2));
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        let gpu = &document["gpus"][0];
        assert_eq!((&gpu["numa_node"], &gpu["bridges"]), (&json!(0), &json!(3)));
        let expected = json!([{
            "nic": "0000:10:00.0", "names": ["mlx5_0"], "way": "PIX", "common_bridge": "0000:0d:00.0",
        }]);
        assert_eq!(gpu["nearest_nics"], expected);
        assert_eq!(document["nics"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn machines_without_cards() {
        let report = look("{}", &Fixture::default());
        let state = only_state(&report);
        assert_eq!(state.health, Health::Healthy);
        assert_eq!(
            state.reason,
            "1 GPU(s), 0 network card function(s), 1 NUMA node(s)"
        );
    }
}
