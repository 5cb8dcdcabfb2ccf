//! `server-bmc`: what the management controller (BMC) says of the board: temperatures, air inlet, fans, power supplies,
//! voltages, redundancy, and the leak sensors of a liquid cooling.
//!
//! Asked through `ipmitool`, or FreeIPMI's `ipmi-sensors` or Dell's `racadm` where that is missing, and the kernel's own device:
//! nothing goes over the network, and nothing is changed.

pub mod config;
pub mod evaluate;
pub mod leak;
mod parts;
pub mod racadm;

use gpud_builtin_ipmi::elist::{self, ListedSensor};
use gpud_builtin_ipmi::freeipmi;
use gpud_pack_common::ask::{self, Answer};
use gpud_pack_common::dell::RACADM;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use config::{Config, SCHEMA};
use evaluate::KnownLeakSensors;

/// Where ipmitool looks for the device.
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
/// A large board has some 300 sensors, and a slow controller takes a tenth of a second for each.
const SECONDS: u32 = 45;
const IPMITOOL: [&str; 5] = ["-I", "open", "sdr", "elist", "all"];
/// Without options of the locale's or of a configuration file's.
const FREEIPMI: [&str; 6] = [
    "--comma-separated-output",
    "--output-sensor-state",
    "--no-header-output",
    "--entity-sensor-names",
    "--quiet-cache",
    "--sdr-cache-recreate",
];
const INTERVAL: u64 = 2 * 60;
/// The key of the stored leak sensors that gave a reading.
const KNOWN: &str = "leak-sensors";

struct ServerBmc;

impl Checker for ServerBmc {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        if !has_device()? {
            let reason =
                "no IPMI device (no management controller, or no ipmi_si and ipmi_devintf)";
            return Ok(findings::unsupported(context, reason));
        }
        let Some(sensors) = sensors()? else {
            let reason =
                "neither ipmitool nor ipmi-sensors (FreeIPMI) nor racadm (Dell) is installed";
            return Ok(findings::unsupported(context, reason));
        };
        let saved = state::get_string(KNOWN)?;
        let restored = saved
            .as_deref()
            .map(serde_json::from_str::<KnownLeakSensors>);
        let mut known = restored.and_then(Result::ok).unwrap_or_default();
        let kept = known.clone();
        let before = Memory::load()?;
        let sensors = sensors.as_ref().map(Vec::as_slice).map_err(String::as_str);
        let (report, after) = evaluate::judge(context, &config, sensors, &mut known, &before);
        after.keep(&before)?;
        if known != kept {
            let text = serde_json::to_string(&known).map_err(Error::failed)?;
            state::set(KNOWN, text.as_bytes())?;
        }
        Ok(report)
    }
}

/// The sensors of the first program that is there, or why they are not known; nothing where none is.
fn sensors() -> Result<Option<Result<Vec<ListedSensor>, String>>, AccessError> {
    for (at, (program, arguments, parse)) in programs().into_iter().enumerate() {
        let answer = match ask::ask(program, arguments, SECONDS) {
            Ok(Answer::Missing) => continue,
            // An older grant of the operator's has the first one only.
            Err(AccessError::Denied(_)) if at > 0 => continue,
            answer => answer?,
        };
        let text = match answer {
            // A sensor that fails makes ipmitool end with 1 after it has listed all others.
            Answer::Said(said) if !parse(&said.stdout).is_empty() => Ok(said.stdout),
            answer => answer.output(),
        };
        let name = program.rsplit('/').next().unwrap_or(program);
        return Ok(Some(text.and_then(|text| match parse(&text) {
            sensors if sensors.is_empty() => Err(format!("{name} lists no sensor")),
            sensors => Ok(sensors),
        })));
    }
    Ok(None)
}

/// What lists the sensors: a program, its arguments, and the reader of what it prints.
type Lister = (
    &'static str,
    &'static [&'static str],
    fn(&str) -> Vec<ListedSensor>,
);

/// All of them, in the order in which they are asked.
fn programs() -> Vec<Lister> {
    let mut programs = vec![
        lister("ipmitool", &IPMITOOL, elist::parse),
        lister("ipmi-sensors", &FREEIPMI, freeipmi::parse),
    ];
    let dell = RACADM.into_iter();
    programs.extend(dell.map(|program| lister(program, &racadm::ARGUMENTS, racadm::parse)));
    programs
}

fn lister(
    program: &'static str,
    arguments: &'static [&'static str],
    parse: fn(&str) -> Vec<ListedSensor>,
) -> Lister {
    (program, arguments, parse)
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

gpud_sdk::export!(ServerBmc: Descriptor::new(
    "server-bmc",
    "Inlet, fans, power supplies, voltages and leak sensors, from the management controller",
)
.interval_seconds(INTERVAL)
.set_healthy_marks()
.metric(evaluate::READING, "Reading of a sensor, by sensor and unit, in the controller's own units")
.metric(evaluate::LEAKS, "Leak sensors of the liquid cooling by what they say (dry, leak, silent)")
.metric(evaluate::SUPPLIES, "Power supplies that are there (number)")
.config_schema(SCHEMA));
