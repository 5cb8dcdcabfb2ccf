//! The verdict.
//!
//! `gpu_busy_percent` and `mem_busy_percent` are those of `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, `mem_info_vram_*` those
//! of `amdgpu_vram_mgr.c`, `mem_info_gtt_*` (pages of system memory that the GPU sees) those of `amdgpu_gtt_mgr.c`;
//! bytes. A GPU that is busy or full is not ill, so nothing is judged but whether it can be read.

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::files::{gauge, percent};
use gpud_sdk::findings::with_data;
use gpud_sdk::{CheckContext, Report};
use serde_json::{Value, json};

/// The files.
pub const FILES: [CardFile; 6] = [
    CardFile::short("gpu_busy_percent"),
    CardFile::short("mem_busy_percent"),
    CardFile::short("mem_info_vram_total"),
    CardFile::short("mem_info_vram_used"),
    CardFile::short("mem_info_gtt_total"),
    CardFile::short("mem_info_gtt_used"),
];
/// Metric of the GPU's use.
pub const BUSY: &str = "accelerator_amd_utilization_gpu_percent";
/// Metric of its memory's use.
pub const MEMORY_BUSY: &str = "accelerator_amd_utilization_memory_percent";
/// Metric of memory.
pub const VRAM_TOTAL: &str = "accelerator_amd_memory_total_bytes";
/// Metric of used memory.
pub const VRAM_USED: &str = "accelerator_amd_memory_used_bytes";
/// Metric of used memory.
pub const VRAM_USED_PERCENT: &str = "accelerator_amd_memory_used_percent";
/// Metric of system memory.
pub const GTT_TOTAL: &str = "accelerator_amd_memory_gtt_total_bytes";
/// Metric of used system memory.
pub const GTT_USED: &str = "accelerator_amd_memory_gtt_used_bytes";

/// The readings of one GPU.
struct Reading<'a> {
    card: &'a Card,
    busy: Option<u64>,
    memory_busy: Option<u64>,
    vram_total: Option<u64>,
    vram_used: Option<u64>,
    gtt_total: Option<u64>,
    gtt_used: Option<u64>,
}

impl<'a> Reading<'a> {
    fn of(card: &'a Card) -> Option<Self> {
        let share = |file| card.number(file).filter(|percent| *percent <= 100);
        let reading = Self {
            card,
            busy: share("gpu_busy_percent"),
            memory_busy: share("mem_busy_percent"),
            vram_total: card.number("mem_info_vram_total"),
            vram_used: card.number("mem_info_vram_used"),
            gtt_total: card.number("mem_info_gtt_total"),
            gtt_used: card.number("mem_info_gtt_used"),
        };
        (reading.busy.is_some() || reading.vram_total.is_some()).then_some(reading)
    }

    fn vram_percent(&self) -> Option<f64> {
        Some(percent(
            self.vram_used?,
            self.vram_total.filter(|total| *total > 0)?,
        ))
    }

    fn document(&self) -> Value {
        json!({
            "bus_id": self.card.id,
            "product": self.card.product,
            "gpu_used_percent": self.busy,
            "memory_used_percent": self.memory_busy,
            "vram_total_bytes": self.vram_total,
            "vram_used_bytes": self.vram_used,
            "gtt_total_bytes": self.gtt_total,
            "gtt_used_bytes": self.gtt_used,
        })
    }
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    cards: &[Card],
    before: &RetainedState,
) -> (Report, RetainedState) {
    let readings: Vec<Reading> = cards.iter().filter_map(Reading::of).collect();
    let asleep = cards.iter().filter(|card| card.asleep).count();
    if readings.is_empty()
        && asleep == 0
        && let Some(nothing) = nothing(context, cards, "no AMD GPU reports its utilization")
    {
        return nothing;
    }
    let mut healthy = format!(
        "{} GPU(s) were checked, no utilization issue found",
        readings.len()
    );
    if asleep > 0 {
        healthy.push_str(&format!(", {asleep} asleep"));
    }
    let (report, after) = Round::begin(cards, before).end(context, &healthy);
    let gpus: Vec<Value> = readings.iter().map(Reading::document).collect();
    let mut report = with_data(report, &json!({ "gpus": gpus }));
    for reading in &readings {
        let labels = [("bus_id", reading.card.id.as_str())];
        for (name, value) in [
            (BUSY, reading.busy.map(gauge)),
            (MEMORY_BUSY, reading.memory_busy.map(gauge)),
            (VRAM_TOTAL, reading.vram_total.map(gauge)),
            (VRAM_USED, reading.vram_used.map(gauge)),
            (VRAM_USED_PERCENT, reading.vram_percent()),
            (GTT_TOTAL, reading.gtt_total.map(gauge)),
            (GTT_USED, reading.gtt_used.map(gauge)),
        ] {
            if let Some(value) = value {
                report.add_gauge(name, &labels, value);
            }
        }
    }
    (report, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_amd_common::card::DRIVER;
    use gpud_builtin_amd_common::testing::{Fixture, context, data, metric, only_state};
    use gpud_sdk::{AccessError, Health};
    use proptest::prelude::*;

    const ID: &str = "0000:03:00.0";

    fn look(tree: &Fixture, before: &RetainedState) -> (Report, RetainedState) {
        evaluate(
            &context("accelerator-amd-utilization"),
            &tree.cards(&FILES),
            before,
        )
    }

    #[test]
    fn what_is_shown() {
        let files = "gpu_busy_percent=97;mem_busy_percent=40;mem_info_vram_total=1000;mem_info_vram_used=250;\
                     mem_info_gtt_total=500;mem_info_gtt_used=5";
        let (report, _) = look(
            &Fixture::default().gpu(ID, files),
            &RetainedState::default(),
        );
        let state = only_state(&report);
        assert_eq!(
            state.reason,
            "1 GPU(s) were checked, no utilization issue found"
        );
        for (name, value) in [
            (BUSY, 97.0),
            (MEMORY_BUSY, 40.0),
            (VRAM_TOTAL, 1000.0),
            (VRAM_USED, 250.0),
            (VRAM_USED_PERCENT, 25.0),
            (GTT_TOTAL, 500.0),
            (GTT_USED, 5.0),
        ] {
            assert_eq!(metric(&report, name, ID), Some(value), "{name}");
        }
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["gpus"][0]["vram_used_bytes"], 250);
    }

    #[test]
    fn what_is_not_there_is_not_shown() {
        // An integrated GPU has no memory of its own that could be busy; a register that is not there shows 255.
        let files = "gpu_busy_percent=255;mem_info_vram_total=0;mem_info_vram_used=0";
        let (report, _) = look(
            &Fixture::default().gpu(ID, files),
            &RetainedState::default(),
        );
        assert_eq!(metric(&report, BUSY, ID), None);
        assert_eq!(metric(&report, VRAM_USED_PERCENT, ID), None);
        assert_eq!(only_state(&report).health, Health::Healthy);
        assert!(
            !look(&Fixture::default(), &RetainedState::default())
                .0
                .supported
        );
        let asleep = Fixture::default().gpu(ID, "power/runtime_status=suspended");
        let (report, _) = look(&asleep, &RetainedState::default());
        assert_eq!(
            only_state(&report).reason,
            "0 GPU(s) were checked, no utilization issue found, 1 asleep"
        );
    }

    #[test]
    fn a_gpu_that_does_not_answer_is_reported() {
        let path = format!("{DRIVER}/{ID}/gpu_busy_percent");
        let tree = Fixture::default().fails(&path, AccessError::Denied(path.clone()));
        let (_, past) = look(&tree, &RetainedState::default());
        let (report, _) = look(&tree, &past);
        assert_eq!(only_state(&report).health, Health::Degraded);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

        #[test]
        fn any_text_is_survived(texts in prop::collection::vec("-?[0-9]{0,22}|[^;=]{0,10}", 4)) {
            let names = ["gpu_busy_percent", "mem_busy_percent", "mem_info_vram_total", "mem_info_vram_used"];
            let files: Vec<String> = names.iter().zip(&texts).map(|(name, text)| format!("{name}={text}")).collect();
            let (report, _) = look(&Fixture::default().gpu(ID, &files.join(";")), &RetainedState::default());
            prop_assert!(report.metrics.iter().all(|metric| metric.value.is_finite()));
        }
    }
}
