//! The operator's settings for the checks, validated: plain values for the components.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use clap::ValueEnum;
use regex::Regex;

use crate::node::nvml;

use super::{
    check_args::{CheckArgs, FaultArgs, RunCheckArgs},
    json_flags::{self, ExpectedPorts, NfsGroup},
    options::{EVENTS_RETENTION, at_least_a_nanosecond},
};

/// Settings of the checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckOptions {
    /// GPUs that this machine should have; `None` is not checked.
    pub gpu_count: Option<u32>,
    /// InfiniBand.
    pub infiniband: InfinibandOptions,
    /// GPUs whose NVLinks must all be up; `None` as not given.
    pub nvlink_gpus_with_all_links: Option<u32>,
    /// NFS volumes to try.
    pub nfs_groups: Vec<NfsGroup>,
    /// Absolute folder below which these volumes are; `None` is `/`.
    pub nfs_host_root: Option<PathBuf>,
    /// Xids.
    pub xid: XidOptions,
    /// SXids; its `reboot_threshold` is that of the Xids.
    pub sxid: XidOptions,
    /// Whose view of Xids and SXids judges.
    pub xid_catalog: XidCatalog,
    /// GPU product of a saved log; `None` as not given.
    pub log_product: Option<String>,
    /// Processes that hang in the kernel.
    pub blocked_processes: BlockedProcesses,
    /// Degrees Celsius below the slowdown temperature from which on a GPU is too warm; 0 is not checked.
    pub slowdown_margin_celsius: u32,
    /// Commands that replace programs.
    pub commands: CommandOverrides,
    /// NVIDIA's management library; `None` as not given.
    pub nvml_library: Option<PathBuf>,
    /// Absolute folder at which the machine's `/` is mounted; `None` as not given.
    pub host_root: Option<PathBuf>,
    /// File with the site's configuration of components; `None` is the default one, if it is there.
    pub site_file: Option<PathBuf>,
    /// The faults to pretend.
    pub faults: GpuFaults,
}

impl CheckOptions {
    /// Which driver to ask about GPUs: what the flag or else the environment names, with the faults laid over it.
    pub fn nvml(&self) -> nvml::Options {
        let uuids = |list: &[String]| list.iter().cloned().collect();
        let faults = &self.faults;
        let environment = nvml::Options::from_env();
        nvml::Options {
            library: self.nvml_library.clone().or(environment.library),
            injected: nvml::Injected {
                lost: uuids(&faults.gpu_lost),
                needs_reset: uuids(&faults.gpu_requires_reset),
                fabric_unhealthy: uuids(&faults.fabric_unhealthy),
                rows_pending: uuids(&faults.row_remapping_pending),
                rows_failed: uuids(&faults.row_remapping_failed),
                hw_slowdown: uuids(&faults.hw_slowdown),
                hw_thermal: uuids(&faults.hw_slowdown_thermal),
                hw_power_brake: uuids(&faults.hw_slowdown_power_brake),
                product_name: faults.product_name.clone(),
                enumeration_fails: faults.enumeration_fails,
                ..environment.injected
            },
            ..environment
        }
    }
}

/// Settings for InfiniBand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InfinibandOptions {
    /// The expected ports and rate; `None` if not given.
    pub expected_ports: Option<ExpectedPorts>,
    /// Devices to leave out.
    pub exclude_devices: Vec<String>,
    /// Instead of `/sys/class/infiniband`.
    pub class_root: Option<PathBuf>,
    /// After this time without a drop a port that flapped counts as good; `None` is never.
    pub flap_auto_clear: Option<Duration>,
}

/// Whose view of Xids and SXids judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum XidCatalog {
    /// GPUd's, and NVIDIA's where GPUd's is silent or weak.
    #[default]
    Gpud,
    /// NVIDIA's.
    Nvidia,
}

/// Settings for Xids or SXids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XidOptions {
    /// Reboots that may be advised before an inspection is.
    pub reboot_threshold: u32,
    /// The same for single codes.
    pub thresholds: BTreeMap<u32, u32>,
    /// How far back they count.
    pub lookback: Duration,
}

impl Default for XidOptions {
    /// As without any flag.
    fn default() -> Self {
        Self {
            reboot_threshold: 2,
            thresholds: BTreeMap::new(),
            lookback: EVENTS_RETENTION,
        }
    }
}

/// Settings for processes in uninterruptible sleep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockedProcesses {
    /// Regular expressions for names, each valid; `None` as not given (`^nvidia` where there is an NVIDIA GPU), empty is
    /// not checked.
    pub name_regexes: Option<Vec<String>>,
    /// Checks in a row before it counts; `None` as not given (5, or 1 for a scan of a machine with an NVIDIA GPU).
    pub persistence: Option<u32>,
}

/// Command lines for bash that replace programs; `None` runs the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOverrides {
    /// Instead of `findmnt`.
    pub findmnt: Option<String>,
    /// Instead of `lsblk`.
    pub lsblk: Option<String>,
    /// Instead of `df`.
    pub blockdev_usage: Option<String>,
    /// Exits with 0 while containerd's service is active.
    pub containerd_service_active: Option<String>,
}

/// Faults to pretend, for tests. UUIDs are GPUs'.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuFaults {
    /// Row remapping is pending.
    pub row_remapping_pending: Vec<String>,
    /// Row remapping failed.
    pub row_remapping_failed: Vec<String>,
    /// Clocks are slowed down by hardware.
    pub hw_slowdown: Vec<String>,
    /// Because of heat.
    pub hw_slowdown_thermal: Vec<String>,
    /// Because of power.
    pub hw_slowdown_power_brake: Vec<String>,
    /// The GPU is lost.
    pub gpu_lost: Vec<String>,
    /// It wants a reset.
    pub gpu_requires_reset: Vec<String>,
    /// Its fabric is unhealthy.
    pub fabric_unhealthy: Vec<String>,
    /// Instead of the product's name.
    pub product_name: Option<String>,
    /// The GPUs cannot be listed.
    pub enumeration_fails: bool,
    /// There is no containerd socket.
    pub containerd_socket_missing: bool,
}

/// Checks the flags and adds notes on those that were put right.
///
/// # Errors
/// The problem with a value, naming the flag.
pub fn check_options(
    args: CheckArgs,
    run: RunCheckArgs,
    notes: &mut Vec<String>,
) -> Result<CheckOptions, String> {
    let events_retention =
        at_least_a_nanosecond(args.events_retention_period).unwrap_or(EVENTS_RETENTION);
    let reboot_threshold = match u32::try_from(args.xid_reboot_threshold) {
        Ok(threshold) if threshold > 0 => threshold,
        _ => {
            notes.push(format!(
                "--xid-reboot-threshold {} ignored: it must be at least 1",
                args.xid_reboot_threshold
            ));
            2
        }
    };
    let xid = |kind, thresholds: &str, lookback: Option<_>| -> Result<XidOptions, String> {
        Ok(XidOptions {
            reboot_threshold,
            thresholds: match thresholds {
                "" => BTreeMap::new(),
                text => json_flags::thresholds(kind, text)?,
            },
            lookback: lookback
                .and_then(at_least_a_nanosecond)
                .unwrap_or(events_retention),
        })
    };
    let given = |value: Option<String>| value.filter(|text| !text.is_empty());
    Ok(CheckOptions {
        gpu_count: positive(args.gpu_count),
        infiniband: InfinibandOptions {
            expected_ports: given(args.infiniband_expected_port_states)
                .map(|text| json_flags::expected_ports("infiniband-expected-port-states", &text))
                .transpose()?,
            exclude_devices: list(&args.infiniband_exclude_devices),
            class_root: given(args.faults.infiniband_class_root_dir.clone()).map(PathBuf::from),
            flap_auto_clear: at_least_a_nanosecond(run.infiniband_flap_auto_clear_window),
        },
        nvlink_gpus_with_all_links: given(args.nvlink_expected_link_states)
            .map(|text| json_flags::expected_links("nvlink-expected-link-states", &text))
            .transpose()?,
        nfs_groups: given(args.nfs_checker_configs)
            .map(|text| json_flags::nfs_groups("nfs-checker-configs", &text))
            .transpose()?
            .unwrap_or_default(),
        nfs_host_root: folder("nfs-host-root", run.nfs_host_root)?,
        xid: xid("xid", &run.xid_thresholds, args.xid_lookback_period)?,
        sxid: xid("sxid", &run.sxid_thresholds, args.sxid_lookback_period)?,
        xid_catalog: args.xid_catalog,
        log_product: None,
        blocked_processes: BlockedProcesses {
            name_regexes: args
                .os_blocked_process_name_regexes
                .map(|text| regexes(&text))
                .transpose()?,
            persistence: args
                .os_blocked_process_persistence_threshold
                .map(|checks| positive(checks).unwrap_or(5)),
        },
        slowdown_margin_celsius: positive(args.threshold_celsius_slowdown_margin).unwrap_or(0),
        commands: CommandOverrides {
            findmnt: command(run.findmnt_commands),
            lsblk: command(run.lsblk_commands),
            blockdev_usage: command(run.blockdev_usage_commands),
            containerd_service_active: command(run.containerd_service_active_commands),
        },
        nvml_library: args
            .nvml_library
            .filter(|file| !file.as_os_str().is_empty()),
        host_root: folder("host-root", args.host_root)?,
        site_file: args.site.component_configs_file,
        faults: faults(args.faults, run.nvml_device_get_devices_error),
    })
}

fn faults(args: FaultArgs, enumeration_fails: bool) -> GpuFaults {
    GpuFaults {
        row_remapping_pending: list(&args.gpu_uuids_with_row_remapping_pending),
        row_remapping_failed: list(&args.gpu_uuids_with_row_remapping_failed),
        hw_slowdown: list(&args.gpu_uuids_with_hw_slowdown),
        hw_slowdown_thermal: list(&args.gpu_uuids_with_hw_slowdown_thermal),
        hw_slowdown_power_brake: list(&args.gpu_uuids_with_hw_slowdown_power_brake),
        gpu_lost: list(&args.gpu_uuids_with_gpu_lost),
        gpu_requires_reset: list(&args.gpu_uuids_with_gpu_requires_reset),
        fabric_unhealthy: list(&args.gpu_uuids_with_fabric_state_health_summary_unhealthy),
        product_name: command(args.gpu_product_name),
        enumeration_fails,
        containerd_socket_missing: args.containerd_socket_missing,
    }
}

/// The items between commas, without blanks around them and without empty ones.
fn list(text: &str) -> Vec<String> {
    let items = text.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

fn regexes(text: &str) -> Result<Vec<String>, String> {
    let regexes = list(text);
    for regex in &regexes {
        Regex::new(regex)
            .map_err(|error| format!("invalid blocked process name regex {regex:?}: {error}"))?;
    }
    Ok(regexes)
}

/// An absolute folder; `None` for an empty name.
fn folder(flag: &str, folder: String) -> Result<Option<PathBuf>, String> {
    let folder = PathBuf::from(folder);
    if folder.as_os_str().is_empty() {
        Ok(None)
    } else if folder.is_absolute() {
        Ok(Some(folder))
    } else {
        Err(format!(
            "invalid value for --{flag}: {} is not an absolute path",
            folder.display()
        ))
    }
}

/// `None` for 0 and below.
fn positive(number: i64) -> Option<u32> {
    (number > 0).then(|| u32::try_from(number).unwrap_or(u32::MAX))
}

fn command(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_for_gpus_reach_the_driver() {
        let checks = CheckOptions {
            nvml_library: Some("/opt/libnvidia-ml.so.1".into()),
            faults: GpuFaults {
                gpu_lost: vec!["GPU-1".to_owned(), "GPU-2".to_owned()],
                product_name: Some("NVIDIA A10".to_owned()),
                enumeration_fails: true,
                ..GpuFaults::default()
            },
            ..CheckOptions::default()
        };
        let driver = checks.nvml();
        assert_eq!(driver.library, Some("/opt/libnvidia-ml.so.1".into()));
        assert_eq!(driver.injected.lost.len(), 2);
        assert_eq!(driver.injected.product_name.as_deref(), Some("NVIDIA A10"));
        assert!(driver.injected.enumeration_fails);
        assert!(driver.injected.rows_failed.is_empty());
    }
}
