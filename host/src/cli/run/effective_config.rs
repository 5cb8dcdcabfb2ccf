//! The configuration in effect, as `/admin/config` shows it.

use std::time::Duration;

use super::options::RunOptions;
use crate::{
    backend::{EffectiveConfig, FailureInjector, ToolOverwrites},
    cli::checks::GpuFaults,
    store::STATE_FILE,
    wire::GoDuration,
};

/// Returns what `/admin/config` shows. Keys and their order are GPUd's.
pub fn effective_config(options: &RunOptions) -> EffectiveConfig {
    let go = |duration: Duration| {
        GoDuration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)).to_string()
    };
    let infiniband = &options.checks.infiniband;
    let commands = options.checks.commands.clone();
    let text = |command: Option<String>| command.unwrap_or_default();
    EffectiveConfig {
        api_version: "v1",
        address: options.listen_address.clone(),
        data_dir: options.data_dir.display().to_string(),
        state: options.data_dir.join(STATE_FILE).display().to_string(),
        metrics_retention_period: go(options.metrics_retention),
        events_retention_period: go(options.events_retention),
        compact_period: go(Duration::ZERO),
        pprof: options.pprof,
        enable_auto_update: false,
        auto_update_exit_code: -1,
        findmnt_commands: text(commands.findmnt),
        lsblk_commands: text(commands.lsblk),
        blockdev_usage_commands: text(commands.blockdev_usage),
        nfs_host_root: options
            .checks
            .nfs_host_root
            .as_ref()
            .map(|root| root.display().to_string())
            .unwrap_or_default(),
        containerd_service_active_commands: text(commands.containerd_service_active),
        version_file: "",
        nvidia_tool_overwrites: ToolOverwrites {
            infiniband_class_root_dir: infiniband
                .class_root
                .as_ref()
                .map(|folder| folder.display().to_string())
                .unwrap_or_default(),
            excluded_infiniband_devices: (!infiniband.exclude_devices.is_empty())
                .then(|| infiniband.exclude_devices.clone()),
        },
        plugin_specs_file: options
            .plugin_specs_file
            .as_ref()
            .map(|file| file.display().to_string())
            .unwrap_or_default(),
        exports_file: options
            .exports_file
            .as_ref()
            .map(|file| file.display().to_string())
            .unwrap_or_default(),
        components: options.components.words(),
        failure_injector: failure_injector(options.checks.faults.clone()),
        skip_session_update_config: false,
        session_protocol: "",
        db_in_memory: options.db_in_memory,
    }
}

fn failure_injector(faults: GpuFaults) -> FailureInjector {
    FailureInjector {
        row_remapping_pending: faults.row_remapping_pending,
        row_remapping_failed: faults.row_remapping_failed,
        hw_slowdown: faults.hw_slowdown,
        hw_slowdown_thermal: faults.hw_slowdown_thermal,
        hw_slowdown_power_brake: faults.hw_slowdown_power_brake,
        gpu_lost: faults.gpu_lost,
        gpu_requires_reset: faults.gpu_requires_reset,
        fabric_unhealthy: faults.fabric_unhealthy,
        product_name: faults.product_name.unwrap_or_default(),
        enumeration_fails: faults.enumeration_fails,
        containerd_socket_missing: faults.containerd_socket_missing,
    }
}
