//! `server-event-log`: the system event log (SEL) of the management controller: new entries as events, troubles until
//! they are over or someone has looked, and whether the log has room.
//!
//! Asked through `ipmitool`, or FreeIPMI's `ipmi-sel` where that is missing, and the kernel's own device. The log is read and
//! never cleared.

pub mod evaluate;
pub mod info;
pub mod log_memory;

use gpud_builtin_ipmi::log::Entry;
use gpud_builtin_ipmi::{elist, freeipmi_log, log};
use gpud_pack_common::ask::{self, Answer};
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, SCHEMA};
use log_memory::LogMemory;

/// Where ipmitool looks for the device.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
/// Entries that are read; the newest. A number in words for the command line.
const ENTRIES: &str = "128";
/// All three have to fit the time limit of the pack.
const LOG_SECONDS: u32 = 20;
const INFO_SECONDS: u32 = 8;
const SENSOR_SECONDS: u32 = 30;
const INTERVAL: u64 = 5 * 60;
const MEMORY: &str = "kept";
/// Without options of the locale's or of a configuration file's, with the direction of each event.
const FREEIPMI: [&str; 6] = [
    "-v",
    "--comma-separated-output",
    "--no-header-output",
    "--tail=128",
    "--quiet-cache",
    "--sdr-cache-recreate",
];

struct ServerEventLog;

impl Checker for ServerEventLog {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        if !has_device()? {
            let reason =
                "no IPMI device (no management controller, or no ipmi_si and ipmi_devintf)";
            return Ok(findings::unsupported(context, reason));
        }
        let Some(Reading {
            entries,
            is_ipmitool,
        }) = read_log()?
        else {
            let reason = "neither ipmitool nor ipmi-sel (FreeIPMI) is installed";
            return Ok(findings::unsupported(context, reason));
        };
        // Where the log does not answer, nothing else will.
        let info = match entries.is_ok() && is_ipmitool {
            true => ask::ask("ipmitool", &["-I", "open", "sel", "info"], INFO_SECONDS)?
                .output()
                .ok(),
            false => None,
        };
        let saved = state::get_string(MEMORY)?;
        let mut log_memory = LogMemory::restore(saved.as_deref());
        if entries.is_ok() && is_ipmitool && log_memory.open.is_any_lasting() {
            // Some controllers never log the end; their sensors show it.
            let arguments = ["-I", "open", "sdr", "elist", "all"];
            // A sensor that fails makes ipmitool end with 1 after it has listed all others.
            if let Answer::Said(said) = ask::ask("ipmitool", &arguments, SENSOR_SECONDS)? {
                log_memory.open.compare(&elist::parse(&said.stdout));
            }
        }
        let before = Memory::load()?;
        let (report, after) = evaluate::judge(
            context,
            &config,
            entries.as_ref().map(Vec::as_slice).map_err(String::as_str),
            info.as_deref().map(info::parse),
            &mut log_memory,
            &before,
        );
        after.keep(&before)?;
        let text = log_memory.save();
        if saved.as_ref() != Some(&text) {
            state::set(MEMORY, text.as_bytes())?;
        }
        Ok(report)
    }
}

/// What a program says of the log.
struct Reading {
    /// The newest entries, or why they are not known.
    entries: Result<Vec<Entry>, String>,
    /// Whether it is ipmitool, which can be asked for more.
    is_ipmitool: bool,
}

/// The reading of the first program that is there; nothing where neither is.
fn read_log() -> Result<Option<Reading>, AccessError> {
    let arguments = ["-I", "open", "-c", "sel", "list", "last", ENTRIES];
    Ok(match ask::ask("ipmitool", &arguments, LOG_SECONDS)? {
        Answer::Missing => match ask::ask("ipmi-sel", &FREEIPMI, LOG_SECONDS) {
            // An older grant of the operator's does not have it.
            Ok(Answer::Missing) | Err(AccessError::Denied(_)) => None,
            answer => {
                let text = answer?.output();
                Some(Reading {
                    entries: text.map(|text| freeipmi_log::parse(&text)),
                    is_ipmitool: false,
                })
            }
        },
        answer => Some(Reading {
            entries: answer.output().map(|text| log::parse(&text)),
            is_ipmitool: true,
        }),
    })
}

fn has_device() -> Result<bool, AccessError> {
    for path in DEVICES {
        match sysfs::stat(path) {
            Ok(_) => return Ok(true),
            Err(AccessError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

gpud_sdk::export!(ServerEventLog: Descriptor::new(
    "server-event-log",
    "The management controller's event log: news, open troubles, and its room",
)
.interval_seconds(INTERVAL)
.set_healthy_marks()
.metric(evaluate::USED, "How full the event log is (percent)")
.metric(evaluate::ENTRIES, "Entries in the event log (number)")
.metric(evaluate::OPEN, "Troubles of the event log that are not over (number)")
.config_schema(SCHEMA));
