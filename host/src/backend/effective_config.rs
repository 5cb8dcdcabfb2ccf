//! The document of `/admin/config`.

use serde::Serialize;

/// The effective configuration, as `/admin/config` shows it; keys of the reference.
#[derive(Debug, Clone, Serialize)]
pub struct EffectiveConfig {
    /// Always `v1`.
    pub api_version: &'static str,
    /// The address of the API.
    pub address: String,
    /// The daemon's data folder.
    pub data_dir: String,
    /// The database.
    pub state: String,
    /// How long metric samples are kept, as a Go duration.
    pub metrics_retention_period: String,
    /// How long events are kept, as a Go duration.
    pub events_retention_period: String,
    /// Time between compactions; `0s` is never.
    pub compact_period: String,
    /// Profiling routes.
    pub pprof: bool,
    /// Self-update, which gpud does not have.
    pub enable_auto_update: bool,
    /// -1: it never ends for an update.
    pub auto_update_exit_code: i32,
    /// Command line for bash in place of findmnt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub findmnt_commands: String,
    /// Command line for bash in place of lsblk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lsblk_commands: String,
    /// Command line for bash in place of df.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub blockdev_usage_commands: String,
    /// The folder below which NFS volumes are.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nfs_host_root: String,
    /// Command line for bash that succeeds while containerd's service is active.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub containerd_service_active_commands: String,
    /// A file that asks for an update; none.
    pub version_file: &'static str,
    /// The sources that replace the machine's own.
    pub nvidia_tool_overwrites: ToolOverwrites,
    /// File of script plugins.
    pub plugin_specs_file: String,
    /// File of exports. What it holds is not shown: addresses may be secrets.
    pub exports_file: String,
    /// The selection of components; `null` when unset.
    pub components: Option<Vec<String>>,
    /// Faults that are pretended.
    pub failure_injector: FailureInjector,
    /// Settings from a control plane, which gpud does not have.
    pub skip_session_update_config: bool,
    /// How it would be spoken to.
    pub session_protocol: &'static str,
    /// Nothing is kept on disk.
    pub db_in_memory: bool,
}

/// Part of [`EffectiveConfig`].
#[derive(Debug, Clone, Default, Serialize)]
pub struct ToolOverwrites {
    /// Instead of `/sys/class/infiniband`.
    pub infiniband_class_root_dir: String,
    /// InfiniBand devices that are not looked at.
    pub excluded_infiniband_devices: Option<Vec<String>>,
}

/// Part of [`EffectiveConfig`]: faults that are pretended. The keys are the names of GPUd's Go fields, which have no
/// others. UUIDs are GPUs'.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FailureInjector {
    /// Row remapping is pending.
    #[serde(rename = "GPUUUIDsWithRowRemappingPending")]
    pub row_remapping_pending: Vec<String>,
    /// Row remapping failed.
    #[serde(rename = "GPUUUIDsWithRowRemappingFailed")]
    pub row_remapping_failed: Vec<String>,
    /// Clocks are slowed down by hardware.
    #[serde(rename = "GPUUUIDsWithHWSlowdown")]
    pub hw_slowdown: Vec<String>,
    /// Because of heat.
    #[serde(rename = "GPUUUIDsWithHWSlowdownThermal")]
    pub hw_slowdown_thermal: Vec<String>,
    /// Because of power.
    #[serde(rename = "GPUUUIDsWithHWSlowdownPowerBrake")]
    pub hw_slowdown_power_brake: Vec<String>,
    /// The GPU is lost.
    #[serde(rename = "GPUUUIDsWithGPULost")]
    pub gpu_lost: Vec<String>,
    /// It wants a reset.
    #[serde(rename = "GPUUUIDsWithGPURequiresReset")]
    pub gpu_requires_reset: Vec<String>,
    /// Its fabric is unhealthy.
    #[serde(rename = "GPUUUIDsWithFabricStateHealthSummaryUnhealthy")]
    pub fabric_unhealthy: Vec<String>,
    /// Instead of the product's name.
    #[serde(rename = "GPUProductNameOverride")]
    pub product_name: String,
    /// The GPUs cannot be listed.
    #[serde(rename = "NVMLDeviceGetDevicesError")]
    pub enumeration_fails: bool,
    /// There is no containerd socket.
    #[serde(rename = "ContainerdSocketMissing")]
    pub containerd_socket_missing: bool,
}
