//! `pcie-aer`: errors of PCIe links and devices (Advanced Error Reporting, Downstream Port Containment), and which GPU,
//! NIC or disk they concern: lines of the kernel log as they come ([`mod@line`], [`row`]), and the counters of sysfs at
//! each check ([`counters`]).
//!
//! `scan` looks at the log and the counters as they are now.

pub mod config;
pub mod counters;
pub mod device;
pub mod evaluate;
pub mod line;
pub mod memory;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod row;

use gpud_sdk::findings;
use gpud_sdk::incidents::{as_stored, boots, read_log, remember_seen, seen_before};
use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, log, state, sysfs,
};

use crate::config::Config;
use crate::counters::Counters;
use crate::device::{Device, Facts, Role};
use crate::memory::Memory;

/// The part that a machine lacks where the component does not apply.
const MISSING: &str = "no PCIe device that counts errors (AER), and no PCIe error so far";
/// Most events that `history` gives.
const MAX_EVENTS: u32 = 10_000;
/// A counter file has at most some 30 lines of 30 bytes.
const MAX_FILE_BYTES: u32 = 4_096;
/// Three files of each device.
const MAX_FILES: u32 = 16_384;
/// Names in a folder of a device: virtual functions have folders of their own.
const MAX_NAMES: u32 = 16;
/// Devices below a port.
const MAX_BELOW: u32 = 256;
/// Folders in which drivers name a device.
const NAME_FOLDERS: [&str; 3] = ["infiniband", "net", "nvme"];
/// How far below a port devices are looked for: a GPU hangs below a switch's upstream and downstream port.
const LEVELS: usize = 3;
/// The key of the stored counters of the last check.
const COUNTERS: &str = "counters";
const DEVICES: &str = "/sys/bus/pci/devices";

/// The checker.
pub struct PcieAer;

fn config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::read)
}

/// The counters; none on a machine without AER.
fn read_counters() -> Result<Counters, AccessError> {
    let files = match sysfs::read_glob(counters::FILES, MAX_FILE_BYTES, MAX_FILES) {
        Ok(files) => files,
        Err(AccessError::NotFound(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    let readable = files.iter().filter_map(|file| {
        let content = file.content.as_ref().ok()?;
        Some((file.path.as_str(), content.as_slice()))
    });
    Ok(counters::read(readable))
}

/// Reads the facts of a device. A lost device has none.
fn look_at(id: &str) -> Device {
    let text = |path: &str| sysfs::read_to_string(path, MAX_FILE_BYTES).unwrap_or_default();
    let file = |name: &str| text(&format!("{DEVICES}/{id}/{name}"));
    let class = file("class");
    if class.is_empty() {
        return Device::unknown(id);
    }
    let mut facts = Facts {
        class,
        vendor: file("vendor"),
        device: file("device"),
        link: sysfs::read_link(&format!("{DEVICES}/{id}")).unwrap_or_default(),
        ..Facts::default()
    };
    match Device::new(id, &facts).role {
        Role::Gpu => facts.nvidia = text(&format!("/proc/driver/nvidia/gpus/{id}/information")),
        Role::Nic | Role::Nvme => {
            for folder in NAME_FOLDERS {
                let folder = format!("{DEVICES}/{id}/{folder}");
                let names = sysfs::list_directory(&folder, MAX_NAMES).unwrap_or_default();
                facts
                    .names
                    .extend(names.into_iter().map(|entry| entry.name));
            }
        }
        Role::Switch | Role::Port | Role::Other => {}
    }
    Device::new(id, &facts)
}

/// A device, and for a port what is below it, as near as there is anything to name.
fn describe(id: &str) -> Device {
    let device = look_at(id);
    if device.role != Role::Port {
        return device;
    }
    let mut pattern = format!("{DEVICES}/{id}");
    for _ in 0..LEVELS {
        pattern.push_str("/????:??:??.?");
        let found = sysfs::read_glob(&format!("{pattern}/class"), MAX_FILE_BYTES, MAX_BELOW);
        let found = found.unwrap_or_default();
        let ids = found.iter().filter_map(|file| file.path.rsplit('/').nth(1));
        let below: Vec<Device> = ids.take(8).map(look_at).filter(Device::is_end).collect();
        if !below.is_empty() {
            return device.with_below(&below);
        }
    }
    device
}

impl Checker for PcieAer {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        let since = config.since(context.now);
        let events = history::own_events(since, MAX_EVENTS)?;
        remember_seen(&events)?;
        let counters = read_counters()?;
        let saved = if counters.exist {
            state::get_string(COUNTERS)?
        } else {
            None
        };
        let before = Memory::restore(saved.as_deref(), &context.boot_id);
        let mut kept = None;
        let report = policy.judge(
            context,
            &events,
            || policy::boots(context, since),
            |events| {
                let ruled = |name: &str| policy.names(name);
                let (report, after) = evaluate::judge(
                    context,
                    &config,
                    ruled,
                    events,
                    &counters,
                    before.as_ref(),
                    describe,
                    seen_before,
                );
                kept.get_or_insert(after);
                report
            },
        )?;
        if let Some(after) = kept.filter(|after| counters.exist && before.as_ref() != Some(after)) {
            let text = after.save().map_err(Error::failed)?;
            // Rates are not known then, totals are.
            if let Err(error) = state::set(COUNTERS, text.as_bytes()) {
                log!(warn, "counters are not kept: {}", error.text());
            }
        }
        Ok(findings::or_missing(report, MISSING))
    }
}

impl KmsgWatcher for PcieAer {
    fn patterns(_component: &str) -> Vec<String> {
        line::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(row::events(context, &messages, describe))
    }
}

impl Scanner for PcieAer {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        // The counters say the most of it.
        let messages = read_log(&line::PATTERNS)?.unwrap_or_default();
        let events = as_stored(row::events(context, &messages, describe));
        let counters = read_counters()?;
        let judge = |events: &[_]| {
            let ruled = |name: &str| policy.names(name);
            let seen = || false;
            evaluate::judge(
                context, &config, ruled, events, &counters, None, describe, seen,
            )
            .0
        };
        let report = policy.judge(context, &events, || Ok(boots(context, [])), judge)?;
        Ok(findings::or_missing(report, MISSING))
    }
}

fn descriptor() -> Descriptor {
    Descriptor::new(
        "pcie-aer",
        "PCIe errors by device (AER, DPC), from the kernel log and its counters",
    )
    .tags(&["pcie", "hardware", "pcie-aer"])
    // Hundreds of devices have three files each; lines of the log are judged at once anyhow.
    .interval_seconds(300)
    .set_healthy_clears_events()
    .metric(
        evaluate::METRIC,
        "PCIe errors of a device since it was found, by severity; only devices with errors (number)",
    )
    .config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG))
}

gpud_sdk::member!("pcie-aer" => PcieAer + kmsg_watcher + scanner: descriptor());
