//! Shows errors of on-chip memory (SRAM): words, rows of the document, and metrics.

use gpud_builtin_nvidia_common::{Gpu, GpuReadings};
use gpud_sdk::Report;
use gpud_sdk::nvml::SramEccStatus;
use serde::Serialize;

use crate::reading::Reading;
use crate::uncorrected::Uncorrected;

/// Has the unit as a second label.
const BY_UNIT: &str = "accelerator_nvidia_ecc_aggregate_sram_uncorrected";

/// Names and help of the metrics.
pub const METRICS: [(&str, &str); 8] = [
    (
        "accelerator_nvidia_ecc_aggregate_sram_parity_uncorrected",
        "Uncorrectable parity errors of on-chip memory over the life of the board (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_aggregate_sram_sec_ded_uncorrected",
        "Uncorrectable SEC-DED errors of on-chip memory over the life of the board (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_aggregate_sram_corrected",
        "Corrected errors of on-chip memory over the life of the board (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_volatile_sram_parity_uncorrected",
        "Uncorrectable parity errors of on-chip memory since the last reset of the GPU (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_volatile_sram_sec_ded_uncorrected",
        "Uncorrectable SEC-DED errors of on-chip memory since the last reset of the GPU (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_volatile_sram_corrected",
        "Corrected errors of on-chip memory since the last reset of the GPU (number), by GPU",
    ),
    (
        "accelerator_nvidia_ecc_sram_threshold_exceeded",
        "1 when uncorrectable errors of on-chip memory passed the driver's threshold, by GPU",
    ),
    (
        BY_UNIT,
        "Uncorrectable errors of on-chip memory over the life of the board (number), by GPU and unit (l2, sm, pcie, microcontroller, other)",
    ),
];

/// Says of a GPU that the errors of its on-chip memory passed the driver's threshold, and where they were.
pub fn exceeded(gpu: &Gpu, errors: &Uncorrected) -> String {
    let label = gpu.label();
    let places = match errors.on_chip().words("").as_str() {
        "" => String::new(),
        words => format!(" ({words})"),
    };
    format!("{label}: uncorrectable errors of on-chip memory passed the driver's threshold{places}")
}

/// A GPU in the document.
#[derive(Serialize)]
pub struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    threshold_exceeded: bool,
    aggregate_parity: u64,
    aggregate_sec_ded: u64,
    aggregate_corrected: u64,
    volatile_parity: u64,
    volatile_sec_ded: u64,
    volatile_corrected: u64,
    l2: u64,
    sm: u64,
    pcie: u64,
    microcontroller: u64,
    other: u64,
}

/// Returns the rows of the GPUs that count errors of on-chip memory.
pub fn rows(seen: &GpuReadings<Reading>) -> Vec<Row<'_>> {
    let counting = seen.answered().filter_map(|(gpu, reading)| {
        let status = reading.sram?;
        Some(Row {
            uuid: &gpu.uuid,
            bus_id: &gpu.bus_id,
            threshold_exceeded: status.threshold_exceeded,
            aggregate_parity: status.aggregate_uncorrectable_parity,
            aggregate_sec_ded: status.aggregate_uncorrectable_sec_ded,
            aggregate_corrected: status.aggregate_correctable,
            volatile_parity: status.volatile_uncorrectable_parity,
            volatile_sec_ded: status.volatile_uncorrectable_sec_ded,
            volatile_corrected: status.volatile_correctable,
            l2: status.aggregate_uncorrectable_l2,
            sm: status.aggregate_uncorrectable_sm,
            pcie: status.aggregate_uncorrectable_pcie,
            microcontroller: status.aggregate_uncorrectable_microcontroller,
            other: status.aggregate_uncorrectable_other,
        })
    });
    counting.collect()
}

/// Adds the metrics of a GPU.
pub fn add_metrics(report: &mut Report, uuid: &str, status: &SramEccStatus) {
    let values = [
        status.aggregate_uncorrectable_parity,
        status.aggregate_uncorrectable_sec_ded,
        status.aggregate_correctable,
        status.volatile_uncorrectable_parity,
        status.volatile_uncorrectable_sec_ded,
        status.volatile_correctable,
        u64::from(status.threshold_exceeded),
    ];
    for ((name, _), value) in METRICS.iter().zip(values) {
        report.add_gauge(name, &[("uuid", uuid)], value as f64);
    }
    for (unit, value) in [
        ("l2", status.aggregate_uncorrectable_l2),
        ("sm", status.aggregate_uncorrectable_sm),
        ("pcie", status.aggregate_uncorrectable_pcie),
        (
            "microcontroller",
            status.aggregate_uncorrectable_microcontroller,
        ),
        ("other", status.aggregate_uncorrectable_other),
    ] {
        let labels = [("uuid", uuid), ("unit", unit)];
        report.add_gauge(BY_UNIT, &labels, value as f64);
    }
}
