//! Which metric of gpud each name of dcgm-exporter is made from, and in which unit.

/// A metric's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// Goes up and down.
    Gauge,
    /// Only grows, or begins again.
    Counter,
}

/// How a value of gpud becomes one of dcgm-exporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// As it is.
    Same,
    /// As it is, where there is one: 0 is what a component records for a reading that the GPU does not have.
    Measured,
    /// Milliwatts, 0 as for [`Self::Measured`]; watts.
    Power,
    /// Bytes; MiB.
    Memory,
    /// Percent; a ratio.
    Percent,
}

impl Unit {
    /// Returns dcgm-exporter's value, if there is one.
    pub(super) fn convert(self, value: f64) -> Option<f64> {
        match self {
            Self::Measured | Self::Power if value <= 0.0 => None,
            Self::Same | Self::Measured => Some(value),
            Self::Power => Some(value / 1000.0),
            Self::Memory => Some((value / 1_048_576.0).round()),
            Self::Percent => Some(value / 100.0),
        }
    }
}

/// A name of dcgm-exporter, its type and help, and the metric of gpud that it is made from.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
    pub(super) help: &'static str,
    pub(super) source: &'static str,
    pub(super) unit: Unit,
}

const fn gauge(name: &'static str, help: &'static str, source: &'static str, unit: Unit) -> Field {
    Field {
        name,
        kind: FieldKind::Gauge,
        help,
        source,
        unit,
    }
}

const fn counter(name: &'static str, help: &'static str, source: &'static str) -> Field {
    Field {
        name,
        kind: FieldKind::Counter,
        help,
        source,
        unit: Unit::Same,
    }
}

/// All names but that of the last Xid.
pub(super) const FIELDS: [Field; 29] = [
    gauge(
        "DCGM_FI_DEV_SM_CLOCK",
        "Clock of the SMs in MHz",
        "accelerator_nvidia_clock_speed_graphics_mhz",
        Unit::Measured,
    ),
    gauge(
        "DCGM_FI_DEV_MEM_CLOCK",
        "Clock of the memory in MHz",
        "accelerator_nvidia_clock_speed_memory_mhz",
        Unit::Measured,
    ),
    gauge(
        "DCGM_FI_DEV_MEMORY_TEMP",
        "Temperature of the memory in degrees Celsius",
        "accelerator_nvidia_temperature_current_hbm_celsius",
        Unit::Measured,
    ),
    gauge(
        "DCGM_FI_DEV_GPU_TEMP",
        "Temperature of the GPU in degrees Celsius",
        "accelerator_nvidia_temperature_current_celsius",
        Unit::Measured,
    ),
    gauge(
        "DCGM_FI_DEV_POWER_USAGE",
        "Power that the GPU draws in watts",
        "accelerator_nvidia_power_current_usage_milli_watts",
        Unit::Power,
    ),
    gauge(
        "DCGM_FI_DEV_GPU_UTIL",
        "Time in which a kernel ran in percent",
        "accelerator_nvidia_utilization_gpu_util_percent",
        Unit::Same,
    ),
    gauge(
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "Time in which memory was read or written in percent",
        "accelerator_nvidia_utilization_memory_util_percent",
        Unit::Same,
    ),
    gauge(
        "DCGM_FI_DEV_FB_FREE",
        "Free memory of the GPU in MiB",
        "accelerator_nvidia_memory_free_bytes",
        Unit::Memory,
    ),
    gauge(
        "DCGM_FI_DEV_FB_USED",
        "Used memory of the GPU in MiB",
        "accelerator_nvidia_memory_used_bytes",
        Unit::Memory,
    ),
    gauge(
        "DCGM_FI_DEV_FB_RESERVED",
        "Memory of the GPU that the driver keeps in MiB",
        "accelerator_nvidia_memory_reserved_bytes",
        Unit::Memory,
    ),
    counter(
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
        "Corrected memory errors since the driver was loaded",
        "accelerator_nvidia_ecc_volatile_total_corrected",
    ),
    counter(
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "Uncorrected memory errors since the driver was loaded",
        "accelerator_nvidia_ecc_volatile_total_uncorrected",
    ),
    counter(
        "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
        "Corrected memory errors of the GPU's life",
        "accelerator_nvidia_ecc_aggregate_total_corrected",
    ),
    counter(
        "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
        "Uncorrected memory errors of the GPU's life",
        "accelerator_nvidia_ecc_aggregate_total_uncorrected",
    ),
    gauge(
        "DCGM_FI_DEV_THRESHOLD_SRM",
        "1 when errors of on-chip memory passed the driver's threshold",
        "accelerator_nvidia_ecc_sram_threshold_exceeded",
        Unit::Same,
    ),
    counter(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "Rows remapped after uncorrectable errors",
        "accelerator_nvidia_remapped_rows_due_to_uncorrectable_errors",
    ),
    counter(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "Rows remapped after corrected errors",
        "accelerator_nvidia_remapped_rows_due_to_correctable_errors",
    ),
    gauge(
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "1 when a row could not be remapped",
        "accelerator_nvidia_remapped_rows_remapping_failed",
        Unit::Same,
    ),
    gauge(
        "DCGM_FI_DEV_ROW_REMAP_PENDING",
        "1 when a remapping waits for a reset of the GPU",
        "accelerator_nvidia_remapped_rows_remapping_pending",
        Unit::Same,
    ),
    gauge(
        "DCGM_FI_PROF_SM_OCCUPANCY",
        "Warps resident on the SMs as a ratio of the most that could be",
        "accelerator_nvidia_gpm_gpu_sm_occupancy_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "Ratio of time in which tensor operations were done",
        "accelerator_nvidia_gpm_gpu_any_tensor_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE",
        "Ratio of time in which DFMA tensor operations were done",
        "accelerator_nvidia_gpm_gpu_dfma_tensor_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE",
        "Ratio of time in which HMMA tensor operations were done",
        "accelerator_nvidia_gpm_gpu_hmma_tensor_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE",
        "Ratio of time in which IMMA tensor operations were done",
        "accelerator_nvidia_gpm_gpu_imma_tensor_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_FP64_ACTIVE",
        "Ratio of time in which FP64 operations were done",
        "accelerator_nvidia_gpm_gpu_fp64_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_FP32_ACTIVE",
        "Ratio of time in which FP32 operations were done",
        "accelerator_nvidia_gpm_gpu_fp32_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_FP16_ACTIVE",
        "Ratio of time in which FP16 operations were done",
        "accelerator_nvidia_gpm_gpu_fp16_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_PROF_PIPE_INT_ACTIVE",
        "Ratio of time in which integer operations were done",
        "accelerator_nvidia_gpm_gpu_int_util_percent",
        Unit::Percent,
    ),
    gauge(
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
        "Power limit that the driver enforces in watts",
        "accelerator_nvidia_power_enforced_limit_milli_watts",
        Unit::Power,
    ),
];
