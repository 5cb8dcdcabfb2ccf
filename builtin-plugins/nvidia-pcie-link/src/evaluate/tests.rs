use super::*;
use gpud_builtin_nvidia_common::testing::{
    GPU_0, actions, and, context, data, gpu, metrics, only_state, seen,
};
use gpud_sdk::{AccessError, Evidence, Health, Recovery};

const FINE: &str = "all 1 GPU(s) were checked, no PCIe link issue found";

/// Generation and lanes of a link that can do 5 and 16, and how busy its GPU is.
fn link(generation: u32, width: u32, busy: Option<u32>) -> Option<Reading> {
    Some(Reading {
        generation: Some(generation),
        width: Some(width),
        max_generation: Some(5),
        max_width: Some(16),
        busy_percent: busy,
    })
}

/// Reasons of checks in a row.
fn story(config: &Config, links: &[Option<Reading>]) -> Vec<String> {
    let mut memory = Memory::default();
    let mut reasons = Vec::new();
    for link in links {
        let (report, now) = evaluate(&context(), config, &seen([*link]), &memory);
        let kept = serde_json::to_string(&now).unwrap();
        memory = serde_json::from_str(&kept).unwrap();
        reasons.push(only_state(&report).reason.clone());
    }
    reasons
}

fn link_reason(what: &str) -> String {
    format!("GPU {GPU_0} (0000:0f:00.0) PCIe link {what}")
}

#[test]
fn lanes_count_whether_busy_or_not() {
    let narrow = link_reason("has x8 of x16 lanes");
    for busy in [Some(0), Some(100), None] {
        let (full, half) = (link(5, 16, busy), link(5, 8, busy));
        assert_eq!(
            story(
                &Config::default(),
                &[full, half, half, half, half, full, half]
            ),
            [FINE, FINE, FINE, &narrow, &narrow, FINE, FINE]
        );
    }
}

#[test]
fn speed_counts_while_busy() {
    let slow = link_reason("runs at generation 1 of 5");
    let (busy, idle, unknown) = (
        link(1, 16, Some(10)),
        link(1, 16, Some(9)),
        link(1, 16, None),
    );
    let full = link(5, 16, Some(50));
    for (links, last) in [
        (vec![idle; 5], FINE),
        (vec![unknown; 5], FINE),
        (vec![busy; 2], FINE),
        (vec![busy; 3], &*slow),
        (vec![busy, busy, idle, busy], &*slow),
        (vec![busy, busy, busy, idle], &*slow),
        (vec![busy, busy, full, busy], FINE),
        (vec![busy, busy, busy, full], FINE),
    ] {
        assert_eq!(
            story(&Config::default(), &links).last().unwrap(),
            last,
            "{links:?}"
        );
    }
}

#[test]
fn both_at_once_and_at_the_first_check() {
    let config = Config {
        checks: 1,
        ..Config::default()
    };
    let (report, _) = evaluate(
        &context(),
        &config,
        &seen([link(4, 4, Some(99))]),
        &Memory::default(),
    );
    let state = only_state(&report);
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(
        state.reason,
        format!(
            "{}; {}",
            link_reason("has x4 of x16 lanes"),
            link_reason("runs at generation 4 of 5")
        )
    );
    assert_eq!(actions(&report).1, [RepairAction::HardwareInspection]);
    assert_eq!(state.subject, Some(gpu(0).subject()));
    assert_eq!(state.recovery, [Recovery::NextGoodReading]);
    assert_eq!(
        state.evidence,
        [
            Evidence::Nvml(format!("nvmlDeviceGetCurrPcieLinkWidth {GPU_0}")),
            Evidence::Nvml(format!("nvmlDeviceGetCurrPcieLinkGeneration {GPU_0}"))
        ]
    );
}

#[test]
fn demands() {
    let config = Config {
        min_width: 16,
        min_generation: 5,
        ..Config::default()
    };
    assert_eq!(story(&config, &[link(5, 16, None)]), [FINE]);
    let old_slot = Some(Reading {
        max_generation: Some(4),
        max_width: Some(8),
        ..Reading::default()
    });
    assert_eq!(
        story(&config, &[old_slot]),
        [format!(
            "{}; {}",
            link_reason("can do x8, expected x16"),
            link_reason("can do generation 4, expected generation 5")
        )]
    );
    assert_eq!(story(&Config::default(), &[old_slot; 5])[4], FINE);
}

#[test]
fn a_reboot_and_a_gpu_that_does_not_answer() {
    let half = link(5, 8, None);
    let run = |boot: &str, before: &Memory, seen| {
        let mut context = context();
        context.boot_id = boot.into();
        evaluate(&context, &Config::default(), &seen, before)
    };
    let (_, one) = run("b1", &Memory::default(), seen([half]));
    let (_, two) = run("b1", &one, seen([half]));
    assert_eq!(two.of("b1", GPU_0).narrow, 2);
    let (report, _) = run("b2", &two, seen([half]));
    assert_eq!(
        only_state(&report).health,
        Health::Healthy,
        "counted from the start"
    );
    let silent = || AccessError::Other("x: Unknown Error".into());
    let nobody = GpuReadings {
        gpus: Vec::new(),
        ..seen([])
    };
    let (report, kept) = run("b1", &two, and(nobody, silent()));
    assert_eq!(only_state(&report).reason, "error getting PCIe link");
    assert_eq!(kept, two);
}

#[test]
fn documents_and_metrics() {
    let (report, memory) = evaluate(
        &context(),
        &Config::default(),
        &seen([link(1, 16, None), None]),
        &Memory::default(),
    );
    let uuid_1 = gpu(1).uuid;
    assert_eq!(
        data(&report),
        format!(
            r#"{{"pcie_links":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","generation":1,"width":16,"max_generation":5,"max_width":16,"supported":true}},{{"uuid":"{uuid_1}","bus_id":"0000:1f:00.0","generation":null,"width":null,"max_generation":null,"max_width":null,"supported":false}}]}}"#
        )
    );
    assert_eq!(
        metrics(&report),
        [
            (GENERATION, GPU_0, 1.0),
            (WIDTH, GPU_0, 16.0),
            (MAX_GENERATION, GPU_0, 5.0),
            (MAX_WIDTH, GPU_0, 16.0)
        ]
    );
    assert_eq!(memory.streaks.len(), 0);
}
