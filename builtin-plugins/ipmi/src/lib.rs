//! `ipmi`: sensors and event log of the management controller (BMC).
//!
//! Asked through `ipmitool` and the kernel's own device: nothing goes over the network, and nothing is changed or cleared.
//! What the kernel log says of a controller that does not answer becomes events ([`kmsg`]).

pub mod elist;
pub mod evaluate;
pub mod freeipmi;
pub mod freeipmi_log;
pub mod kmsg;
pub mod log;
pub mod log_memory;
pub mod open;
#[rustfmt::skip]
pub mod patterns;
pub mod sensors;
pub mod states;

use gpud_sdk::findings;
use gpud_sdk::policy::{self, Policy, PolicyInput};
use gpud_sdk::program;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    state, sysfs,
};

use evaluate::{Config, Inputs, SCHEMA};
use log_memory::LogMemory;

/// Where ipmitool looks for the device.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
/// Entries that are read; the newest. A number in words for the command line.
const ENTRIES: &str = "128";
/// Controllers are slow, and a call has 30 s in all.
const LOG_SECONDS: u32 = 8;
const SENSOR_SECONDS: u32 = 17;
const SUPPLY_SECONDS: u32 = 4;
/// Each question takes seconds of the controller's time.
const INTERVAL: u64 = 5 * 60;
const SEEN: &str = "seen";

/// The checker.
pub struct Ipmi;

impl Checker for Ipmi {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = policy::configured(&patterns::CATALOG, Config::parse)?;
        by_policy(context, &policy, ask_controller(context, &config)?)
    }
}

impl KmsgWatcher for Ipmi {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(kmsg::events(context, &messages))
    }
}

fn by_policy(context: &CheckContext, policy: &Policy, report: Report) -> Result<Report, Error> {
    let past = PolicyInput::ask(context, policy, false)?;
    Ok(policy.add(context, past.as_ref(), report))
}

/// Reads the controller's own answer.
fn ask_controller(context: &CheckContext, config: &Config) -> Result<Report, Error> {
    if !has_device()? {
        let reason = "no IPMI device (no management controller, or no ipmi_si and ipmi_devintf)";
        return Ok(findings::unsupported(context, reason));
    }
    // A daemon that gave up root can ask nothing else: `host/node/src/root_helper/programs.rs` has the same words.
    let arguments = ["-I", "open", "-c", "sel", "list", "last", ENTRIES];
    let Some(log) = ask(&arguments, LOG_SECONDS)? else {
        let reason = "ipmitool is not installed";
        return Ok(findings::unsupported(context, reason));
    };
    let sensors = ask(&["-I", "open", "-c", "sdr", "list", "full"], SENSOR_SECONDS)?;
    let saved = state::get_string(SEEN)?;
    let mut log_memory = LogMemory::restore(saved.as_deref());
    // Only while the log has an open trouble of a supply, whose end some controllers never log.
    let supplies = match log_memory.open.power().next() {
        Some(_) => ask(
            &["-I", "open", "sdr", "type", "Power Supply"],
            SUPPLY_SECONDS,
        )?,
        None => None,
    };
    let inputs = Inputs {
        log: log.map(|text| log::parse(&text)),
        supplies: supplies
            .and_then(Result::ok)
            .map(|text| elist::parse(&text))
            .unwrap_or_default(),
        sensors: sensors
            .unwrap_or_else(|| Err("ipmitool is gone".to_owned()))
            .and_then(|text| sensors::read(&text)),
    };
    let report = findings::check(|before| {
        Ok(evaluate::judge(
            context,
            config,
            &inputs,
            &mut log_memory,
            before,
        ))
    })?;
    state::set_changed(SEEN, saved.as_deref(), &log_memory.save())?;
    Ok(report)
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

/// What it said, or why it said nothing; nothing where there is no `ipmitool`.
fn ask(arguments: &[&str], seconds: u32) -> Result<Option<Result<String, String>>, AccessError> {
    match program::run("ipmitool", arguments, seconds) {
        Ok(Some(said)) if said.is_ok() => Ok(Some(Ok(said.stdout))),
        Ok(Some(said)) => Ok(Some(Err(said.complaint))),
        Ok(None) => Ok(None),
        // The controller is slow or stuck; the machine is not.
        Err(error @ AccessError::TimedOut(_)) => Ok(Some(Err(error.text()))),
        Err(error) => Err(error),
    }
}

gpud_sdk::member!("ipmi" => Ipmi + kmsg_watcher: Descriptor::new(
    "ipmi",
    "Sensors and event log of the management controller, and whether it answers the kernel",
)
.interval_seconds(INTERVAL)
.metric(evaluate::READING, "Reading of a sensor, by sensor and unit, in the controller's own units")
.metric(evaluate::STATUS, "Sensors by status (ok, nc: non-critical, cr: critical, nr: non-recoverable)")
.config_schema(&policy::schema(SCHEMA, &patterns::CATALOG)));
