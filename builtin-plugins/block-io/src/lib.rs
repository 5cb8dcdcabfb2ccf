//! `block-io`: requests that disks did not fulfil, disks that the kernel gave up or arrays lost, and filesystems in
//! trouble, with the mount points they hit.
//!
//! What the `disk` check knows by its own lines (buffer I/O errors, failed arrays, read-only remounts, NVMe resets) is
//! left to it. Every line becomes an event as it comes ([`lines`]), with the mount points that stand on the device
//! ([`topology`]); the state is judged from the recent events ([`evaluate`]).

pub mod config;
pub mod evaluate;
pub mod lines;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod topology;

use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, HealthState, KmsgWatcher, Message, Report,
    Scanner, history, incidents, sysfs,
};

use config::Config;
use topology::Topology;

/// Name of the component.
pub const COMPONENT: &str = "block-io";
/// A node with a thousand containers has some 5,000 mounts of 150 bytes.
const MAX_MOUNTINFO_BYTES: u32 = 4 << 20;
/// Devices below one mapped device.
const MAX_SLAVES: u32 = 64;
const MAX_EVENTS: u32 = 2_000;

/// The checker.
pub struct BlockIo;

impl Checker for BlockIo {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = read_config()?;
        let since = context.now.saturating_sub(evaluate::LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        let boots = incidents::boots(context, reboots.iter().map(|reboot| reboot.time));
        Ok(evaluate::judge(context, &config, &policy, &events, &boots))
    }
}

impl KmsgWatcher for BlockIo {
    fn patterns(_component: &str) -> Vec<String> {
        lines::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(evaluate::events(context, &messages, || {
            read_topology(context)
        }))
    }
}

impl Scanner for BlockIo {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (config, policy) = read_config()?;
        let Some(messages) = incidents::read_log(&lines::PATTERNS)? else {
            let reason = "the kernel log cannot be read";
            return Ok(Report::of(HealthState::healthy(context, reason)));
        };
        let events = evaluate::events(context, &messages, || read_topology(context));
        let boots = incidents::boots(context, []);
        Ok(evaluate::judge(
            context,
            &config,
            &policy,
            &incidents::as_stored(events),
            &boots,
        ))
    }
}

/// Reads which mounts are on which device. Empty where it cannot be read, since an error without its mount is still reported.
fn read_topology(context: &CheckContext) -> Topology {
    if !incidents::are_of_this_machine(context) {
        return Topology::default();
    }
    let mounts = sysfs::read_to_string("/proc/1/mountinfo", MAX_MOUNTINFO_BYTES)
        .or_else(|_| sysfs::read_to_string("/proc/self/mountinfo", MAX_MOUNTINFO_BYTES))
        .unwrap_or_default();
    Topology::new(
        &mounts,
        |link| sysfs::read_link(link).ok(),
        |device| {
            let folder = format!("/sys/class/block/{device}/slaves");
            let entries = sysfs::list_directory(&folder, MAX_SLAVES).unwrap_or_default();
            entries.into_iter().map(|entry| entry.name).collect()
        },
    )
}

fn read_config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::parse)
}

gpud_sdk::member!(COMPONENT => BlockIo + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Failed requests to disks, lost disks and filesystem errors in the kernel log, with device and mount point",
)
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(
    evaluate::METRIC,
    "Failures of disks within io_error_window_seconds, by kind (number)",
)
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
