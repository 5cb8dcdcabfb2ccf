//! The verdict: plain inputs in, report out.

use std::collections::BTreeMap;

use gpud_sdk::exec::Output;
use gpud_sdk::{CheckContext, Health, HealthState, Recovery, Report};
use serde::Serialize;

use crate::config::Config;
use crate::counters::Counters;
use crate::failures::{self, Log};
use crate::findmnt::Answer;
use crate::humanize;
use crate::lsblk::BlockDevice;
use crate::mounts::{self, Partition};
use crate::space;

/// Less free space than this (500 MiB) on the root filesystem is too little.
const LOW_SPACE_BYTES: u64 = 500 << 20;
/// Checks in a row after which a source that does not answer is called silent.
const PATIENCE: u32 = 5;
/// Bound of the host on one fact, with some room.
const MAX_DATA_BYTES: usize = 60 * 1024;

/// The answer of lsblk.
#[derive(Debug)]
pub enum Devices {
    /// These.
    Listed(Vec<BlockDevice>),
    /// There is no lsblk.
    NoProgram,
    /// It failed; the text says how.
    Failed(String),
}

/// All that is judged.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// Configuration.
    pub config: &'a Config,
    /// Stored failures and reboots.
    pub log: Log,
    /// Block devices.
    pub devices: Devices,
    /// Local filesystems.
    pub local: Vec<Partition>,
    /// Network filesystems; empty unless configured.
    pub network: Vec<Partition>,
    /// Why df, if it was to be run, gave no result.
    pub df_error: Option<String>,
    /// The filesystems that hold the tracked paths.
    pub targets: BTreeMap<String, Answer>,
}

/// A verdict in the making: the worst health and all reasons.
struct Verdict {
    health: Health,
    reasons: Vec<String>,
    error: Option<String>,
}

/// Judges one reading. `before` is what was counted up to now; the counters to keep come back.
pub fn judge(
    context: &CheckContext,
    mut inputs: Inputs<'_>,
    before: &Counters,
) -> (Report, Counters) {
    let mut verdict = Verdict {
        health: Health::Healthy,
        reasons: Vec::new(),
        error: None,
    };
    let mut after = Counters::default();

    let (events, reboots) = match (inputs.log.events, inputs.log.reboots) {
        (Ok(events), Ok(reboots)) => (events, reboots),
        (Err(error), _) => {
            return (
                unreadable(context, "failed to get recent events", &error.text()),
                before.clone(),
            );
        }
        (_, Err(error)) => {
            return (
                unreadable(context, "failed to get reboot events", &error.text()),
                before.clone(),
            );
        }
    };
    let failed = failures::evaluate(&events, &reboots);
    if !failed.reasons.is_empty() {
        verdict.health = Health::Unhealthy;
        verdict.reasons.push(failed.reasons.join(", "));
    }

    let devices = verdict.devices(inputs.devices, inputs.log.available, before, &mut after);
    mounts::sort(&mut inputs.local);
    mounts::sort(&mut inputs.network);
    verdict.space_command(inputs.df_error, inputs.log.available, before, &mut after);
    verdict.root_space(&inputs.local);
    for shortage in space::shortages(inputs.config, &inputs.local) {
        if shortage.health == Health::Unhealthy {
            verdict.health = Health::Unhealthy;
            verdict.reasons.push(shortage.reason);
        } else {
            verdict.degrade(shortage.reason);
        }
    }
    verdict.silent_mounts(&inputs.network, before, &mut after);

    let reason = if verdict.reasons.is_empty() {
        "ok".to_owned()
    } else {
        verdict.reasons.join("; ")
    };
    let mut state = HealthState::new(context, verdict.health, reason);
    state.error = verdict.error;
    if let Some(action) = failed.action {
        state = state
            .action(action, "")
            .clears_by(Recovery::Reboot)
            .clears_by(Recovery::SetHealthy);
    }
    if !inputs.local.is_empty() && !devices.is_empty() {
        state = state.info(
            "data",
            data(&inputs.local, &inputs.network, devices, &inputs.targets),
        );
    }
    let partitions = inputs.local.iter().chain(&inputs.network);
    let report = with_sizes(Report::of(state), inputs.config, partitions);
    (report, after)
}

/// Adds the sizes of the mount points that are configured.
fn with_sizes<'a>(
    mut report: Report,
    config: &Config,
    partitions: impl Iterator<Item = &'a Partition>,
) -> Report {
    for partition in partitions {
        let Some(usage) = partition
            .usage
            .filter(|_| config.mount_points.contains(&partition.mount_point))
        else {
            continue;
        };
        let labels = [("mount_point", partition.mount_point.as_str())];
        report.add_gauge("disk_total_bytes", &labels, usage.total_bytes as f64);
        report.add_gauge("disk_free_bytes", &labels, usage.free_bytes as f64);
        report.add_gauge("disk_used_bytes", &labels, usage.used_bytes as f64);
    }
    report
}

fn unreadable(context: &CheckContext, reason: &str, error: &str) -> Report {
    Report::of(HealthState::unhealthy(context, reason).error(error))
}

impl Verdict {
    fn degrade(&mut self, reason: String) {
        if self.health == Health::Healthy {
            self.health = Health::Degraded;
        }
        self.reasons.push(reason);
    }

    /// No devices are worth a word, not a verdict (a container sees none). A failing lsblk gets [`PATIENCE`] checks
    /// first, unless nobody counts.
    fn devices(
        &mut self,
        devices: Devices,
        counted: bool,
        before: &Counters,
        after: &mut Counters,
    ) -> Vec<BlockDevice> {
        let (devices, error, patience) = match devices {
            Devices::Listed(devices) => (devices, None, 0),
            Devices::NoProgram => (Vec::new(), Some("lsblk: not found".to_owned()), 0),
            Devices::Failed(error) => {
                after.lsblk = before.lsblk.saturating_add(1).min(PATIENCE);
                (
                    Vec::new(),
                    Some(error),
                    if counted { PATIENCE - after.lsblk } else { 0 },
                )
            }
        };
        if devices.is_empty() && patience == 0 {
            self.reasons.push("no block device found".to_owned());
        }
        self.error = error;
        devices
    }

    /// Space that cannot be read may be gone: that is said, after as many checks as lsblk gets.
    fn space_command(
        &mut self,
        error: Option<String>,
        counted: bool,
        before: &Counters,
        after: &mut Counters,
    ) {
        let Some(error) = error else {
            return;
        };
        after.df = before.df.saturating_add(1).min(PATIENCE);
        if !counted || after.df >= PATIENCE {
            self.degrade(
                "the space of filesystems cannot be read (see --blockdev-usage-commands)"
                    .to_owned(),
            );
        }
        self.error = Some(match self.error.take() {
            Some(other) => format!("{other}; {error}"),
            None => error,
        });
    }

    fn root_space(&mut self, local: &[Partition]) {
        let root = local.iter().find(|partition| partition.mount_point == "/");
        let Some((root, usage)) = root.and_then(|root| Some((root, root.usage?))) else {
            return;
        };
        if usage.total_bytes != 0 && usage.free_bytes < LOW_SPACE_BYTES {
            self.degrade(format!(
                "{} partition /: free space {} is below {} threshold ({} total)",
                root.fstype,
                humanize::bytes(usage.free_bytes),
                humanize::bytes(LOW_SPACE_BYTES),
                humanize::bytes(usage.total_bytes),
            ));
        }
    }

    fn silent_mounts(&mut self, network: &[Partition], before: &Counters, after: &mut Counters) {
        for partition in network.iter().filter(|partition| partition.stat_timed_out) {
            let point = &partition.mount_point;
            let count = before
                .silent
                .get(point)
                .copied()
                .unwrap_or(0)
                .saturating_add(1)
                .min(PATIENCE);
            after.silent.insert(point.clone(), count);
            if count >= PATIENCE {
                self.degrade(format!(
                    "{point} stat timed out (possible connection issue) has failed continuously for {PATIENCE} checks"
                ));
            }
        }
    }
}

/// How a program ended, with the beginning of what it said.
pub fn exit_text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(200).collect();
    match (output.exit_code, output.signal) {
        (Some(0), _) => "output too long".to_owned(),
        (Some(code), _) => format!("exit code {code}: {said}"),
        (None, Some(signal)) => format!("ended by signal {signal}: {said}"),
        (None, None) => format!("ended: {said}"),
    }
}

#[derive(Serialize)]
struct Data<'a> {
    ext_partitions: &'a [Partition],
    nfs_partitions: &'a [Partition],
    block_devices: &'a [BlockDevice],
    device_usages: Option<Vec<DeviceUsage<'a>>>,
    mount_target_usages: Option<&'a BTreeMap<String, Answer>>,
}

#[derive(Serialize)]
struct DeviceUsage<'a> {
    device_name: &'a str,
    mountpoint: &'a str,
    total_bytes: u64,
    free_bytes: u64,
    used_bytes: u64,
}

/// The `data` document, with the longest list cut in half until it fits.
fn data(
    mut local: &[Partition],
    mut network: &[Partition],
    devices: Vec<BlockDevice>,
    targets: &BTreeMap<String, Answer>,
) -> String {
    let mut devices = devices.as_slice();
    loop {
        let usages = device_usages(local, network, devices);
        let document = Data {
            ext_partitions: local,
            nfs_partitions: network,
            block_devices: devices,
            device_usages: (!usages.is_empty()).then_some(usages),
            mount_target_usages: (!targets.is_empty()).then_some(targets),
        };
        let text = serde_json::to_string(&document).unwrap_or_default();
        let longest = local.len().max(network.len()).max(devices.len());
        if text.len() <= MAX_DATA_BYTES || longest <= 1 {
            return text;
        }
        local = local.get(..longest / 2).unwrap_or(local);
        network = network.get(..longest / 2).unwrap_or(network);
        devices = devices.get(..longest / 2).unwrap_or(devices);
    }
}

fn device_usages<'a>(
    local: &'a [Partition],
    network: &'a [Partition],
    devices: &'a [BlockDevice],
) -> Vec<DeviceUsage<'a>> {
    let usage = |name: &'a str, partition: &'a Partition| {
        partition.usage.map(|usage| DeviceUsage {
            device_name: name,
            mountpoint: &partition.mount_point,
            total_bytes: usage.total_bytes,
            free_bytes: usage.free_bytes,
            used_bytes: usage.used_bytes,
        })
    };
    let of_devices = devices.iter().filter_map(|device| {
        let partition = local
            .iter()
            .find(|partition| partition.mount_point == device.mountpoint)?;
        usage(&device.name, partition)
    });
    let of_network = network
        .iter()
        .filter_map(|partition| usage(&partition.device, partition));
    of_devices.chain(of_network).collect()
}

#[cfg(test)]
mod tests;
