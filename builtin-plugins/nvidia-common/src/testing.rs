//! Machines for the tests of checkers.

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::nvml::Library;
use gpud_sdk::{AccessError, CheckContext, HealthState, RepairAction, Report, Trigger};

use crate::{Failure, Gpu, GpuAnswer, GpuReadings};

/// UUID of [`gpu`] 0.
pub const GPU_0: &str = "GPU-00000000-0000-0000-0000-000000000000";
/// UUID of [`gpu`] 1.
pub const GPU_1: &str = "GPU-00000000-0000-0000-0000-000000000001";
/// Product name of every [`gpu`].
pub const PRODUCT: &str = "NVIDIA H100 80GB HBM3";
/// When [`context`] is: 2025-03-01T10:21:40Z.
pub const NOW: u64 = 1_740_824_500_000;

/// A check at [`NOW`].
pub fn context() -> CheckContext {
    CheckContext {
        component: "component".into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// NVML as it says it is.
pub fn driver(library: Library, product: &str) -> Driver {
    Driver {
        library,
        product: Ok(product.into()),
    }
}

/// A GPU at bus `0f`, `1f`, `2f` …
pub fn gpu(index: usize) -> Gpu {
    Gpu {
        uuid: format!("GPU-00000000-0000-0000-0000-{index:012}"),
        bus_id: format!("0000:{index:x}f:00.0"),
        name: PRODUCT.to_owned(),
        serial: None,
    }
}

/// A GPU that does not answer.
pub fn failing<T>(index: usize, error: AccessError) -> GpuAnswer<T> {
    GpuAnswer {
        gpu: gpu(index),
        answer: Err(Failure::from(error)),
    }
}

/// A GPU that was lost.
pub fn lost<T>(index: usize) -> GpuAnswer<T> {
    failing(
        index,
        AccessError::SourceLost(format!("nvmlX of GPU {index}")),
    )
}

/// A machine whose GPUs gave these answers.
pub fn seen<T>(answers: impl IntoIterator<Item = T>) -> GpuReadings<T> {
    let answers = answers.into_iter().enumerate();
    GpuReadings {
        product: PRODUCT.to_owned(),
        gpus: answers
            .map(|(index, answer)| GpuAnswer {
                gpu: gpu(index),
                answer: Ok(answer),
            })
            .collect(),
    }
}

/// The same, with a further GPU that does not answer.
pub fn and<T>(mut seen: GpuReadings<T>, error: AccessError) -> GpuReadings<T> {
    seen.gpus.push(failing(seen.gpus.len(), error));
    seen
}

/// The only state of a report.
///
/// # Panics
/// When there is not one.
#[expect(clippy::panic, reason = "for tests")]
pub fn only_state(report: &Report) -> &HealthState {
    match report.states.as_slice() {
        [state] => state,
        states => panic!("{} states", states.len()),
    }
}

/// The document of the only state; empty without one.
pub fn data(report: &Report) -> &str {
    let mut info = only_state(report).extra_info.iter();
    info.find(|(key, _)| key == "data")
        .map_or("", |(_, text)| text)
}

/// Actions and their description.
pub fn actions(report: &Report) -> (&str, &[RepairAction]) {
    only_state(report)
        .suggested_actions
        .as_ref()
        .map_or(("", &[]), |actions| {
            (&actions.description, &actions.repair_actions)
        })
}

/// Metrics as `(name, UUID, value)`.
pub fn metrics(report: &Report) -> Vec<(&str, &str, f64)> {
    let uuid = |labels: &'_ [(String, String)]| labels.iter().position(|(name, _)| name == "uuid");
    report
        .metrics
        .iter()
        .map(|metric| {
            let at = uuid(&metric.labels);
            let label = at.and_then(|at| metric.labels.get(at));
            (
                metric.name.as_str(),
                label.map_or("", |(_, value)| value),
                metric.value,
            )
        })
        .collect()
}
