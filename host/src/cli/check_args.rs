//! The flags that configure checks: of `scan` and `run`, and of `run` alone.

use std::path::PathBuf;

use clap::Args;

use super::checks::XidCatalog;
use crate::wire::GoDuration;

/// Flags of `scan` and `run`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// How long events are kept, and how far back checks look
    #[arg(long, value_name = "DURATION", default_value = "336h0m0s")]
    pub events_retention_period: GoDuration,
    /// Number of GPUs that this machine should have; 0 is not checked
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub gpu_count: i64,
    /// JSON {"at_least_ports":N,"at_least_rate":GBITS}
    #[arg(long, value_name = "JSON")]
    pub infiniband_expected_port_states: Option<String>,
    /// InfiniBand devices to leave out, comma-separated
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    pub infiniband_exclude_devices: String,
    /// JSON {"at_least_gpus_with_all_links_feature_enabled":N}
    #[arg(long, value_name = "JSON")]
    pub nvlink_expected_link_states: Option<String>,
    /// JSON array of {"volume_path":"/…","dir_name":"…","file_contents":"…"}
    #[arg(long, value_name = "JSON")]
    pub nfs_checker_configs: Option<String>,
    /// Reboots that may be advised for an Xid before an inspection is
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        allow_negative_numbers = true
    )]
    pub xid_reboot_threshold: i64,
    /// Whose view of Xids and SXids judges: gpud or nvidia
    #[arg(
        long,
        value_name = "VIEW",
        default_value = "gpud",
        hide_possible_values = true
    )]
    pub xid_catalog: XidCatalog,
    /// How far back Xids count [default: the events retention]
    #[arg(long, value_name = "DURATION")]
    pub xid_lookback_period: Option<GoDuration>,
    /// How far back SXids count [default: the events retention]
    #[arg(long, value_name = "DURATION")]
    pub sxid_lookback_period: Option<GoDuration>,
    /// Regular expressions for processes that must not hang in the kernel, comma-separated; empty is not checked
    /// [default: ^nvidia where there is an NVIDIA GPU]
    #[arg(long, value_name = "LIST")]
    pub os_blocked_process_name_regexes: Option<String>,
    /// Checks in a row that find a process hanging before it counts [default: 5; scan: 1 where there is an NVIDIA GPU]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub os_blocked_process_persistence_threshold: Option<i64>,
    /// Degrees Celsius below the slowdown temperature from which on a GPU is too warm; 0 is not checked
    #[arg(
        long,
        value_name = "DEGREES",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub threshold_celsius_slowdown_margin: i64,
    /// NVIDIA's management library, libnvidia-ml.so.1 [default: GPUD_NVML_LIBRARY_PATH, or where drivers put it]
    #[arg(long, value_name = "FILE")]
    pub nvml_library: Option<PathBuf>,
    /// In a container, absolute folder at which the machine's / is mounted [default: of GPUD_HOST_ROOT]
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "",
        hide_default_value = true
    )]
    pub host_root: String,
    #[command(flatten)]
    pub site: SiteArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
}

/// The site's own settings, of `scan`, `run` and `explain`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct SiteArgs {
    /// YAML file with configuration of components, by name [default: /etc/default/gpud.components.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub component_configs_file: Option<PathBuf>,
}

/// Flags that pretend something, for tests.
#[derive(Debug, Args)]
pub struct FaultArgs {
    #[arg(long, hide = true)]
    pub infiniband_class_root_dir: Option<String>,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_row_remapping_pending: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_row_remapping_failed: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_hw_slowdown: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_hw_slowdown_thermal: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_hw_slowdown_power_brake: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_gpu_lost: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_gpu_requires_reset: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_uuids_with_fabric_state_health_summary_unhealthy: String,
    #[arg(long, hide = true, default_value = "")]
    pub gpu_product_name: String,
    #[arg(long, hide = true)]
    pub containerd_socket_missing: bool,
}

/// Flags of `run` alone.
#[derive(Debug, Default, Args)]
pub struct RunCheckArgs {
    /// Command that replaces findmnt, such as `nsenter --target 1 --mount -- findmnt`
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub findmnt_commands: String,
    /// Command that replaces lsblk
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub lsblk_commands: String,
    /// Command that replaces df
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub blockdev_usage_commands: String,
    /// Absolute folder below which NFS volumes are looked for, such as /proc/1/root
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "",
        hide_default_value = true
    )]
    pub nfs_host_root: String,
    /// Command that exits with 0 while containerd's service is active
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub containerd_service_active_commands: String,
    /// After this time without a drop an InfiniBand port that flapped counts as good again; 0 is never
    #[arg(long, value_name = "DURATION", default_value = "0")]
    pub infiniband_flap_auto_clear_window: GoDuration,
    /// JSON `{"overrides":{"<xid>":{"rebootThreshold":N}}}`
    #[arg(
        long,
        value_name = "JSON",
        default_value = "",
        hide_default_value = true
    )]
    pub xid_thresholds: String,
    /// JSON `{"overrides":{"<sxid>":{"rebootThreshold":N}}}`
    #[arg(
        long,
        value_name = "JSON",
        default_value = "",
        hide_default_value = true
    )]
    pub sxid_thresholds: String,
    #[arg(long, hide = true)]
    pub nvml_device_get_devices_error: bool,
}
