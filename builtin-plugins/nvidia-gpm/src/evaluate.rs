//! From readings to a report.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Failure, Gpu, GpuReadings, state, trouble, with_data};
use gpud_builtin_shared::time::rfc3339;
use gpud_sdk::{AccessError, CheckContext, HealthState, Report};
use serde::Serialize;

/// Time between the two samples of a reading.
pub const PERIOD_MS: u32 = 5_000;
/// The same, as it is shown.
const PERIOD: &str = "5s";

/// NVML's ids (`nvmlGpmMetricId_t`), names, and what they are. All are percent.
pub const METRICS: [(u32, &str, &str); 9] = [
    (
        3,
        "accelerator_nvidia_gpm_gpu_sm_occupancy_percent",
        "Warps resident on the SMs, in percent of the most that could be, by GPU",
    ),
    (
        4,
        "accelerator_nvidia_gpm_gpu_int_util_percent",
        "Time in which the SMs did integer operations, in percent, by GPU",
    ),
    (
        5,
        "accelerator_nvidia_gpm_gpu_any_tensor_util_percent",
        "Time in which the SMs did any tensor operations, in percent, by GPU",
    ),
    (
        6,
        "accelerator_nvidia_gpm_gpu_dfma_tensor_util_percent",
        "Time in which the SMs did DFMA tensor operations, in percent, by GPU",
    ),
    (
        7,
        "accelerator_nvidia_gpm_gpu_hmma_tensor_util_percent",
        "Time in which the SMs did HMMA tensor operations, in percent, by GPU",
    ),
    (
        9,
        "accelerator_nvidia_gpm_gpu_imma_tensor_util_percent",
        "Time in which the SMs did IMMA tensor operations, in percent, by GPU",
    ),
    (
        11,
        "accelerator_nvidia_gpm_gpu_fp64_util_percent",
        "Time in which the SMs did FP64 operations other than tensor ones, in percent, by GPU",
    ),
    (
        12,
        "accelerator_nvidia_gpm_gpu_fp32_util_percent",
        "Time in which the SMs did FP32 operations other than tensor ones, in percent, by GPU",
    ),
    (
        13,
        "accelerator_nvidia_gpm_gpu_fp16_util_percent",
        "Time in which the SMs did FP16 operations other than tensor ones, in percent, by GPU",
    ),
];

/// The question that comes first, as the host names it.
const SUPPORT: &str = "nvmlGpmQueryDeviceSupport";

/// Values by NVML's metric id.
pub type Values = BTreeMap<u32, f64>;

#[derive(Serialize)]
struct Document<'a> {
    gpm_metrics: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    time: &'a str,
    uuid: &'a str,
    sample_duration: &'static str,
    metrics: &'a Values,
}

/// An answer of the host; `None` where GPM is not supported. Values that are no numbers are left out.
///
/// # Errors
/// All other errors.
pub fn understand(answer: Result<Values, AccessError>) -> Result<Option<Values>, AccessError> {
    match answer {
        Ok(mut values) => {
            values.retain(|_, value| value.is_finite());
            Ok(Some(values))
        }
        Err(AccessError::NotSupported(_)) => Ok(None),
        // A driver that is older than GPM's present form.
        Err(AccessError::Other(text)) if text.ends_with("version mismatch") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether it was asked in vain if there is GPM, or for its metrics.
fn getting(failure: &Failure) -> &'static str {
    match &failure.error {
        AccessError::Other(text) if text.starts_with(SUPPORT) => "error getting GPM supported",
        _ => "error getting GPM metrics",
    }
}

/// The report. GPUs without GPM among others are left out; no value is wrong by itself.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Option<Values>>) -> Report {
    let findings = trouble::findings_by(&seen.gpus, getting);
    let read: Vec<(&Gpu, &Values)> = seen
        .answered()
        .filter_map(|(gpu, values)| Some((gpu, values.as_ref()?)))
        .collect();
    if findings.is_empty() && read.is_empty() {
        return Report::of(HealthState::healthy(context, "GPM not supported"));
    }
    let healthy = format!(
        "all {} GPU(s) were checked, no GPM issue found",
        seen.gpus.len()
    );
    let mut state = state(context, healthy, findings);
    let time = rfc3339(context.now / 1000);
    let row = |(uuid, metrics)| Row {
        time: &time,
        uuid,
        sample_duration: PERIOD,
        metrics,
    };
    if !read.is_empty() {
        let rows = read
            .iter()
            .map(|(gpu, values)| (gpu.uuid.as_str(), *values));
        let gpm_metrics = rows.map(row).collect();
        state = with_data(state, &Document { gpm_metrics });
    }
    let mut report = Report::of(state);
    for (gpu, values) in read {
        let labels = [("uuid", gpu.uuid.as_str())];
        for (id, name, _) in METRICS {
            if let Some(value) = values.get(&id) {
                report.add_gauge(name, &labels, *value);
            }
        }
    }
    report
}

#[cfg(test)]
mod tests;
