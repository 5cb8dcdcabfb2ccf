//! `server-event-log`: the system event log (SEL) of the management controller: new entries as events, troubles until
//! they are over or someone has looked, and whether the log has room.
//!
//! Asked through `ipmitool`, or FreeIPMI's `ipmi-sel` or Dell's `racadm` where that is missing, and the kernel's own device.
//! The log is read and never cleared.

pub mod evaluate;
pub mod info;
pub mod log_memory;
pub mod racadm;

use gpud_builtin_ipmi::{elist, freeipmi_log, log};
use gpud_pack_common::ask::{self, Answer};
use gpud_pack_common::dell::RACADM;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, Reading, SCHEMA};
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
/// It can be asked for more than the entries.
const IPMITOOL: &str = "ipmitool";
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
        let Some((mut reading, program)) = read_log(&config)? else {
            let reason = "neither ipmitool nor ipmi-sel (FreeIPMI) nor racadm (Dell) is installed";
            return Ok(findings::unsupported(context, reason));
        };
        // Where the log does not answer, nothing else will.
        let has_more = program == IPMITOOL && reading.log.is_ok();
        if has_more {
            let answer = ask::ask(IPMITOOL, &["-I", "open", "sel", "info"], INFO_SECONDS)?;
            reading.info = answer.output().ok().map(|text| info::parse(&text));
        }
        let saved = state::get_string(MEMORY)?;
        let mut log_memory = LogMemory::restore(saved.as_deref());
        if reading.log.is_ok() {
            log_memory.read_by(program);
        }
        if has_more && log_memory.open.is_any_lasting() {
            // Some controllers never log the end; their sensors show it.
            let arguments = ["-I", "open", "sdr", "elist", "all"];
            // A sensor that fails makes ipmitool end with 1 after it has listed all others.
            if let Answer::Said(said) = ask::ask(IPMITOOL, &arguments, SENSOR_SECONDS)? {
                log_memory.open.compare(&elist::parse(&said.stdout));
            }
        }
        let before = Memory::load()?;
        let (report, after) = evaluate::judge(context, &config, &reading, &mut log_memory, &before);
        after.keep(&before)?;
        let text = log_memory.save();
        if saved.as_ref() != Some(&text) {
            state::set(MEMORY, text.as_bytes())?;
        }
        Ok(report)
    }
}

/// The reading of the first program that is there, and its name; nothing where none is.
fn read_log(config: &Config) -> Result<Option<(Reading, &'static str)>, AccessError> {
    let arguments = ["-I", "open", "-c", "sel", "list", "last", ENTRIES];
    match ask::ask(IPMITOOL, &arguments, LOG_SECONDS)? {
        Answer::Missing => {}
        answer => {
            let log = answer.output().map(|text| log::parse(&text));
            return Ok(Some((Reading::of(log), IPMITOOL)));
        }
    }
    if let Some(answer) = ask_other("ipmi-sel", &FREEIPMI)? {
        let log = answer.output().map(|text| freeipmi_log::parse(&text));
        return Ok(Some((Reading::of(log), "ipmi-sel")));
    }
    for program in RACADM {
        let Some(answer) = ask_other(program, &racadm::EVENT_LOG)? else {
            continue;
        };
        let log = answer.output().and_then(|text| racadm::event_log(&text));
        let mut reading = Reading::of(log);
        if config.lifecycle_log && reading.log.is_ok() {
            let answer = ask_other(program, &racadm::LIFECYCLE_LOG)?;
            let text = answer.map(Answer::output);
            reading.lifecycle = text.map(|text| text.and_then(|text| racadm::lifecycle_log(&text)));
        }
        return Ok(Some((reading, "racadm")));
    }
    Ok(None)
}

/// Asks a program that an older grant of the operator's may not have; nothing where it is not there.
fn ask_other(program: &str, arguments: &[&str]) -> Result<Option<Answer>, AccessError> {
    match ask::ask(program, arguments, LOG_SECONDS) {
        Ok(Answer::Missing) | Err(AccessError::Denied(_)) => Ok(None),
        answer => answer.map(Some),
    }
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
