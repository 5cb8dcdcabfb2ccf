use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, GPU_1, actions, and, context, data, gpu, only_state, seen,
};
use gpud_sdk::Health;

const FM: &str = "fabric manager found and active";

fn fabric(state: u8) -> Option<Fabric> {
    Some(Fabric {
        state,
        ..Fabric::default()
    })
}

fn on(product: &str, fabrics: Vec<Option<Fabric>>) -> GpuReadings<Option<Fabric>> {
    GpuReadings {
        product: product.into(),
        ..seen(fabrics)
    }
}

/// A machine with eight GPUs and four switches, whose manager runs.
fn node() -> Node {
    Node {
        bus: Some(Bus {
            gpus: 8,
            switches: 4,
        }),
        installed: true,
        active: true,
        nothing_to_do: false,
    }
}

fn without_switches() -> Node {
    Node {
        bus: Some(Bus {
            gpus: 8,
            switches: 0,
        }),
        ..node()
    }
}

fn stopped() -> Node {
    Node {
        active: false,
        ..node()
    }
}

fn judge(seen: &GpuReadings<Option<Fabric>>, node: &Node) -> Report {
    evaluate(&context(), Config::default(), seen, node)
}

fn short(report: &Report) -> (Health, &str) {
    let state = only_state(report);
    (state.health.clone(), state.reason.as_str())
}

#[test]
fn the_manager() {
    let idle = || Node {
        nothing_to_do: true,
        ..stopped()
    };
    let absent = || Node {
        installed: false,
        ..stopped()
    };
    let contained = || Node {
        installed: false,
        ..node()
    };
    let no_bus = || Node {
        bus: None,
        ..stopped()
    };
    let a100 = "NVIDIA A100-SXM4-80GB";
    let (fine, wrong) = (Health::Healthy, Health::Unhealthy);
    for (what, product, node, health, reason) in [
        ("runs", a100, node(), &fine, FM),
        ("runs in a container", a100, contained(), &fine, FM),
        (
            "does not run",
            a100,
            stopped(),
            &wrong,
            "fabric manager found but not active",
        ),
        (
            "is not there",
            a100,
            absent(),
            &wrong,
            "fabric manager supported but nv-fabricmanager executable not found",
        ),
        (
            "has nothing to do",
            a100,
            idle(),
            &fine,
            "fabric manager has nothing to do (no NVSwitch devices)",
        ),
        (
            "is not wanted",
            a100,
            Node {
                active: false,
                ..without_switches()
            },
            &fine,
            "NVSwitch not detected, skipping fabric manager check",
        ),
        (
            "nobody knows whether there are switches",
            a100,
            no_bus(),
            &fine,
            "NVSwitch not detected, skipping fabric manager check",
        ),
        (
            "other products",
            "NVIDIA A10",
            stopped(),
            &fine,
            "NVIDIA-A10 does not support fabric manager",
        ),
        (
            "cards in slots",
            "NVIDIA H100 PCIe",
            stopped(),
            &fine,
            "NVIDIA-H100-PCIe does not support fabric manager",
        ),
    ] {
        let report = judge(&on(product, vec![None, None]), &node);
        assert_eq!(short(&report), (health.clone(), reason), "{what}");
        assert_eq!(actions(&report).1, [], "{what}");
    }
}

#[test]
fn the_fabric() {
    let h100 = "NVIDIA H100 80GB HBM3";
    let checked = "NVIDIA-H100-80GB-HBM3 checked fabric state";
    let one_gpu = Node {
        bus: Some(Bus {
            gpus: 1,
            switches: 0,
        }),
        ..node()
    };
    let no_bus = Node {
        bus: None,
        ..stopped()
    };
    let bare = Node {
        active: false,
        ..without_switches()
    };
    let done = || vec![fabric(3), fabric(3)];
    let (fine, wrong) = (Health::Healthy, Health::Unhealthy);
    for (what, product, fabrics, node, health, reason) in [
        ("all well", h100, done(), node(), &fine, FM.to_owned()),
        (
            "the manager is down",
            h100,
            done(),
            stopped(),
            &wrong,
            format!("{checked}; fabric manager found but not active"),
        ),
        (
            "a GPU waits",
            h100,
            vec![fabric(3), fabric(2)],
            node(),
            &wrong,
            format!("NVIDIA-H100-80GB-HBM3 with unhealthy fabric state: GPU {GPU_1}: state=In Progress"),
        ),
        (
            "a GPU waits, and the manager is down",
            h100,
            vec![fabric(1), fabric(2)],
            stopped(),
            &wrong,
            format!(
                "NVIDIA-H100-80GB-HBM3 with unhealthy fabric state: GPU {GPU_0}: state=Not Started; GPU {GPU_1}: state=In Progress; fabric manager found but not active"
            ),
        ),
        (
            "one GPU",
            h100,
            vec![fabric(1)],
            one_gpu,
            &fine,
            "detected 1 NVIDIA GPU device(s); skipping fabric state check".to_owned(),
        ),
        (
            "no switches, and no fabric",
            h100,
            vec![fabric(0), fabric(0)],
            without_switches(),
            &fine,
            "NVIDIA-H100-80GB-HBM3: NVSwitch not detected, skipping fabric state check".to_owned(),
        ),
        (
            "switches of somebody else",
            h100,
            done(),
            bare.clone(),
            &fine,
            format!("{checked}; NVSwitch not detected, skipping fabric manager check"),
        ),
        (
            "switches of somebody else that do not work",
            h100,
            vec![fabric(3), fabric(1)],
            bare.clone(),
            &wrong,
            format!(
                "NVIDIA-H100-80GB-HBM3 with unhealthy fabric state: GPU {GPU_1}: state=Not Started; NVSwitch not detected, skipping fabric manager check"
            ),
        ),
        (
            "a bus that cannot be read",
            h100,
            done(),
            no_bus,
            &fine,
            format!("{checked}; NVSwitch not detected, skipping fabric manager check"),
        ),
        (
            "a switch per rack",
            "NVIDIA GB200",
            done(),
            bare,
            &fine,
            "NVIDIA-GB200 checked fabric state; NVIDIA-GB200 does not support fabric manager".to_owned(),
        ),
        (
            "an old driver",
            h100,
            vec![None, None],
            stopped(),
            &wrong,
            "NVIDIA-H100-80GB-HBM3 fabric state telemetry not supported; fabric manager found but not active".to_owned(),
        ),
    ] {
        let report = judge(&on(product, fabrics), &node);
        assert_eq!(short(&report), (health.clone(), reason.as_str()), "{what}");
    }
}

#[test]
fn a_pretended_product_needs_no_switches() {
    let config = Config {
        assume_nvswitch: true,
    };
    let one = on("NVIDIA GB200", vec![fabric(0)]);
    let report = evaluate(&context(), config, &one, &Node::default());
    assert_eq!(
        short(&report).1,
        format!(
            "NVIDIA-GB200 with unhealthy fabric state: GPU {GPU_0}: state=Not Supported; NVIDIA-GB200 does not support fabric manager"
        )
    );
}

#[test]
fn gpus_in_trouble_are_named() {
    let h100 = || on("NVIDIA H100 80GB HBM3", vec![fabric(3)]);
    for (error, words, action) in [
        (AccessError::SourceLost("nvmlX".into()), "GPU lost", true),
        (
            AccessError::NeedsReset("nvmlX".into()),
            "GPU requires reset",
            true,
        ),
        (
            AccessError::Other("nvmlX: Unknown Error".into()),
            "nvmlX: Unknown Error",
            false,
        ),
    ] {
        // A GPU that is lost takes the only proof of a fabric with it.
        for node in [node(), without_switches(), stopped()] {
            let report = judge(&and(h100(), error.clone()), &node);
            let state = only_state(&report);
            assert_eq!(state.health, Health::Unhealthy);
            let start =
                format!("NVIDIA-H100-80GB-HBM3 with unhealthy fabric state: GPU {GPU_1}: {words}");
            assert!(state.reason.starts_with(&start), "{}", state.reason);
            assert!(state.error.as_ref().unwrap().contains("nvmlX"));
            assert_eq!(state.subject, Some(gpu(1).subject()));
            let expected = [RepairAction::RebootSystem];
            let expected = if action {
                (words, &expected[..])
            } else {
                ("", &[][..])
            };
            assert_eq!(actions(&report), expected);
        }
    }
}

#[test]
fn documents() {
    let report = judge(&on("NVIDIA H200", vec![fabric(3), fabric(2)]), &node());
    let row = |uuid, state| {
        format!(
            r#"{{"gpu_uuid":"{uuid}","clique_id":0,"cluster_uuid":"","state":"{state}","status":"Success","summary":"Not Supported","health":{{"bandwidth":"Not Supported","route_recovery_in_progress":"Not Supported","route_unhealthy":"Not Supported","access_timeout_recovery":"Not Supported"}}}}"#
        )
    };
    assert_eq!(
        data(&report),
        format!(
            r#"{{"fabric_manager_active":true,"fabric_state_supported":true,"fabric_states":[{},{}],"fabric_state_reason":"GPU {GPU_1}: state=In Progress"}}"#,
            row(GPU_0, "Completed"),
            row(GPU_1, "In Progress")
        )
    );
    let report = judge(&on("NVIDIA A10", vec![None]), &node());
    assert_eq!(data(&report), r#"{"fabric_manager_active":true}"#);
    let report = judge(
        &on("NVIDIA H200", vec![fabric(0), fabric(0)]),
        &without_switches(),
    );
    assert_eq!(
        data(&report),
        r#"{"fabric_manager_active":false,"fabric_state_supported":true}"#
    );
}
