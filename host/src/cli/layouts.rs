//! Which tables `gpud scan` shows of which component, and their columns: those that GPUd has. Whatever else a checker
//! tells stands in `--json`. Components without a layout are shown as their document is built (`details.rs`).

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// As it is; a list with commas.
    Plain,
    /// Bytes, as `1.5 GiB`.
    Bytes,
    /// Milliwatts, as watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Seconds, as `1d 2h`.
    Seconds,
    /// How many items a list has; none without a list.
    Count,
    /// How many items of a list have this key set to true, of how many.
    Set(&'static str),
    /// Texts of a list, without the UUID of the row that GPUd puts in front of each.
    OwnTexts,
}

/// A column, or a row of a table of names and values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Heading.
    pub title: &'static str,
    /// Where the value stands, names joined by dots.
    pub path: &'static str,
    /// How it is written.
    pub show: Show,
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// Names and values.
    Pairs(&'static [Column]),
    /// A row for each object of the list at this path.
    Rows(&'static str, &'static [Column]),
    /// A row for each object of the lists under the second name in the values of the map under the first.
    RowsOfMap(&'static str, &'static str, &'static [Column]),
    /// A row for each object of the lists under the second name in the rows of the list under the first; names that
    /// begin with `^` are those of the outer row.
    RowsOfRows(&'static str, &'static str, &'static [Column]),
}

// Macros, since what a function gives does not live long enough to be borrowed in a table.
macro_rules! column {
    ($title:literal, $path:literal, $show:expr $(,)?) => {
        Column {
            title: $title,
            path: $path,
            show: $show,
        }
    };
}

macro_rules! plain {
    ($title:literal, $path:literal $(,)?) => {
        column!($title, $path, Show::Plain)
    };
}

const UUID: Column = plain!("GPU UUID", "uuid");
const BUS_ID: Column = plain!("GPU Bus ID", "bus_id");
const SUPPORTED: Column = plain!("Supported", "supported");

/// Space of filesystems.
const SPACE: &[Column] = &[
    plain!("Mount Point", "mount_point"),
    plain!("Device", "device"),
    plain!("Type", "fstype"),
    column!("Total", "usage.total_bytes", Show::Bytes),
    column!("Free", "usage.free_bytes", Show::Bytes),
    column!("Used", "usage.used_bytes", Show::Bytes),
];

/// The tables of a component; none for those that have no layout of their own.
pub(super) fn of(component: &str) -> &'static [Part] {
    let gpu = component.strip_prefix("accelerator-nvidia-");
    gpu.map_or_else(|| of_host(component), of_gpus)
}

fn of_gpus(component: &str) -> &'static [Part] {
    match component {
        "clock-speed" => &[Part::Rows(
            "clock_speeds",
            &[
                UUID,
                BUS_ID,
                plain!("Graphics MHz", "graphics_mhz"),
                plain!("Memory MHz", "memory_mhz"),
                plain!("Graphics Supported", "clock_graphics_supported"),
                plain!("Memory Supported", "clock_memory_supported"),
            ],
        )],
        "ecc" => &[
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
        ],
        // GPUd has a line for each metric of each GPU. Keys: NVML's `nvmlGpmMetricId_t`; all in percent.
        "gpm" => &[Part::Rows(
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
        )],
        "gpu-counts" => &[Part::Pairs(&[
            plain!("Product Name", "product_name"),
            plain!("Count lspci", "count_lspci"),
            plain!("Count NVML", "count_nvml"),
        ])],
        "hw-slowdown" => &[Part::Rows(
            "clock_events",
            &[
                UUID,
                plain!("HW Slowdown", "hw_slowdown"),
                plain!("HW Slowdown Thermal", "hw_thermal_slowdown"),
                plain!("HW Slowdown Power Brake", "hw_slowdown_power_brake"),
                column!("Reasons", "reasons", Show::OwnTexts),
            ],
        )],
        "memory" => &[Part::Rows(
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
        )],
        "nvlink" => &[
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
        ],
        "persistence-mode" => &[Part::Rows(
            "persistence_modes",
            &[
                UUID,
                BUS_ID,
                plain!("Persistence Mode Enabled", "enabled"),
                plain!("Persistence Mode Supported", "supported"),
            ],
        )],
        "power" => &[Part::Rows(
            "powers",
            &[
                UUID,
                BUS_ID,
                column!("Current usage", "usage_milli_watts", Show::Watts),
                column!("Enforced limit", "enforced_limit_milli_watts", Show::Watts),
                plain!("Used %", "used_percent"),
            ],
        )],
        "processes" => &[Part::Rows(
            "processes",
            &[
                UUID,
                BUS_ID,
                column!("Processes", "running_processes", Show::Count),
            ],
        )],
        "remapped-rows" => &[Part::Rows(
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
        )],
        "temperature" => &[Part::Rows(
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
        )],
        "utilization" => &[Part::Rows(
            "utilizations",
            &[
                UUID,
                BUS_ID,
                plain!("Used %", "gpu_used_percent"),
                plain!("Memory Utilization", "memory_used_percent"),
                SUPPORTED,
            ],
        )],
        _ => &[],
    }
}

fn of_host(component: &str) -> &'static [Part] {
    match component {
        "containerd" => &[Part::RowsOfRows(
            "pods",
            "containers",
            &[
                plain!("Namespace", "^namespace"),
                plain!("Pod", "^name"),
                plain!("Container", "name"),
                plain!("State", "state"),
            ],
        )],
        "cpu" => &[Part::Pairs(&[
            plain!("Logical Cores", "cores.logical"),
            plain!("Used %", "usage.used_percent"),
            plain!("Avg Load 1-min", "usage.load_avg_1min"),
            plain!("Avg Load 5-min", "usage.load_avg_5min"),
            plain!("Avg Load 15-min", "usage.load_avg_15min"),
        ])],
        "disk" => &[
            Part::Rows("ext_partitions", SPACE),
            Part::Rows("nfs_partitions", SPACE),
            Part::RowsOfMap(
                "mount_target_usages",
                "filesystems",
                &[
                    plain!("Mount Point", "mounted_point"),
                    plain!("Sources", "sources"),
                    plain!("Total", "size_humanized"),
                    plain!("Free", "available_humanized"),
                    plain!("Used", "used_humanized"),
                    plain!("Used %", "used_percent_humanized"),
                ],
            ),
        ],
        "docker" => &[Part::Rows(
            "containers",
            &[
                plain!("ID", "id"),
                plain!("Name", "name"),
                plain!("Image", "image"),
                plain!("State", "state"),
            ],
        )],
        "fuse" => &[Part::Rows(
            "connection_infos",
            &[
                plain!("Device", "device_name"),
                plain!("FS Type", "fstype"),
                plain!("Congested %", "congested_percent"),
                plain!("Max Background %", "max_background_percent"),
            ],
        )],
        "memory" => &[Part::Pairs(&[
            column!("Total", "total_bytes", Show::Bytes),
            column!("Used", "used_bytes", Show::Bytes),
            plain!("Used %", "used_percent"),
            column!("Available", "available_bytes", Show::Bytes),
            column!("BPF JIT Buffer", "bpf_jit_buffer_bytes", Show::Bytes),
        ])],
        "network-latency" => &[Part::Rows(
            "egress_latencies",
            &[
                plain!("Region", "region_name"),
                plain!("Latency", "latency"),
            ],
        )],
        "os" => &[Part::Pairs(&[
            plain!("VM Type", "virtualization_environment.type"),
            plain!("Kernel Arch", "kernel.arch"),
            plain!("Kernel Version", "kernel.version"),
            plain!("Platform Name", "platform.name"),
            plain!("Platform Version", "platform.version"),
            column!("Uptime", "uptimes.seconds", Show::Seconds),
            plain!("Zombie Processes", "zombie_processes"),
            plain!("Blocked Processes", "blocked_processes.current_count"),
            plain!("Running PIDs", "file_descriptors.running_pids"),
            plain!("File Descriptors Used", "file_descriptors.usage"),
            plain!("File Descriptors Limit", "file_descriptors.limit"),
            plain!("File Descriptors Used %", "file_descriptors.used_percent"),
        ])],
        _ => &[],
    }
}
