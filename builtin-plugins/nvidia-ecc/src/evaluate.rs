//! From readings to a report.

use gpud_builtin_nvidia_common::{
    Failure, Gpu, GpuFinding, GpuReadings, state, text, trouble, with_data,
};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde::Serialize;

use crate::reading::{Counters, Pair, Reading, SRAM_STATUS, TRYING_MODE};
use crate::sram;
use crate::uncorrected::Uncorrected;

/// What to do about too many errors of on-chip memory.
const INSPECT: &str =
    "on-chip memory errors passed the driver's threshold: have the board inspected";

/// Names and help of the metrics: corrected and uncorrected, over the board's life, then since the last reset.
pub const METRICS: [(&str, &str); 4] = [
    (
        "accelerator_nvidia_ecc_aggregate_total_corrected",
        "Corrected ECC errors over the life of the board (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_aggregate_total_uncorrected",
        "Uncorrected ECC errors over the life of the board (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_volatile_total_corrected",
        "Corrected ECC errors since the last reset of the GPU (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_volatile_total_uncorrected",
        "Uncorrected ECC errors since the last reset of the GPU (number), by GPU",
    ),
];

#[derive(Serialize)]
struct Document<'a> {
    ecc_modes: Vec<ModeRow<'a>>,
    ecc_errors: Vec<ErrorsRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sram_errors: Vec<sram::Row<'a>>,
}

#[derive(Serialize)]
struct ModeRow<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    enabled_current: bool,
    enabled_pending: bool,
    supported: bool,
}

#[derive(Serialize)]
struct ErrorsRow<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    aggregate: Block,
    volatile: Block,
    supported: bool,
}

#[derive(Serialize)]
struct Block {
    total: PairData,
    l1_cache: PairData,
    l2_cache: PairData,
    dram: PairData,
    sram: PairData,
    gpu_device_memory: PairData,
    gpu_texture_memory: PairData,
    shared_memory: PairData,
    gpu_register_file: PairData,
}

#[derive(Clone, Copy, Serialize)]
struct PairData {
    corrected: u64,
    uncorrected: u64,
}

impl From<Pair> for PairData {
    fn from(pair: Pair) -> Self {
        Self {
            corrected: pair.corrected.unwrap_or(0),
            uncorrected: pair.uncorrected.unwrap_or(0),
        }
    }
}

impl From<Counters> for Block {
    fn from(counters: Counters) -> Self {
        let [l1, l2, dram, sram, texture, shared, register_file] =
            counters.places.map(PairData::from);
        Self {
            total: counters.total.into(),
            l1_cache: l1,
            l2_cache: l2,
            dram,
            sram,
            gpu_device_memory: dram,
            gpu_texture_memory: texture,
            shared_memory: shared,
            gpu_register_file: register_file,
        }
    }
}

fn mode_row<'a>((gpu, reading): (&'a Gpu, &Reading)) -> ModeRow<'a> {
    ModeRow {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        enabled_current: reading.mode.is_some_and(|mode| mode.current),
        enabled_pending: reading.mode.is_some_and(|mode| mode.pending),
        supported: reading.mode.is_some(),
    }
}

fn errors_row<'a>((gpu, reading): (&'a Gpu, &Reading)) -> ErrorsRow<'a> {
    ErrorsRow {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        aggregate: reading.aggregate.into(),
        volatile: reading.volatile.into(),
        supported: reading.counts(),
    }
}

/// GPUs with more uncorrected errors since their last reset than an operator allows.
fn above(seen: &GpuReadings<Reading>, threshold: u64) -> Option<GpuFinding> {
    let found: Vec<(&Gpu, u64)> = seen
        .answered()
        .filter_map(|(gpu, reading)| Some((gpu, reading.uncorrected_since_reset()?)))
        .filter(|(_, errors)| threshold > 0 && *errors >= threshold)
        .collect();
    if found.is_empty() {
        return None;
    }
    let items = found.iter().map(|(gpu, errors)| {
        format!(
            "{} has {errors} uncorrected ECC error(s) since its last reset (threshold {threshold})",
            gpu.label()
        )
    });
    let finding = GpuFinding::degraded(text::join(items, ", "));
    let gpus = found.iter().map(|(gpu, _)| (*gpu).clone());
    Some(finding.about(gpus).read_from("nvmlDeviceGetTotalEccErrors"))
}

/// GPUs whose on-chip memory has had more uncorrectable errors than the driver finds acceptable: NVIDIA's criterion for a
/// board that has to be serviced.
fn exceeded(seen: &GpuReadings<Reading>) -> Option<GpuFinding> {
    let found: Vec<(&Gpu, &Reading)> = seen
        .answered()
        .filter(|(_, reading)| reading.sram.is_some_and(|sram| sram.threshold_exceeded))
        .collect();
    if found.is_empty() {
        return None;
    }
    let items = found
        .iter()
        .map(|(gpu, reading)| sram::exceeded(gpu, &Uncorrected::of(reading)));
    let finding = GpuFinding::unhealthy(text::join(items, ", "))
        .action(RepairAction::HardwareInspection, INSPECT);
    let gpus = found.iter().map(|(gpu, _)| (*gpu).clone());
    Some(finding.about(gpus).read_from(SRAM_STATUS))
}

/// The reason of a state without findings. It names what uncorrected errors there were: each of them ended a program.
fn well(seen: &GpuReadings<Reading>) -> String {
    let errors = seen.answered().filter_map(|(gpu, reading)| {
        let counted = Uncorrected::of(reading);
        let total = reading.aggregate.total.uncorrected.unwrap_or(0);
        let total = total.max(counted.sum());
        let since_reset = reading.uncorrected_since_reset().unwrap_or(0);
        if total == 0 && since_reset == 0 {
            return None;
        }
        let label = gpu.label();
        let places = match counted.words("").as_str() {
            "" => String::new(),
            words => format!(": {words}"),
        };
        Some(format!(
            "{label} has {total} uncorrected ECC error(s) over the life of the board, {since_reset} since its last reset{places}"
        ))
    });
    let errors = text::join(errors, "; ");
    let count = seen.gpus.len();
    match errors.as_str() {
        "" => format!("all {count} GPU(s) were checked, no ECC issue found"),
        errors => format!("all {count} GPU(s) were checked; {errors}"),
    }
}

fn getting(failure: &Failure) -> &'static str {
    match failure.trying == TRYING_MODE {
        true => "error getting ECC mode",
        false => "error getting ECC errors",
    }
}

/// The report. Errors change the verdict where those of on-chip memory passed the driver's threshold, and from `threshold`
/// uncorrected ones since the last reset on, if that is not 0: what the hardware could not deal with by itself, an Xid or the
/// remapping of rows tells.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>, threshold: u64) -> Report {
    let mut findings = trouble::findings_by(&seen.gpus, getting);
    findings.extend(exceeded(seen));
    findings.extend(above(seen, threshold));
    let mut state = state(context, well(seen), findings);
    if seen.answered().next().is_some() {
        let document = Document {
            ecc_modes: seen.answered().map(mode_row).collect(),
            ecc_errors: seen.answered().map(errors_row).collect(),
            sram_errors: sram::rows(seen),
        };
        state = with_data(state, &document);
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        let (aggregate, volatile) = (reading.aggregate.total, reading.volatile.total);
        let values = [
            aggregate.corrected,
            aggregate.uncorrected,
            volatile.corrected,
            volatile.uncorrected,
        ];
        for ((name, _), value) in METRICS.iter().zip(values) {
            report.add_gauge(name, &labels, value.unwrap_or(0) as f64);
        }
        if let Some(status) = &reading.sram {
            sram::add_metrics(&mut report, &gpu.uuid, status);
        }
    }
    report
}

#[cfg(test)]
mod tests;
