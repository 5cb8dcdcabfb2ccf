//! The state of each GPU, drawn from the verdicts about it.

use opentelemetry_proto::tonic::common::v1::KeyValue;

use super::{attributes::text, parts};
use crate::{GpuIdentity, Health, Snapshot, Subject};

/// The conventions' states of a GPU.
const STATES: [&str; 3] = ["ok", "degraded", "failed"];

/// Returns the attributes and the value of each point of `hw.status`: 1 for the state that a GPU is in, 0 for the others.
pub fn of_gpus(snapshot: &Snapshot) -> Vec<(Vec<KeyValue>, f64)> {
    let inventory = &snapshot.inventory;
    let of_gpu = |gpu: &GpuIdentity| {
        let state = state(gpu, snapshot);
        let attributes = parts::nvidia(&gpu.uuid, Some(gpu), inventory);
        STATES.map(|known| {
            let mut attributes = attributes.clone();
            attributes.push(text("hw.state", known));
            (attributes, f64::from(u8::from(known == state)))
        })
    };
    inventory.gpus.iter().flat_map(of_gpu).collect()
}

/// Returns the worst state that a component gives a GPU.
fn state(gpu: &GpuIdentity, snapshot: &Snapshot) -> &'static str {
    let states = snapshot.components.iter().flat_map(|c| &c.states);
    let about = states.filter(|state| is_about(state.subject.as_ref(), gpu));
    let worst = about.map(|state| state.health.rank()).max().unwrap_or(0);
    match worst {
        worst if worst > Health::Degraded.rank() => "failed",
        worst if worst == Health::Degraded.rank() => "degraded",
        _ => "ok",
    }
}

fn is_about(subject: Option<&Subject>, gpu: &GpuIdentity) -> bool {
    match subject {
        Some(Subject::Gpu {
            uuid: Some(uuid), ..
        }) => *uuid == gpu.uuid,
        Some(Subject::Gpu {
            pci: Some(pci),
            uuid: None,
            ..
        }) => *pci == gpu.pci,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ComponentHealth, HealthView, Inventory, otlp::attributes::tests::shown};

    #[test]
    fn a_gpu_is_as_well_as_the_worst_verdict_about_it() {
        let verdict = |health, uuid: &str| HealthView {
            name: "a".into(),
            health,
            reason: String::new(),
            suggested_actions: Vec::new(),
            subject: Some(Subject::Gpu {
                uuid: Some(uuid.into()),
                serial: None,
                pci: None,
                index: None,
            }),
            since: 0,
        };
        let gpu = |index: u32| GpuIdentity {
            index,
            uuid: format!("GPU-{index}"),
            ..GpuIdentity::default()
        };
        let of_node = HealthView {
            subject: None,
            ..verdict(Health::Unhealthy, "")
        };
        let states = vec![
            verdict(Health::Degraded, "GPU-1"),
            verdict(Health::Healthy, "GPU-1"),
            verdict(Health::Degraded, "GPU-2"),
            verdict(Health::Other("Lost".into()), "GPU-2"),
            verdict(Health::Initializing, "GPU-0"),
            of_node,
        ];
        let snapshot = Snapshot {
            components: vec![ComponentHealth {
                component: "a".into(),
                states,
            }],
            inventory: Inventory {
                gpus: (0..3).map(gpu).collect(),
                ..Inventory::default()
            },
            ..Snapshot::default()
        };
        let points = of_gpus(&snapshot);
        assert_eq!(points.len(), 9);
        let is_set = |point: &&(Vec<KeyValue>, f64)| point.1 == 1.0;
        let set: Vec<String> = points
            .iter()
            .filter(is_set)
            .map(|(attributes, _)| {
                let shown = shown(attributes);
                format!("{} {}", shown[0], shown.last().unwrap())
            })
            .collect();
        assert_eq!(
            set,
            [
                "hw.id=GPU-0 hw.state=ok",
                "hw.id=GPU-1 hw.state=degraded",
                "hw.id=GPU-2 hw.state=failed"
            ]
        );
    }
}
