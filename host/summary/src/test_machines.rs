//! Made-up machines for tests of what shows summaries.

#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "values for tests"
)]

use super::*;
use crate::model::{Evidence, HealthState, RepairAction, Subject, SuggestedActions};

pub const NOW: u64 = 1_764_165_731_000;

/// GPU number `index` of eight, as the inventory has it.
pub fn known(index: usize) -> KnownGpu {
    KnownGpu {
        uuid: Some(uuid(index)),
        serial: Some(format!("165000000000{index}")),
        pci: Some(bus(index)),
        index: Some(index),
    }
}

pub fn uuid(index: usize) -> String {
    format!("GPU-1582a755-bac3-4f01-a000-00000000000{index}")
}

pub fn bus(index: usize) -> String {
    format!("0000:{index}b:00.0")
}

pub fn gpu(index: usize) -> Option<Subject> {
    Some(Subject::Gpu {
        uuid: Some(uuid(index)),
        serial: None,
        pci_id: Some(bus(index)),
    })
}

/// GPU 3, as the kernel log names it.
pub fn xid_subject() -> Option<Subject> {
    Some(Subject::Gpu {
        uuid: None,
        serial: None,
        pci_id: Some("0000:3B:00".into()),
    })
}

pub fn state(health: &str, reason: &str) -> HealthState {
    HealthState {
        health: health.into(),
        reason: reason.into(),
        time: Some(NOW),
        ..HealthState::default()
    }
}

pub fn reboot(state: HealthState) -> HealthState {
    acted(state, "REBOOT_SYSTEM", "")
}

pub fn acted(state: HealthState, action: &str, description: &str) -> HealthState {
    HealthState {
        suggested_actions: Some(SuggestedActions {
            description: description.into(),
            repair_actions: vec![RepairAction::from(action)],
        }),
        ..state
    }
}

pub fn component(name: &str, states: Vec<HealthState>) -> ComponentInput {
    let named = |state: HealthState| HealthState {
        name: state.name.clone().or_else(|| Some(name.to_owned())),
        ..state
    };
    ComponentInput {
        component: name.into(),
        supported: true,
        states: states.into_iter().map(named).collect(),
        events: Vec::new(),
    }
}

pub fn absent(name: &str, reason: &str) -> ComponentInput {
    ComponentInput {
        supported: false,
        ..component(name, vec![state("Healthy", reason)])
    }
}

pub fn nvidia(name: &str, state: HealthState) -> ComponentInput {
    component(&format!("accelerator-nvidia-{name}"), vec![state])
}

pub fn of(components: Vec<ComponentInput>) -> Summary {
    summarize(Input {
        components,
        machine: MachineView {
            hostname: "gpu-node-17".into(),
            gpu_count: 8,
            ..MachineView::default()
        },
        gpus: Gpus::new((0..8).map(known)),
        since: Since::default(),
    })
}

/// A GPU that fell off the bus, as 15 components see it.
pub fn gpu_lost() -> Vec<ComponentInput> {
    let lost = |index: usize| HealthState {
        subject: gpu(index),
        error: Some(format!(
            "GPU lost: {} ({}): GPU is lost",
            uuid(index),
            bus(index)
        )),
        ..reboot(state("Unhealthy", "GPU lost"))
    };
    let names = [
        "clock-speed",
        "ecc",
        "fabric-manager",
        "gpm",
        "hw-slowdown",
        "memory",
        "nvlink",
        "pcie-link",
        "persistence-mode",
        "power",
        "processes",
        "recovery-action",
        "remapped-rows",
        "temperature",
    ];
    let mut components: Vec<_> = names
        .into_iter()
        .map(|name| nvidia(name, lost(3)))
        .collect();
    // Without a subject, and by name only.
    components.push(nvidia(
        "utilization",
        HealthState {
            subject: None,
            ..lost(3)
        },
    ));
    let xid = format!(
        "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00 UUID:{}",
        uuid(3)
    );
    components.push(component(
        "accelerator-nvidia-error-xid",
        vec![HealthState {
            name: Some("error_xid".into()),
            time: None,
            subject: xid_subject(),
            evidence: vec![Evidence::Kmsg(4711)],
            ..reboot(state("Unhealthy", &xid))
        }],
    ));
    components.push(nvidia(
        "gpu-counts",
        state(
            "Unhealthy",
            "nvidia gpu count mismatch (found 7, expected 8)",
        ),
    ));
    components.push(component(
        "device-loss",
        vec![HealthState {
            subject: Some(Subject::Other {
                kind: "pci".into(),
                id: "0000:3b:00.0".into(),
            }),
            ..state("Degraded", "0000:3b:00.0 answers no more")
        }],
    ));
    components.push(component("cpu", vec![state("Healthy", "ok")]));
    components.push(absent("ipmi", "no IPMI device"));
    components
}

/// That machine, where in addition a port flapped.
pub fn failing() -> Summary {
    let mut components = gpu_lost();
    let port = Subject::Port {
        device: "mlx5_4".into(),
        port: 1,
    };
    components.push(component(
        "accelerator-nvidia-infiniband",
        vec![HealthState {
            subject: Some(port),
            ..acted(
                state(
                    "Degraded",
                    "mlx5_4/1 flapped 3 times in an hour; up now at 400 Gb/s",
                ),
                "HARDWARE_INSPECTION",
                "Look at its cable or transceiver.",
            )
        }],
    ));
    components.extend(well());
    let key = (
        "accelerator-nvidia-error-xid".to_owned(),
        "error_xid".to_owned(),
        xid_subject(),
    );
    let since = Since {
        states: [(key, NOW - 7_200_000)].into(),
        healthy: None,
    };
    machine_of(components, since)
}

/// A machine where all is well.
pub fn fine() -> Summary {
    let since = Since {
        healthy: Some(NOW - 3 * 86_400_000),
        ..Since::default()
    };
    machine_of(well(), since)
}

fn machine_of(components: Vec<ComponentInput>, since: Since) -> Summary {
    summarize(Input {
        components,
        machine: MachineView {
            hostname: "gpu-node-17".into(),
            machine_id: "6f1e".into(),
            gpu_product: "NVIDIA H100 80GB HBM3".into(),
            gpu_count: 8,
            driver_version: "595.71".into(),
            uptime_seconds: Some(86_400),
            gpud_version: "0.1.0".into(),
        },
        gpus: Gpus::new((0..8).map(known)),
        since,
    })
}

fn well() -> Vec<ComponentInput> {
    let names = [
        "disk",
        "inodes",
        "memory",
        "memory-edac",
        "memory-numa",
        "os",
        "kernel-stalls",
        "block-io",
        "network-interface",
        "network-limits",
        "time-sync",
        "systemd-units",
        "containerd",
        "kubelet",
        "accelerator-nvidia-topology",
        "accelerator-nvidia-inventory",
        "pressure",
        "fuse",
        "nfs",
    ];
    let healthy = names.map(|name| component(name, vec![state("Healthy", "ok")]));
    let absent = [
        absent("accelerator-amd-ecc", "no AMD GPU"),
        absent("accelerator-amd-power", "no AMD GPU"),
        absent(
            "board-sensors",
            "no hardware monitoring chip with a reading on this machine",
        ),
        absent("docker", "docker is not installed"),
        absent("tailscale", "tailscaled is not installed"),
    ];
    healthy.into_iter().chain(absent).collect()
}
