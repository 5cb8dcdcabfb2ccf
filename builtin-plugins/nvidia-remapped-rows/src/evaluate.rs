//! From readings to a report.

use gpud_builtin_nvidia_common::product::{self, MemoryErrors};
use gpud_builtin_nvidia_common::{Gpu, GpuFinding, GpuReadings, state, text, trouble, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde::{Deserialize, Serialize};

/// Names and help of the metrics.
pub const METRICS: [(&str, &str); 5] = [
    (
        "accelerator_nvidia_remapped_rows_due_to_correctable_errors",
        "Rows remapped after corrected errors (number), by GPU",
    ),
    (
        "accelerator_nvidia_remapped_rows_due_to_uncorrectable_errors",
        "Rows remapped after uncorrectable errors (number), by GPU",
    ),
    (
        "accelerator_nvidia_remapped_rows_remapping_pending",
        "1 when a remapping waits for a reset of the GPU, by GPU",
    ),
    (
        "accelerator_nvidia_remapped_rows_remapping_failed",
        "1 when a row could not be remapped, by GPU",
    ),
    (
        "accelerator_nvidia_remapped_rows_banks_without_spares",
        "Banks of memory without a spare row left (number), by GPU; where rows were remapped",
    ),
];
/// The reading behind everything.
pub const READING: &str = "nvmlDeviceGetRemappedRows";

/// The answers of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Was not asked: its kind cannot remap rows.
    NotOfThisProduct,
    /// Its kind can, but it does not tell.
    Unsupported {
        /// It is in MIG mode, and with instances NVML does not tell.
        mig: bool,
    },
    /// Its rows.
    Rows(Rows),
}

/// Remapped rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rows {
    /// Remapped after corrected errors.
    pub correctable: u32,
    /// Remapped after uncorrectable errors.
    pub uncorrectable: u32,
    /// A remapping waits for a reset.
    pub pending: bool,
    /// A row could not be remapped.
    pub failed: bool,
    /// Spare rows that are left; known where rows were remapped.
    #[serde(skip)]
    pub banks: Option<Banks>,
}

/// Banks of memory by how many spare rows they have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Banks {
    /// All of them.
    pub max: u32,
    /// Many.
    pub high: u32,
    /// Some.
    pub partial: u32,
    /// Few.
    pub low: u32,
    /// None.
    pub none: u32,
}

#[derive(Serialize)]
struct Document<'a> {
    product_name: String,
    memory_error_management_capabilities: MemoryErrors,
    remapped_rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    remapped_due_to_correctable_errors: u32,
    remapped_due_to_uncorrectable_errors: u32,
    remapping_pending: bool,
    remapping_failed: bool,
    supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    banks_by_spare_rows: Option<Banks>,
}

fn row<'a>((gpu, reading): (&'a Gpu, &Reading)) -> Option<Row<'a>> {
    let (rows, supported) = match reading {
        Reading::NotOfThisProduct => return None,
        Reading::Unsupported { .. } => (Rows::default(), false),
        Reading::Rows(rows) => (*rows, true),
    };
    Some(Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        remapped_due_to_correctable_errors: rows.correctable,
        remapped_due_to_uncorrectable_errors: rows.uncorrectable,
        remapping_pending: rows.pending,
        remapping_failed: rows.failed,
        supported,
        banks_by_spare_rows: rows.banks,
    })
}

/// The GPUs that reported their rows.
fn known_rows(seen: &GpuReadings<Reading>) -> impl Iterator<Item = (&Gpu, Rows)> {
    seen.answered().filter_map(|(gpu, reading)| match reading {
        Reading::Rows(rows) => Some((gpu, *rows)),
        _ => None,
    })
}

/// What is to be said of one GPU: a failure first. Only the flag counts: how many uncorrectable errors are too many is the
/// hardware's to say.
fn issues(gpu: &Gpu, rows: Rows) -> impl Iterator<Item = String> {
    let name = match gpu.bus_id.as_str() {
        "" => &gpu.uuid,
        bus_id => bus_id,
    };
    let failed = rows.failed.then(|| {
        format!(
            "{name} qualifies for RMA (row remapping failed, remapped due to {} uncorrectable error(s))",
            rows.uncorrectable
        )
    });
    let pending = rows
        .pending
        .then(|| format!("{name} needs reset (detected pending row remapping)"));
    failed.into_iter().chain(pending)
}

fn finding(seen: &GpuReadings<Reading>) -> Option<GpuFinding> {
    let concerned: Vec<(&Gpu, Rows)> = known_rows(seen)
        .filter(|(_, rows)| rows.failed || rows.pending)
        .collect();
    if concerned.is_empty() {
        return None;
    }
    let items = concerned.iter().flat_map(|(gpu, rows)| issues(gpu, *rows));
    let finding = GpuFinding::unhealthy(text::join(items, ", "));
    let finding = match concerned.iter().any(|(_, rows)| rows.failed) {
        true => finding.action(
            RepairAction::HardwareInspection,
            "row remapping failure requires hardware inspection",
        ),
        false => finding.action(
            RepairAction::RebootSystem,
            "row remapping pending requires GPU reset or system reboot",
        ),
    };
    let gpus = concerned.iter().map(|(gpu, _)| (*gpu).clone());
    Some(finding.about(gpus).read_from(READING))
}

fn healthy(seen: &GpuReadings<Reading>) -> String {
    let none_can = seen
        .answered()
        .all(|(_, reading)| matches!(reading, Reading::NotOfThisProduct));
    if none_can && !seen.gpus.is_empty() {
        let product = product::sanitized(&seen.product);
        return format!("\"{product}\" does not support row remapping");
    }
    let readable = known_rows(seen).count();
    let mut reason = format!("{readable} devices support remapped rows and found no issue");
    let silent = |wanted: bool| {
        seen.answered()
            .filter(
                |(_, reading)| matches!(reading, Reading::Unsupported { mig } if *mig == wanted),
            )
            .count()
    };
    for (count, why) in [
        (silent(true), "do not report it while in MIG mode"),
        (silent(false), "do not report it"),
    ] {
        if count > 0 {
            reason.push_str(&format!(", {count} {why}"));
        }
    }
    reason
}

/// The report. It follows what the GPUs say at once; events report their history ([`crate::changes`]).
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>) -> Report {
    let mut findings: Vec<GpuFinding> = finding(seen).into_iter().collect();
    findings.extend(trouble::findings(&seen.gpus, "error getting remapped rows"));
    let mut state = state(context, healthy(seen), findings);
    let remapped_rows: Vec<_> = seen.answered().filter_map(row).collect();
    if !remapped_rows.is_empty() {
        let document = Document {
            product_name: product::sanitized(&seen.product),
            memory_error_management_capabilities: product::memory_errors(&seen.product),
            remapped_rows,
        };
        state = with_data(state, &document);
    }
    let mut report = Report::of(state);
    for (gpu, rows) in known_rows(seen) {
        let labels = [("uuid", gpu.uuid.as_str())];
        let values = [
            Some(rows.correctable),
            Some(rows.uncorrectable),
            Some(rows.pending.into()),
            Some(rows.failed.into()),
            rows.banks.map(|banks| banks.none),
        ];
        for ((name, _), value) in METRICS.iter().zip(values) {
            if let Some(value) = value {
                report.add_gauge(name, &labels, value.into());
            }
        }
    }
    report
}

#[cfg(test)]
mod tests;
