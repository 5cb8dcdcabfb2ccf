//! From readings to a report.

use gpud_builtin_nvidia_common::text::{percent, percent_rounded, percent_text};
use gpud_builtin_nvidia_common::{Gpu, GpuFinding, GpuReadings, state, text, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

/// Names and help of the metrics, in the order of the readings.
pub const METRICS: [(&str, &str); 7] = [
    (
        "accelerator_nvidia_temperature_current_celsius",
        "Temperature of the GPU, in degrees Celsius, by GPU",
    ),
    (
        "accelerator_nvidia_temperature_current_hbm_celsius",
        "Temperature of the memory, in degrees Celsius, by GPU; 0 when not supported",
    ),
    (
        "accelerator_nvidia_temperature_slowdown_threshold_celsius",
        "Temperature from which on the GPU slows down, in degrees Celsius, by GPU",
    ),
    (
        "accelerator_nvidia_temperature_mem_max_threshold_celsius",
        "Highest temperature of the memory for running, in degrees Celsius, by GPU",
    ),
    (
        "accelerator_nvidia_temperature_slowdown_used_percent",
        "Temperature of the GPU, in percent of the slowdown threshold, by GPU",
    ),
    (
        "accelerator_nvidia_temperature_mem_max_used_percent",
        "Temperature of the memory, in percent of its highest for running, by GPU",
    ),
    (
        "accelerator_nvidia_temperature_margin_celsius",
        "Degrees Celsius left until slowdown, by GPU; 0 when not supported",
    ),
];

/// Degrees Celsius; `None` where the GPU cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Of the GPU.
    pub core: Option<u32>,
    /// Why [`Self::core`] is not there, if it should be.
    pub core_error: Option<String>,
    /// Of the memory.
    pub memory: Option<u32>,
    /// Left until slowdown.
    pub margin: Option<i32>,
    /// At which the GPU shuts down.
    pub shutdown: Option<u32>,
    /// At which it slows down.
    pub slowdown: Option<u32>,
    /// Highest for the memory.
    pub memory_max: Option<u32>,
    /// Highest for the GPU.
    pub gpu_max: Option<u32>,
}

impl Reading {
    fn core_percent(&self, threshold: Option<u32>) -> Option<f64> {
        percent(self.core.unwrap_or(0).into(), threshold?.into())
    }

    fn memory_percent(&self) -> Option<f64> {
        percent(self.memory?.into(), self.memory_max?.into())
    }

    /// The values of [`METRICS`].
    fn values(&self) -> [f64; 7] {
        [
            self.core.unwrap_or(0).into(),
            self.memory.unwrap_or(0).into(),
            self.slowdown.unwrap_or(0).into(),
            self.memory_max.unwrap_or(0).into(),
            percent_rounded(self.core_percent(self.slowdown)),
            self.memory_percent().unwrap_or(0.0),
            self.margin.unwrap_or(0).into(),
        ]
    }
}

#[derive(Serialize)]
struct Document<'a> {
    temperatures: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    current_celsius_gpu_core: u32,
    current_celsius_hbm: u32,
    hbm_temperature_supported: bool,
    threshold_celsius_slowdown_margin: i32,
    margin_temperature_supported: bool,
    threshold_celsius_shutdown: u32,
    threshold_celsius_slowdown: u32,
    threshold_celsius_mem_max: u32,
    threshold_celsius_gpu_max: u32,
    used_percent_shutdown: String,
    used_percent_slowdown: String,
    used_percent_mem_max: String,
    used_percent_gpu_max: String,
}

fn row<'a>((gpu, reading): (&'a Gpu, &Reading)) -> Row<'a> {
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        current_celsius_gpu_core: reading.core.unwrap_or(0),
        current_celsius_hbm: reading.memory.unwrap_or(0),
        hbm_temperature_supported: reading.memory.is_some(),
        threshold_celsius_slowdown_margin: reading.margin.unwrap_or(0),
        margin_temperature_supported: reading.margin.is_some(),
        threshold_celsius_shutdown: reading.shutdown.unwrap_or(0),
        threshold_celsius_slowdown: reading.slowdown.unwrap_or(0),
        threshold_celsius_mem_max: reading.memory_max.unwrap_or(0),
        threshold_celsius_gpu_max: reading.gpu_max.unwrap_or(0),
        used_percent_shutdown: percent_text(reading.core_percent(reading.shutdown)),
        used_percent_slowdown: percent_text(reading.core_percent(reading.slowdown)),
        used_percent_mem_max: percent_text(reading.memory_percent()),
        used_percent_gpu_max: percent_text(reading.core_percent(reading.gpu_max)),
    }
}

/// What is too warm about a GPU, as words, if anything.
type Judge = fn(&Gpu, &Reading, u64) -> Option<String>;

/// A margin of 0 or less is not believed: GPUs that do not measure it say so.
fn margin(gpu: &Gpu, reading: &Reading, configured: u64) -> Option<String> {
    let left = u64::try_from(reading.margin?).ok()?;
    let has_threshold = reading.slowdown.is_some_and(|slowdown| slowdown > 0);
    (has_threshold && configured > 0 && left > 0 && left <= configured).then(|| {
        format!(
            "{} has only {left} °C margin left to slowdown (threshold {configured} °C)",
            gpu.uuid
        )
    })
}

fn core(gpu: &Gpu, reading: &Reading, _: u64) -> Option<String> {
    let (current, most) = (reading.core?, reading.gpu_max?);
    (most > 0 && current > most).then(|| {
        format!(
            "{} current temperature is {current} °C exceeding the threshold {most} °C",
            gpu.uuid
        )
    })
}

fn memory(gpu: &Gpu, reading: &Reading, _: u64) -> Option<String> {
    let (current, most) = (reading.memory?, reading.memory_max?);
    (most > 0 && current > most).then(|| {
        format!(
            "{} HBM temperature is {current} °C exceeding the threshold {most} °C",
            gpu.uuid
        )
    })
}

const JUDGES: [(&str, Judge, &str); 3] = [
    (
        "margin threshold exceeded",
        margin,
        "nvmlDeviceGetMarginTemperature",
    ),
    (
        "GPU temperature anomalies detected",
        core,
        "nvmlDeviceGetTemperature",
    ),
    (
        "HBM temperature anomalies detected",
        memory,
        "nvmlDeviceGetTemperature",
    ),
];

fn too_warm(seen: &GpuReadings<Reading>, configured: u64) -> Vec<GpuFinding> {
    let finding = |(words, judge, reading): (&str, Judge, &'static str)| {
        let found: Vec<(&Gpu, String)> = seen
            .answered()
            .filter_map(|(gpu, reading)| Some((gpu, judge(gpu, reading, configured)?)))
            .collect();
        if found.is_empty() {
            return None;
        }
        let items = text::join(found.iter().map(|(_, item)| item), ", ");
        let finding = GpuFinding::degraded(format!("{words}: {items}"));
        let gpus = found.into_iter().map(|(gpu, _)| gpu.clone());
        Some(finding.about(gpus).read_from(reading))
    };
    JUDGES.into_iter().filter_map(finding).collect()
}

/// GPUs of which only the temperature cannot be read.
fn unread(seen: &GpuReadings<Reading>) -> Option<GpuFinding> {
    let unread = || {
        let answered = seen.answered();
        answered.filter_map(|(gpu, reading)| Some((gpu, reading.core_error.as_ref()?)))
    };
    unread().next()?;
    let finding =
        GpuFinding::degraded("error getting temperature").read_from("nvmlDeviceGetTemperature");
    let errors = text::join(unread().map(|(_, error)| error), "; ");
    Some(
        finding
            .error(errors)
            .about(unread().map(|(gpu, _)| gpu.clone())),
    )
}

/// The report. `configured` is the margin to slowdown, in degrees Celsius, from which on a GPU is too warm; 0 means any.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>, configured: u64) -> Report {
    let healthy = format!(
        "all {} GPU(s) were checked, no temperature issue found",
        seen.gpus.len()
    );
    let mut findings = trouble::findings(&seen.gpus, "error getting temperature");
    findings.extend(too_warm(seen, configured));
    findings.extend(unread(seen));
    let mut state = state(context, healthy, findings);
    let temperatures: Vec<_> = seen.answered().map(row).collect();
    if !temperatures.is_empty() {
        state = with_data(state, &Document { temperatures });
    }
    let mut report = Report::of(state);
    let measured = seen
        .answered()
        .filter(|(_, reading)| reading.core_error.is_none());
    for (gpu, reading) in measured {
        let labels = [("uuid", gpu.uuid.as_str())];
        for ((name, _), value) in METRICS.iter().zip(reading.values()) {
            report.add_gauge(name, &labels, value);
        }
    }
    report
}

#[cfg(test)]
mod tests;
