//! Layouts of the components that are not about GPUs.

use super::{Column, Part, Show};

/// Space of filesystems.
const SPACE: &[Column] = &[
    plain!("Mount Point", "mount_point"),
    plain!("Device", "device"),
    plain!("Type", "fstype"),
    column!("Total", "usage.total_bytes", Show::Bytes),
    column!("Free", "usage.free_bytes", Show::Bytes),
    column!("Used", "usage.used_bytes", Show::Bytes),
];

const CONTAINERD: &[Part] = &[Part::RowsOfRows(
    "pods",
    "containers",
    &[
        plain!("Namespace", "^namespace"),
        plain!("Pod", "^name"),
        plain!("Container", "name"),
        plain!("State", "state"),
    ],
)];

const CPU: &[Part] = &[Part::Pairs(&[
    plain!("Logical Cores", "cores.logical"),
    plain!("Used %", "usage.used_percent"),
    plain!("Avg Load 1-min", "usage.load_avg_1min"),
    plain!("Avg Load 5-min", "usage.load_avg_5min"),
    plain!("Avg Load 15-min", "usage.load_avg_15min"),
])];

const DISK: &[Part] = &[
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
];

const DOCKER: &[Part] = &[Part::Rows(
    "containers",
    &[
        plain!("ID", "id"),
        plain!("Name", "name"),
        plain!("Image", "image"),
        plain!("State", "state"),
    ],
)];

const FUSE: &[Part] = &[Part::Rows(
    "connection_infos",
    &[
        plain!("Device", "device_name"),
        plain!("FS Type", "fstype"),
        plain!("Congested %", "congested_percent"),
        plain!("Max Background %", "max_background_percent"),
    ],
)];

const MEMORY: &[Part] = &[Part::Pairs(&[
    column!("Total", "total_bytes", Show::Bytes),
    column!("Used", "used_bytes", Show::Bytes),
    plain!("Used %", "used_percent"),
    column!("Available", "available_bytes", Show::Bytes),
    column!("BPF JIT Buffer", "bpf_jit_buffer_bytes", Show::Bytes),
])];

const NETWORK_LATENCY: &[Part] = &[Part::Rows(
    "egress_latencies",
    &[
        plain!("Region", "region_name"),
        plain!("Latency", "latency"),
    ],
)];

const OS: &[Part] = &[Part::Pairs(&[
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
])];

/// The tables of a component; none for those that have no layout of their own.
pub fn of(component: &str) -> &'static [Part] {
    match component {
        "containerd" => CONTAINERD,
        "cpu" => CPU,
        "disk" => DISK,
        "docker" => DOCKER,
        "fuse" => FUSE,
        "memory" => MEMORY,
        "network-latency" => NETWORK_LATENCY,
        "os" => OS,
        _ => &[],
    }
}
