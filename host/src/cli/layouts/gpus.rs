//! Layouts of the components of NVIDIA GPUs, by the last part of their names.

use super::{BUS_ID, Column, Part, SUPPORTED, Show, UUID};

const CLOCK_SPEED: &[Part] = &[Part::Rows(
    "clock_speeds",
    &[
        UUID,
        BUS_ID,
        plain!("Graphics MHz", "graphics_mhz"),
        plain!("Memory MHz", "memory_mhz"),
        plain!("Graphics Supported", "clock_graphics_supported"),
        plain!("Memory Supported", "clock_memory_supported"),
    ],
)];

const ECC: &[Part] = &[
    Part::Rows(
        "ecc_modes",
        &[
            UUID,
            BUS_ID,
            plain!("Enabled Current", "enabled_current"),
            plain!("Enabled Pending", "enabled_pending"),
            SUPPORTED,
        ],
    ),
    Part::Rows(
        "ecc_errors",
        &[
            UUID,
            BUS_ID,
            plain!("Aggregate Corrected", "aggregate.total.corrected"),
            plain!("Aggregate Uncorrected", "aggregate.total.uncorrected"),
            plain!("Volatile Corrected", "volatile.total.corrected"),
            plain!("Volatile Uncorrected", "volatile.total.uncorrected"),
        ],
    ),
];

/// GPUd has a line for each metric of each GPU. Keys: NVML's `nvmlGpmMetricId_t`; all in percent.
const GPM: &[Part] = &[Part::Rows(
    "gpm_metrics",
    &[
        UUID,
        plain!("SM Occupancy", "metrics.3"),
        plain!("Int", "metrics.4"),
        plain!("Any Tensor", "metrics.5"),
        plain!("DFMA Tensor", "metrics.6"),
        plain!("HMMA Tensor", "metrics.7"),
        plain!("IMMA Tensor", "metrics.9"),
        plain!("FP64", "metrics.11"),
        plain!("FP32", "metrics.12"),
        plain!("FP16", "metrics.13"),
    ],
)];

const GPU_COUNTS: &[Part] = &[Part::Pairs(&[
    plain!("Product Name", "product_name"),
    plain!("Count lspci", "count_lspci"),
    plain!("Count NVML", "count_nvml"),
])];

const HW_SLOWDOWN: &[Part] = &[Part::Rows(
    "clock_events",
    &[
        UUID,
        plain!("HW Slowdown", "hw_slowdown"),
        plain!("HW Slowdown Thermal", "hw_thermal_slowdown"),
        plain!("HW Slowdown Power Brake", "hw_slowdown_power_brake"),
        column!("Reasons", "reasons", Show::OwnTexts),
    ],
)];

const MEMORY: &[Part] = &[Part::Rows(
    "memories",
    &[
        UUID,
        column!("Total", "total_bytes", Show::Bytes),
        column!("Reserved", "reserved_bytes", Show::Bytes),
        column!("Used", "used_bytes", Show::Bytes),
        column!("Free", "free_bytes", Show::Bytes),
        plain!("Used %", "used_percent"),
        plain!("Unified", "is_unified_memory"),
    ],
)];

const NVLINK: &[Part] = &[
    Part::Rows(
        "nvlinks",
        &[
            UUID,
            BUS_ID,
            column!("NVLink Enabled", "states", Show::Set("feature_enabled")),
            plain!("NVLink Supported", "supported"),
        ],
    ),
    Part::Pairs(&[
        plain!("GPU pairs probed", "peer_nvlink_probe_pair_count"),
        plain!("NVLink P2P OK", "peer_nvlink_ok_pair_count"),
        plain!("Status", "peer_nvlink_observed_status_codes"),
    ]),
];

const PERSISTENCE_MODE: &[Part] = &[Part::Rows(
    "persistence_modes",
    &[
        UUID,
        BUS_ID,
        plain!("Persistence Mode Enabled", "enabled"),
        plain!("Persistence Mode Supported", "supported"),
    ],
)];

const POWER: &[Part] = &[Part::Rows(
    "powers",
    &[
        UUID,
        BUS_ID,
        column!("Current usage", "usage_milli_watts", Show::Watts),
        column!("Enforced limit", "enforced_limit_milli_watts", Show::Watts),
        plain!("Used %", "used_percent"),
    ],
)];

const PROCESSES: &[Part] = &[Part::Rows(
    "processes",
    &[
        UUID,
        BUS_ID,
        column!("Processes", "running_processes", Show::Count),
    ],
)];

const REMAPPED_ROWS: &[Part] = &[Part::Rows(
    "remapped_rows",
    &[
        UUID,
        BUS_ID,
        plain!(
            "Remapped due to correctable errors",
            "remapped_due_to_correctable_errors",
        ),
        plain!(
            "Remapped due to uncorrectable errors",
            "remapped_due_to_uncorrectable_errors",
        ),
        plain!("Remapping pending", "remapping_pending"),
        plain!("Remapping failed", "remapping_failed"),
    ],
)];

const TEMPERATURE: &[Part] = &[Part::Rows(
    "temperatures",
    &[
        UUID,
        BUS_ID,
        column!("GPU temp", "current_celsius_gpu_core", Show::Celsius),
        column!("HBM temp", "current_celsius_hbm", Show::Celsius),
        column!(
            "HBM temp threshold",
            "threshold_celsius_mem_max",
            Show::Celsius,
        ),
        plain!("HBM used %", "used_percent_mem_max"),
        column!(
            "Margin to slowdown",
            "threshold_celsius_slowdown_margin",
            Show::Celsius,
        ),
    ],
)];

const UTILIZATION: &[Part] = &[Part::Rows(
    "utilizations",
    &[
        UUID,
        BUS_ID,
        plain!("Used %", "gpu_used_percent"),
        plain!("Memory Utilization", "memory_used_percent"),
        SUPPORTED,
    ],
)];

/// The tables of a component; none for those that have no layout of their own.
pub fn of(component: &str) -> &'static [Part] {
    match component {
        "clock-speed" => CLOCK_SPEED,
        "ecc" => ECC,
        "gpm" => GPM,
        "gpu-counts" => GPU_COUNTS,
        "hw-slowdown" => HW_SLOWDOWN,
        "memory" => MEMORY,
        "nvlink" => NVLINK,
        "persistence-mode" => PERSISTENCE_MODE,
        "power" => POWER,
        "processes" => PROCESSES,
        "remapped-rows" => REMAPPED_ROWS,
        "temperature" => TEMPERATURE,
        "utilization" => UTILIZATION,
        _ => &[],
    }
}
