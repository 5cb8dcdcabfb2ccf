//! Whole summaries of made-up machines, as snapshots.

use super::{test_machines::*, *};
use crate::model::{Event, EventType, Evidence, HealthState, Subject};

/// What is wrong, a trouble a line, and the sentence.
fn short(summary: &Summary) -> String {
    let mut text = format!("{}: {}\n", summary.verdict.as_str(), summary.sentence);
    for trouble in &summary.troubles {
        let states: Vec<&str> = trouble
            .states
            .iter()
            .map(|s| s.component.as_str())
            .collect();
        text += &format!(
            "  {} {} | {} | {} | {}\n",
            trouble.health.as_str(),
            trouble.id,
            trouble.headline,
            trouble.action,
            states.join(" ")
        );
    }
    text
}

#[test]
fn a_lost_gpu_is_one_trouble_for_all_components() {
    let mut components = gpu_lost();
    let key =
        |component: &str, name: &str, subject| (component.to_owned(), name.to_owned(), subject);
    let summary = summarize(Input {
        since: Since {
            states: [
                (
                    key("accelerator-nvidia-error-xid", "error_xid", xid_subject()),
                    NOW - 60_000,
                ),
                (
                    key(
                        "accelerator-nvidia-power",
                        "accelerator-nvidia-power",
                        gpu(3),
                    ),
                    NOW - 30_000,
                ),
            ]
            .into(),
            healthy: None,
        },
        components: components.clone(),
        machine: MachineView::default(),
        gpus: Gpus::new((0..8).map(known)),
    });
    assert_eq!(summary.troubles.len(), 1, "{}", short(&summary));
    assert_eq!(summary.troubles[0].states.len(), 18);
    insta::assert_snapshot!("gpu_lost", serde_json::to_string_pretty(&summary).unwrap());
    // Without the kernel log the driver's word counts.
    components.retain(|found| found.component != "accelerator-nvidia-error-xid");
    let summary = of(components);
    assert_eq!(
        summary.sentence,
        "GPU 3 is lost: it fell off the bus or does not answer. Reboot the node."
    );
}

#[test]
fn who_shares_a_trouble_and_who_does_not() {
    let with = |subject: Subject, state: HealthState| HealthState {
        subject: Some(subject),
        ..state
    };
    let port = |port| Subject::Port {
        device: "mlx5_4".into(),
        port,
    };
    let other = |kind: &str, id: &str| Subject::Other {
        kind: kind.into(),
        id: id.into(),
    };
    let hot = format!(
        "{} ({}) has 95 C; {} ({}) has 96 C",
        uuid(1),
        bus(1),
        uuid(5),
        bus(5)
    );
    let all = (0..8).map(uuid).collect::<Vec<_>>().join(", ");
    let readings = (2..4).map(|index| Evidence::Nvml(format!("nvmlDeviceGetX {}", uuid(index))));
    let nvml = "NVML initialization error: Driver/library version mismatch";
    let no_log = "unknown: the kernel log cannot be read (/dev/kmsg: permission denied)";
    let bidi = "a\u{202e}b\u{1b}[2J<script>";
    let cases: Vec<(&str, Vec<ComponentInput>)> = vec![
        ("nothing", Vec::new()),
        (
            "healthy",
            vec![component("cpu", vec![state("Healthy", "ok")])],
        ),
        (
            "starting",
            vec![
                component("cpu", vec![state("Initializing", "no data yet")]),
                component("disk", vec![state("Healthy", "ok")]),
            ],
        ),
        (
            "a port, and a degraded mount",
            vec![
                component(
                    "a",
                    vec![with(port(1), state("Degraded", "mlx5_4/1 flapped 3 times"))],
                ),
                component(
                    "b",
                    vec![with(
                        port(1),
                        acted(state("Unhealthy", "down"), "HARDWARE_INSPECTION", ""),
                    )],
                ),
                component(
                    "inodes",
                    vec![with(
                        Subject::Mount("/data".into()),
                        state("Degraded", "/data: 98 % used"),
                    )],
                ),
            ],
        ),
        (
            "rows of two GPUs in one reason",
            vec![nvidia(
                "remapped-rows",
                acted(
                    state(
                        "Unhealthy",
                        "0000:1b:00.0 needs reset (detected pending row remapping), 0000:2b:00.0 qualifies for RMA (row remapping failed, remapped due to 0 uncorrectable error(s))",
                    ),
                    "HARDWARE_INSPECTION",
                    "row remapping failure requires hardware inspection",
                ),
            )],
        ),
        (
            "a GPU that was lost before it had a name",
            vec![nvidia(
                "power",
                HealthState {
                    error: Some("GPU lost: unknown-gpu-3: x of GPU 3 (unknown-gpu-3): lost".into()),
                    ..state("Unhealthy", "GPU lost")
                },
            )],
        ),
        (
            "several GPUs in one reason",
            vec![nvidia("temperature", state("Degraded", &hot))],
        ),
        (
            "all GPUs in one reason",
            vec![nvidia(
                "persistence-mode",
                state("Unhealthy", &format!("off on {all}")),
            )],
        ),
        (
            "several GPUs by their readings",
            vec![nvidia(
                "ecc",
                HealthState {
                    evidence: readings.collect(),
                    ..state("Unhealthy", "error getting ECC errors")
                },
            )],
        ),
        (
            "a plugin that names a GPU by its number",
            vec![component(
                "my-plugin",
                vec![state("Unhealthy", "GPU 3: paste is dry. Replace it soon.")],
            )],
        ),
        (
            "a device that is no GPU",
            vec![component(
                "device-loss",
                vec![with(
                    other("pci", "0000:ff:00.0"),
                    state("Unhealthy", "gone"),
                )],
            )],
        ),
        (
            "no driver",
            ["power", "ecc", "memory"]
                .map(|name| nvidia(name, state("Unhealthy", nvml)))
                .into(),
        ),
        (
            "no kernel log",
            ["block-io", "kernel-stalls"]
                .map(|name| component(name, vec![state("Degraded", no_log)]))
                .into(),
        ),
        (
            "units, the node, the kernel, others",
            vec![
                component(
                    "systemd-units",
                    vec![with(
                        Subject::Unit("docker.service".into()),
                        state("Degraded", "docker.service failed"),
                    )],
                ),
                component("os", vec![reboot(state("Unhealthy", "kernel panic"))]),
                component(
                    "pcie-aer",
                    vec![with(Subject::Node, state("Degraded", "x"))],
                ),
                component(
                    "kernel-module",
                    vec![state("Unhealthy", "missing modules: [\"ib_core\"]")],
                ),
                component(
                    "kernel-stalls",
                    vec![state("Degraded", "a task hung for 120 s")],
                ),
                component(
                    "memory-edac",
                    vec![with(
                        other("dimm", "A1"),
                        state("Degraded", "corrected errors"),
                    )],
                ),
                component("disk", vec![state("Unhealthy", "")]),
            ],
        ),
        (
            "two lost GPUs leave the count alone",
            vec![
                nvidia(
                    "power",
                    with(gpu(1).unwrap(), state("Unhealthy", "GPU lost")),
                ),
                nvidia("ecc", with(gpu(2).unwrap(), state("Unhealthy", "GPU lost"))),
                nvidia(
                    "gpu-counts",
                    state(
                        "Unhealthy",
                        "nvidia gpu count mismatch (found 7, expected 8)",
                    ),
                ),
            ],
        ),
        (
            "a hostile plugin",
            vec![component(
                bidi,
                vec![state("Odd", bidi), state("Degraded", &"x ".repeat(500))],
            )],
        ),
    ];
    let text: Vec<String> = cases
        .into_iter()
        .map(|(what, components)| format!("# {what}\n{}", short(&of(components))))
        .collect();
    insta::assert_snapshot!("groups", text.join("\n"));
}

#[test]
fn what_a_scan_found_is_split_by_device() {
    let event = |index: usize, time: u64, event_type: EventType, code: u32| Event {
        time,
        event_type,
        message: format!("XID {code} A_B x detected on GPU PCI:0000:{index}b:00"),
        subject: gpu(index),
        ..Event::default()
    };
    let found = ComponentInput {
        events: vec![
            event(3, 1000, EventType::Fatal, 79),
            event(3, 2000, EventType::Fatal, 119),
            event(5, 3000, EventType::Critical, 48),
            event(6, 3000, EventType::Warning, 31),
        ],
        ..component(
            "accelerator-nvidia-error-xid",
            vec![reboot(state(
                "Unhealthy",
                "matched 4 xid errors from 4096 kmsg(s)",
            ))],
        )
    };
    let summary = of(vec![found.clone()]);
    insta::assert_snapshot!("scan", short(&summary));
    assert_eq!(summary.troubles[0].since.0, Some(2000));
    // Of several GPUs each asks for what its own event says, by the catalogue that judges.
    let with_facts = |index, xid, facts: &[(&str, &str)]| {
        let facts = facts.iter();
        let facts = facts.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Event {
            extra_info: facts.collect(),
            ..event(index, 1000, EventType::Fatal, xid)
        }
    };
    let inspect = r#"{"suggested_actions_by_gpud":{"repair_actions":["HARDWARE_INSPECTION"]}}"#;
    let by_nvidia = [
        ("data", inspect),
        ("xid_catalog", "nvidia"),
        ("nvidia_verdict", "Fatal, CHECK_USER_APP_AND_GPU"),
    ];
    let several = ComponentInput {
        events: vec![
            with_facts(3, 79, &[]),
            with_facts(5, 140, &[("data", inspect)]),
            with_facts(6, 94, &by_nvidia),
        ],
        ..component(
            "accelerator-nvidia-error-xid",
            vec![reboot(state(
                "Unhealthy",
                "matched 3 xid errors from 3 kmsg(s)",
            ))],
        )
    };
    let mut asked: Vec<String> = of(vec![several])
        .troubles
        .into_iter()
        .map(|trouble| trouble.action)
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            "Check the application that used the GPU, then the GPU",
            "Have the hardware inspected",
            "Reboot the node"
        ]
    );
    // Without an action of the state, that of the event counts.
    let data = r#"{"suggested_actions_by_gpud":{"repair_actions":["REBOOT_SYSTEM"]}}"#;
    let mut event = event(3, 1000, EventType::Fatal, 79);
    event.extra_info = vec![("data".to_owned(), data.to_owned())];
    let advised = ComponentInput {
        events: vec![event],
        ..component(
            "accelerator-nvidia-error-xid",
            vec![state("Unhealthy", "matched 1 xid errors from 1 kmsg(s)")],
        )
    };
    assert_eq!(of(vec![advised]).troubles[0].action, "Reboot the node");
    // Events that say nothing of a device leave the state as it is.
    let nameless = found.events.into_iter().map(|event| Event {
        subject: None,
        ..event
    });
    let found = ComponentInput {
        events: nameless.collect(),
        ..component(
            "x",
            vec![state("Unhealthy", "matched 4 xid errors from 4096 kmsg(s)")],
        )
    };
    assert_eq!(of(vec![found]).sentence, "x: 4 Xids in the kernel log.");
}

#[test]
fn since_when_it_is_healthy() {
    let summary = summarize(Input {
        components: vec![component("cpu", vec![state("Healthy", "ok")])],
        since: Since {
            healthy: Some(NOW),
            ..Since::default()
        },
        ..Input::default()
    });
    assert_eq!(summary.since.0, Some(NOW));
    assert_eq!(summary.sentence, "1 check. Nothing to do.");
}

proptest::proptest! {
    #[test]
    fn any_states_are_summarized(
        states in proptest::collection::vec(
            ("[a-z-]{0,12}", "(Healthy|Degraded|Unhealthy|Initializing|Odd)", "(GPU lost|GPU [0-9] |XID 79 |\\PC|; |[.] [A-Z]){0,12}"),
            0..12,
        )
    ) {
        let components = states.into_iter().map(|(name, health, reason)| component(&name, vec![state(&health, &reason)]));
        let components: Vec<_> = components.collect();
        let count = components.len();
        let summary = of(components);
        proptest::prop_assert_eq!(summary.counts.present(), count);
        proptest::prop_assert!(!summary.sentence.is_empty());
        let healthy = summary.verdict == Health::Healthy;
        proptest::prop_assert_eq!(healthy, summary.counts.healthy == count);
        for trouble in &summary.troubles {
            proptest::prop_assert!(!trouble.states.is_empty() && !trouble.headline.is_empty());
        }
    }
}
