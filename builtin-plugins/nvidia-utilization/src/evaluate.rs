//! From readings to a report.

use gpud_builtin_nvidia_common::{Gpu, SeenNow, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// Percent.
pub const GPU: &str = "accelerator_nvidia_utilization_gpu_util_percent";
/// Percent.
pub const MEMORY: &str = "accelerator_nvidia_utilization_memory_util_percent";

/// Percent of the driver's last sample period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// A kernel was running.
    pub gpu: u32,
    /// Memory was read or written.
    pub memory: u32,
}

#[derive(Serialize)]
struct Document<'a> {
    utilizations: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    gpu_used_percent: u32,
    memory_used_percent: u32,
    supported: bool,
}

fn row<'a>((gpu, reading): (&'a Gpu, &Option<Reading>)) -> Row<'a> {
    let used = reading.unwrap_or_default();
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        gpu_used_percent: used.gpu,
        memory_used_percent: used.memory,
        supported: reading.is_some(),
    }
}

/// The report; `None` is a GPU that cannot tell, as in MIG mode. No utilization is wrong by itself.
pub fn evaluate(context: &CheckContext, seen: &SeenNow<Option<Reading>>) -> Report {
    let healthy = format!(
        "all {} GPU(s) were checked, no utilization issue found",
        seen.gpus.len()
    );
    let findings = trouble::findings(&seen.gpus, "error getting utilization");
    let mut state = state(context, healthy, findings);
    let utilizations: Vec<_> = seen.answered().map(row).collect();
    if !utilizations.is_empty() {
        state = with_data(state, &Document { utilizations });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        let used = reading.unwrap_or_default();
        report = report.gauge_with(GPU, &labels, used.gpu.into()).gauge_with(
            MEMORY,
            &labels,
            used.memory.into(),
        );
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{
        GPU_0, GPU_1, actions, and, context, data, gpu, lost, metrics, only_state, seen,
    };
    use gpud_sdk::{AccessError, Health, RepairAction};

    fn busy() -> Option<Reading> {
        Some(Reading { gpu: 98, memory: 7 })
    }

    #[test]
    fn busy_or_unable_to_tell() {
        let report = evaluate(&context(), &seen([busy(), None]));
        let state = only_state(&report);
        assert!(report.supported);
        assert_eq!(state.health, Health::Healthy);
        assert_eq!(
            state.reason,
            "all 2 GPU(s) were checked, no utilization issue found"
        );
        assert_eq!(
            data(&report),
            format!(
                r#"{{"utilizations":[{{"uuid":"{GPU_0}","bus_id":"0000:0f:00.0","gpu_used_percent":98,"memory_used_percent":7,"supported":true}},{{"uuid":"{GPU_1}","bus_id":"0000:1f:00.0","gpu_used_percent":0,"memory_used_percent":0,"supported":false}}]}}"#
            )
        );
        assert_eq!(
            metrics(&report),
            [
                (GPU, GPU_0, 98.0),
                (MEMORY, GPU_0, 7.0),
                (GPU, GPU_1, 0.0),
                (MEMORY, GPU_1, 0.0)
            ]
        );
    }

    #[test]
    fn trouble_with_one_does_not_hide_the_other() {
        let unknown = || AccessError::Other("nvmlX of GPU 1: Unknown Error".into());
        let lost_one = || AccessError::SourceLost("nvmlX of GPU 1".into());
        for (error, reason, action) in [
            (unknown(), "error getting utilization", None),
            (lost_one(), "GPU lost", Some(RepairAction::RebootSystem)),
        ] {
            let report = evaluate(&context(), &and(seen([busy()]), error));
            let state = only_state(&report);
            assert_eq!(state.health, Health::Unhealthy);
            assert_eq!(state.reason, reason);
            assert!(state.error.as_ref().unwrap().contains("nvmlX of GPU 1"));
            assert_eq!(state.subject, Some(gpu(1).subject()));
            assert_eq!(actions(&report).1, action.as_slice());
            assert_eq!(metrics(&report).len(), 2);
            assert!(data(&report).contains(GPU_0) && !data(&report).contains(GPU_1));
        }
    }

    #[test]
    fn nothing_read() {
        let report = evaluate(
            &context(),
            &SeenNow {
                product: String::new(),
                gpus: vec![lost(0)],
            },
        );
        assert_eq!(data(&report), "");
        assert_eq!(report.metrics, []);
    }
}
