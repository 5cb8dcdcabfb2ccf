//! `disk-smart`: the health that disks report themselves (SMART): NVMe, SATA and SAS.
//!
//! `smartctl` (smartmontools 7.0 and later) is asked for all of them, `nvme` (nvme-cli) for NVMe where there is no
//! `smartctl`. Both only read. A disk that sleeps is not woken up.

pub mod bays;
pub mod devices;
pub mod evaluate;
pub mod health;

use gpud_sdk::files;
use gpud_sdk::findings;
use gpud_sdk::program;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state};

use devices::Device;
use evaluate::{Answer, Config, Counters, SCHEMA, UnknownHealth};
use health::{Health, NoHealthReason};

/// Devices that are asked.
const MAX_DEVICES: usize = 64;
/// For one of them. A disk that hangs is the component `block-io`'s.
const SECONDS: u32 = 6;
/// Devices that do not answer, after which no other is asked.
const MAX_SILENT: u32 = 2;
/// Disks change slowly, and each question takes a moment of their time.
const INTERVAL: u64 = 15 * 60;
const COUNTERS: &str = "counters";

/// The checker.
pub struct DiskSmart;

impl Checker for DiskSmart {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let nvme = files::read_all("/sys/class/nvme/*/transport")?;
        let disks = files::read_all("/sys/block/*/device/uevent")?;
        let devices = devices::all(&nvme, &disks);
        if devices.is_empty() {
            let reason = "no NVMe, SATA or SAS disk on this machine";
            return Ok(findings::unsupported(context, reason));
        }
        let bays = bays::read()?;
        let (mut answers, mut silent) = (Vec::new(), 0);
        for device in devices.iter().take(MAX_DEVICES) {
            // The call has a deadline of its own.
            let mut answer = if silent < MAX_SILENT {
                ask(device, &mut silent)?
            } else {
                Some(Answer {
                    name: device.name.clone(),
                    health: Err(unread("not asked, since others do not answer")),
                })
            };
            if let Some(Ok(health)) = answer.as_mut().map(|answer| &mut answer.health)
                && let Some(bay) = bays.get(&device.name)
            {
                health.bay.clone_from(bay);
            }
            answers.extend(answer);
        }
        if answers.is_empty() {
            let reason = "neither smartctl (smartmontools) nor nvme (nvme-cli) can be asked here";
            return Ok(findings::unsupported(context, reason));
        }
        let saved = state::get_string(COUNTERS)?;
        let mut counters = Counters::restore(saved.as_deref());
        let left_out = devices.len().saturating_sub(MAX_DEVICES);
        let report = findings::check(|before| {
            Ok(evaluate::judge(
                context,
                &config,
                &answers,
                left_out,
                &mut counters,
                before,
            ))
        })?;
        state::set_changed(COUNTERS, saved.as_deref(), &counters.save())?;
        Ok(report)
    }
}

/// Nothing where there is no program for it.
fn ask(device: &Device, silent: &mut u32) -> Result<Option<Answer>, AccessError> {
    let path = format!("/dev/{}", device.name);
    // A daemon that gave up root can ask nothing else: `host/node/src/root_helper/programs.rs` has the same words.
    let arguments = [
        "--json=c",
        "--nocheck=standby",
        "--info",
        "--health",
        "--attributes",
        // The counters of SAS, and sectors that wait to be replaced, are logs of their own.
        "--log=error",
        "--log=defects",
        &path,
    ];
    let said: Result<Result<Health, UnknownHealth>, AccessError> =
        match program::run("smartctl", &arguments, SECONDS) {
            Ok(Some(said)) => Ok(parse_health(device, &said.stdout)),
            Ok(None) if device.is_nvme => {
                let arguments = ["smart-log", "--output-format=json", &path];
                match program::run("nvme", &arguments, SECONDS) {
                    Ok(Some(said)) if said.is_ok() => {
                        Ok(health::nvme_cli(&said.stdout).map_err(unread))
                    }
                    Ok(Some(said)) => Ok(Err(unread(said.complaint))),
                    Ok(None) => return Ok(None),
                    Err(error) => Err(error),
                }
            }
            Ok(None) => return Ok(None),
            Err(error) => Err(error),
        };
    let health = match said {
        Ok(health) => health,
        // One disk that hangs must not hide the others.
        Err(error @ AccessError::TimedOut(_)) => {
            *silent += 1;
            Err(unread(error.text()))
        }
        Err(error) => return Err(error),
    };
    Ok(Some(Answer {
        name: device.name.clone(),
        health,
    }))
}

/// Of what smartctl printed. Its exit status tells nothing more: it has bits for what was found, too.
fn parse_health(device: &Device, text: &str) -> Result<Health, UnknownHealth> {
    health::smartctl(text).map_err(|why| {
        let silence = match health::silence(text) {
            // Every NVMe controller has the log.
            NoHealthReason::Nothing if device.is_nvme => NoHealthReason::Unread,
            silence => silence,
        };
        UnknownHealth { silence, why }
    })
}

fn unread(why: impl Into<String>) -> UnknownHealth {
    UnknownHealth {
        silence: NoHealthReason::Unread,
        why: why.into(),
    }
}

gpud_sdk::member!("disk-smart" => DiskSmart: Descriptor::new(
    "disk-smart",
    "What NVMe, SATA and SAS disks say of their own health",
)
.interval_seconds(INTERVAL)
.metric(evaluate::PASSED, "1 when the disk finds itself healthy, by device")
.metric(evaluate::TEMPERATURE, "Temperature of the disk (degrees Celsius), by device")
.metric(evaluate::USED, "Used endurance of the disk (percent of what it was made for; can be more than 100), by device")
.metric(evaluate::SPARE, "Spare blocks that are left (percent), by device; NVMe only")
.metric(evaluate::ERRORS, "Errors of the medium in the life of the disk, by device; NVMe only")
.metric(evaluate::PENDING, "Sectors that cannot be read and wait to be replaced, by device; SATA only")
.config_schema(SCHEMA));
