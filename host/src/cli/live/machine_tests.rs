//! Tests the output of `gpud status` at 80 and 200 columns.

use super::*;
use crate::{
    cli::live::gpus::Readings,
    summary::{
        History, SubjectView, Summary,
        test_machines::{NOW, bus, failing, fine, uuid},
    },
    wire::MetaTime,
};

/// A look at a machine of eight GPUs.
pub(in crate::cli) fn look(summary: Summary) -> MachineSnapshot {
    let mut readings = Readings::default();
    for index in (0..8).filter(|index| *index != 3) {
        let of = |fields: &str| format!("[{{\"uuid\":\"{}\",{fields}}}]", uuid(index));
        for (list, fields) in [
            ("utilizations", "\"gpu_used_percent\":97,\"supported\":true"),
            (
                "memories",
                "\"used_bytes\":75161927680,\"total_bytes\":85899345920",
            ),
            (
                "temperatures",
                "\"current_celsius_gpu_core\":62,\"threshold_celsius_slowdown\":87",
            ),
            (
                "powers",
                "\"usage_milli_watts\":548000,\"enforced_limit_milli_watts\":700000",
            ),
        ] {
            readings.take(list, &format!("{{\"{list}\":{}}}", of(fields)));
        }
    }
    let gpus = (0..8).map(|index| (uuid(index), bus(index)));
    let gpu = |index: usize| SubjectView {
        kind: "gpu".into(),
        label: format!("GPU {index}"),
        ..SubjectView::default()
    };
    let entries = vec![
        HistoryEntry {
            kind: "event".into(),
            component: "accelerator-nvidia-error-xid".into(),
            name: "error_xid".into(),
            severity: Some("Fatal".into()),
            message: "XID 79 x detected on GPU PCI:0000:3b:00".into(),
            means: "fell off the bus: Xid 79".into(),
            subject: Some(gpu(3)),
            count: 3,
            time: MetaTime(Some(NOW - 60_000)),
            last_time: MetaTime(Some(NOW)),
            ..HistoryEntry::default()
        },
        HistoryEntry {
            kind: "health".into(),
            component: "accelerator-nvidia-power".into(),
            name: "accelerator-nvidia-power".into(),
            from: Some(Some("Healthy".into())),
            to: Some("Unhealthy".into()),
            message: "GPU lost".into(),
            subject: Some(gpu(3)),
            count: 1,
            time: MetaTime(Some(NOW - 5000)),
            last_time: MetaTime(Some(NOW - 5000)),
            ..HistoryEntry::default()
        },
        HistoryEntry {
            kind: "event".into(),
            component: "hostile\u{1b}[2J\u{202e}".into(),
            name: "e".into(),
            severity: Some("Info".into()),
            message: "<b>\u{7}\nsecond line".into(),
            count: 1,
            time: MetaTime(Some(NOW - 9000)),
            last_time: MetaTime(Some(NOW - 9000)),
            ..HistoryEntry::default()
        },
    ];
    MachineSnapshot {
        gpus: gpus::rows(gpus, &readings, &summary.troubles),
        history: History {
            entries,
            next: None,
        },
        summary,
    }
}

fn text(look: &MachineSnapshot, terminal: Terminal) -> String {
    let view = MachineText {
        look,
        now: NOW,
        terminal,
    };
    [view.head(), view.text(), view.end()].concat()
}

#[test]
fn a_failing_machine() {
    let look = look(failing());
    insta::assert_snapshot!("status_failing_80", text(&look, Terminal::with_signs(80)));
    insta::assert_snapshot!("status_failing_200", text(&look, Terminal::with_signs(200)));
}

#[test]
fn a_healthy_machine_without_gpus_and_events() {
    let look = MachineSnapshot {
        summary: fine(),
        ..MachineSnapshot::default()
    };
    insta::assert_snapshot!("status_fine_80", text(&look, Terminal::with_signs(80)));
}

#[test]
fn the_daemons_documents_come_back() {
    let summary = failing();
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    // One of a later version has more, one of an earlier less.
    let other: Summary = serde_json::from_str(r#"{"verdict":"Odd","new":[]}"#).unwrap();
    assert_eq!(other.verdict.as_str(), "Odd");
    let history = look(summary).history;
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<History>(&text).unwrap(), history);
}
