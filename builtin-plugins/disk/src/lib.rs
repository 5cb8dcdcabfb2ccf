//! The `disk` check: failures of disks and filesystems in the kernel log, space on the root filesystem, and network
//! mounts that do not answer.
//!
//! A failure stays until the machine is rebooted after it or an operator sets the component healthy; little space and
//! silent mounts clear with the next good reading.

pub mod config;
pub mod counters;
pub mod df;
pub mod evaluate;
pub mod failures;
pub mod findmnt;
pub mod humanize;
pub mod kmsg;
pub mod lsblk;
pub mod mounts;
pub mod names;
pub mod space;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use std::collections::BTreeMap;

use gpud_builtin_shared::mounts::say_not_visible;
use gpud_sdk::cached::CachedAnswer;
use gpud_sdk::policy;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    exec, history, log, state, sysfs,
};

use config::Config;
use counters::Counters;
use df::Filesystems;
use evaluate::{Devices, Inputs};
use failures::Log;
use mounts::{Mount, Partition};
use names::Names;

/// A node with a thousand containers has some 5,000 mounts of 150 bytes.
const MAX_MOUNTINFO_BYTES: u32 = 4 << 20;
/// Mounts whose space is read in one check.
const MAX_PARTITIONS: usize = 128;
const MAX_OUTPUT_BYTES: u32 = 1 << 20;
const LSBLK_TIMEOUT_MS: u32 = 6_000;
const FINDMNT_TIMEOUT_MS: u32 = 3_000;
const DF_TIMEOUT_MS: u32 = 6_000;
const COUNTERS_KEY: &str = "counters";
/// The key of the stored answers of lsblk and findmnt.
const NAMES_KEY: &str = "names";
/// How often they are asked while the same is mounted: what they add to the mounts (serial numbers, partitions) changes
/// with them or hardly ever.
const NAMES_EVERY_MS: u64 = 10 * 60_000;

/// The checker.
pub struct Disk;

impl Checker for Disk {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = policy::configured(&patterns::CATALOG, Config::parse)?;
        let before = Counters::restore(state::get_string(COUNTERS_KEY)?.as_deref());

        let mut log = read_log(context.now);
        let ruled = failures::by_policy(&policy, &mut log);
        let mut not_visible = Vec::new();
        let (space, df_error) = match config.usage_from_df {
            true => match ask_df() {
                Ok(space) => (space, None),
                Err(error) => (Filesystems::default(), Some(error)),
            },
            false => (ask_kernel(config.nfs_mounts, &mut not_visible)?, None),
        };
        let (devices, targets) = names(context, &config, &space.mounts)?;
        let network = match config.nfs_mounts {
            true => space.network,
            false => Vec::new(),
        };

        let inputs = Inputs {
            config: &config,
            log,
            devices,
            local: space.local,
            network,
            df_error,
            targets,
        };
        let (mut report, after) = evaluate::judge(context, inputs, &before);
        say_not_visible(&mut report, &not_visible);
        if let (Some(ruled), Some(state)) = (ruled, report.states.first_mut()) {
            ruled.lay_over(context, &policy, state)?;
        }
        if after != before {
            state::set(COUNTERS_KEY, after.save().as_bytes())?;
        }
        Ok(report)
    }
}

/// Stored failures, and the reboots that matter once there are any.
fn read_log(now: u64) -> Log {
    if !history::available() {
        return Log::default();
    }
    let since = now.saturating_sub(failures::LOOK_BACK_MS);
    let events = history::own_events(since, failures::MAX_EVENTS);
    let any = events.as_ref().is_ok_and(|events| failures::any(events));
    let reboots = if any {
        history::reboots(since)
    } else {
        Ok(Vec::new())
    };
    Log {
        available: true,
        events,
        reboots,
    }
}

/// Mounts from the kernel, their space from statvfs.
fn ask_kernel(network: bool, not_visible: &mut Vec<String>) -> Result<Filesystems, AccessError> {
    let mounts = read_mounts()?;
    let local = measure(mounts::local(&mounts), not_visible)?;
    let network = match network {
        true => measure(mounts::network(&mounts), not_visible)?,
        false => Vec::new(),
    };
    Ok(Filesystems {
        local,
        network,
        mounts,
    })
}

/// Mounts and their space from df, or what the operator runs in its place.
fn ask_df() -> Result<Filesystems, String> {
    let answer = exec::run_program("df", &df::arguments(), &options(DF_TIMEOUT_MS));
    match output(answer) {
        Ok(text) => Ok(df::parse(&text)),
        Err(ProgramFailure::NotFound) => Err("df: not found".to_owned()),
        Err(ProgramFailure::TimedOut(error) | ProgramFailure::Exit(error)) => {
            Err(format!("df: {error}"))
        }
    }
}

/// The mounts of the machine, or where process 1 cannot be looked at, of the daemon.
fn read_mounts() -> Result<Vec<Mount>, AccessError> {
    let text = sysfs::read_to_string("/proc/1/mountinfo", MAX_MOUNTINFO_BYTES)
        .or_else(|_| sysfs::read_to_string("/proc/self/mountinfo", MAX_MOUNTINFO_BYTES))?;
    let mut mounts = mounts::parse(&text);
    for mount in mounts.iter_mut().filter(|mount| mount.has_alias()) {
        let link = format!("/sys/dev/block/{}:{}", mount.major, mount.minor);
        if let Ok(target) = sysfs::read_link(&link) {
            mount.resolve(&target);
        }
    }
    Ok(mounts)
}

/// Asks all at once: each question of its own would cost as much as all of them. Mounts that the host left out, since
/// others did not answer, are nothing new; they have their turn in the next check.
///
/// `not_visible` gets what the host said of mounts that it cannot see.
fn measure<'a>(
    mounts: impl Iterator<Item = &'a Mount>,
    not_visible: &mut Vec<String>,
) -> Result<Vec<Partition>, AccessError> {
    let mounts: Vec<&Mount> = mounts.take(MAX_PARTITIONS).collect();
    if mounts.is_empty() {
        return Ok(Vec::new());
    }
    let points: Vec<String> = mounts.iter().map(|mount| mount.point.clone()).collect();
    let usages = sysfs::statvfs_all(&points)?;
    let other = |usage: &Result<_, AccessError>| match usage {
        Err(AccessError::Other(why)) => Some(why.clone()),
        _ => None,
    };
    not_visible.extend(usages.iter().filter_map(other));
    let mut partitions = Vec::new();
    for (mount, usage) in mounts.into_iter().zip(usages) {
        match usage {
            Err(AccessError::OverBudget(text)) => log!(warn, "{text}"),
            usage => partitions.extend(Partition::new(mount, usage)),
        }
    }
    Ok(partitions)
}

/// Block devices, and what holds the tracked paths: what was said last, while the same is mounted. A failure of lsblk is
/// not kept, so that its next check counts.
fn names(
    context: &CheckContext,
    config: &Config,
    mounts: &[Mount],
) -> Result<(Devices, BTreeMap<String, findmnt::Answer>), AccessError> {
    let tracked = config.mount_points.iter();
    let tracked: Vec<_> = tracked
        .map(|point| (point.as_str(), sysfs::stat(point).ok()))
        .collect();
    let depends = names::depends(mounts, &tracked);
    let (cached, kept) = CachedAnswer::load(context, NAMES_KEY, NAMES_EVERY_MS, &depends)?;
    if let Some(kept) = kept.as_deref().and_then(Names::restore) {
        return Ok((kept.devices.into(), kept.targets));
    }
    let there = tracked.iter().filter(|(_, stat)| stat.is_some());
    let targets = find_targets(there.map(|(point, _)| *point));
    let devices = list_devices(mounts);
    match Names::new(&devices, &targets) {
        Some(names) => cached.keep(&names.save())?,
        None => cached.forget()?,
    }
    Ok((devices, targets))
}

/// One attempt: a guest cannot wait for a second one, so failures are counted from check to check instead.
fn list_devices(mounts: &[Mount]) -> Devices {
    let run = |format| {
        let arguments = lsblk::arguments(format);
        output(exec::run_program(
            "lsblk",
            &arguments,
            &options(LSBLK_TIMEOUT_MS),
        ))
    };
    // Versions before 2.27 refuse the first form.
    let parsed = match run("--json") {
        Ok(text) => lsblk::parse_json(&text),
        Err(ProgramFailure::NotFound) => return Devices::NoProgram,
        Err(ProgramFailure::TimedOut(error)) => Err(error),
        Err(ProgramFailure::Exit(error)) => match run("--pairs") {
            Ok(text) => lsblk::parse_pairs(&text),
            Err(_) => Err(error),
        },
    };
    match parsed {
        Ok(devices) => Devices::Listed(lsblk::select(devices, mounts)),
        Err(error) => Devices::Failed(format!("lsblk: {error}")),
    }
}

fn find_targets<'a>(points: impl Iterator<Item = &'a str>) -> BTreeMap<String, findmnt::Answer> {
    let mut targets = BTreeMap::new();
    for point in points {
        let arguments = findmnt::arguments(point);
        let parsed = match output(exec::run_program(
            "findmnt",
            &arguments,
            &options(FINDMNT_TIMEOUT_MS),
        )) {
            Ok(text) => findmnt::parse(point, &text),
            Err(ProgramFailure::NotFound) => break,
            Err(ProgramFailure::TimedOut(error) | ProgramFailure::Exit(error)) => Err(error),
        };
        match parsed {
            Ok(answer) => drop(targets.insert(point.to_owned(), answer)),
            Err(error) => log!(warn, "findmnt {point}: {error}"),
        }
    }
    targets
}

/// Why a program gave no output.
enum ProgramFailure {
    NotFound,
    TimedOut(String),
    Exit(String),
}

fn output(run: Result<exec::Output, AccessError>) -> Result<String, ProgramFailure> {
    match run {
        Ok(output) if output.exit_code == Some(0) && !output.truncated => {
            Ok(sysfs::text(output.stdout))
        }
        Ok(output) => Err(ProgramFailure::Exit(evaluate::exit_text(&output))),
        Err(AccessError::NotFound(_)) => Err(ProgramFailure::NotFound),
        Err(error @ AccessError::TimedOut(_)) => Err(ProgramFailure::TimedOut(error.text())),
        Err(error) => Err(ProgramFailure::Exit(error.text())),
    }
}

fn options(timeout_ms: u32) -> exec::Options {
    exec::Options {
        timeout_ms,
        max_output_bytes: MAX_OUTPUT_BYTES,
        environment: Vec::new(),
    }
}

impl KmsgWatcher for Disk {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let event = |message| kmsg::event(context, message);
        Ok(messages.iter().filter_map(event).collect())
    }
}

gpud_sdk::member!("disk" => Disk + kmsg_watcher: Descriptor::new(
    "disk",
    "Disk and filesystem failures in the kernel log, space on the root filesystem, silent network mounts",
)
.set_healthy_clears_events()
.metric("disk_total_bytes", "Size of the filesystem at the label mount_point, in bytes")
.metric("disk_free_bytes", "Space that ordinary users can still write, in bytes")
.metric("disk_used_bytes", "Used space, in bytes")
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
