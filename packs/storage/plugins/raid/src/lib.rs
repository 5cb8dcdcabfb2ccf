//! `storage-raid`: RAID controllers of Broadcom (MegaRAID) and Dell (PERC): virtual and physical drives, the cache's
//! backup, the controller itself. Asked through `storcli` or `perccli`, which only show here.

pub mod evaluate;
pub mod storcli;

use gpud_builtin_shared::files;
use gpud_builtin_shared::findings::{self, Memory};
use gpud_pack_common::ask;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use evaluate::{Config, SCHEMA};
use storcli::Answer;

/// Where the makers' packages put their programs.
const PROGRAMS: [&str; 6] = [
    "/opt/MegaRAID/perccli/perccli64",
    "/opt/MegaRAID/perccli2/perccli2",
    "/opt/MegaRAID/storcli/storcli64",
    "/opt/MegaRAID/storcli2/storcli2",
    "storcli64",
    "perccli64",
];
/// `nolog`: without it the program leaves a log file where it runs.
const ARGUMENTS: [&str; 5] = ["/call", "show", "all", "J", "nolog"];
/// Asking a controller with a hundred disks takes some ten seconds.
const SECONDS: u32 = 45;
/// Failed disks that are asked for their serial number.
const MAX_ASKED: usize = 4;
const SERIAL_SECONDS: u32 = 3;
const INTERVAL: u64 = 5 * 60;
/// Kernel drivers of RAID controllers (`/sys/class/scsi_host/*/proc_name`).
const DRIVERS: [&str; 2] = ["megaraid_sas", "mpi3mr"];

struct StorageRaid;

impl Checker for StorageRaid {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let hosts = files::read_all("/sys/class/scsi_host/*/proc_name")?;
        let found = hosts
            .iter()
            .filter(|(_, driver)| DRIVERS.contains(&driver.as_str()));
        if found.count() == 0 && config.controllers == 0 {
            let reason =
                "no RAID controller with the driver megaraid_sas or mpi3mr on this machine";
            return Ok(findings::unsupported(context, reason));
        }
        let mut answer = ask_all()?;
        if let Ok((program, answer)) = &mut answer {
            ask_serials(program, answer)?;
        }
        let before = Memory::load()?;
        let answer = answer.as_ref().map(|(_, answer)| answer);
        let answer = answer.map_err(String::as_str);
        let (report, after) = evaluate::judge(context, &config, answer, &before);
        after.keep(&before)?;
        Ok(report)
    }
}

/// The controllers, of the first program that knows any, and that program.
fn ask_all() -> Result<Result<(&'static str, Answer), String>, AccessError> {
    let mut why = "neither storcli nor perccli is installed".to_owned();
    for program in PROGRAMS {
        let text = match ask::ask(program, &ARGUMENTS, SECONDS)? {
            ask::Answer::Missing => continue,
            // It ends with a status other than 0 also where it has answered.
            ask::Answer::Said(said) if said.stdout.contains('{') => said.stdout,
            ask::Answer::Silent(silent) => return Ok(Err(silent)),
            answer => {
                why = answer.output().err().unwrap_or_default();
                continue;
            }
        };
        match storcli::parse(&text) {
            Ok(answer) if answer.controllers.is_empty() => {
                "no controller answers to its program".clone_into(&mut why);
            }
            answer => return Ok(answer.map(|answer| (program, answer))),
        }
    }
    Ok(Err(why))
}

/// Asks for the serial numbers of failed disks: the person who replaces one needs more than its place.
fn ask_serials(program: &str, answer: &mut Answer) -> Result<(), AccessError> {
    let all = answer.controllers.iter_mut().flat_map(|controller| {
        let number = controller.number;
        controller.disks.iter_mut().map(move |disk| (number, disk))
    });
    for (number, disk) in all.filter(|(_, disk)| disk.has_failed()).take(MAX_ASKED) {
        let (enclosure, slot) = disk.slot.split_once(':').unwrap_or(("", &disk.slot));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (enclosure, slot) = (enclosure.trim(), slot.trim());
        if slot.is_empty() || !is_number(slot) || !is_number(enclosure) {
            continue;
        }
        let place = match enclosure {
            "" => format!("/c{number}/s{slot}"),
            enclosure => format!("/c{number}/e{enclosure}/s{slot}"),
        };
        let arguments = [place.as_str(), "show", "all", "J", "nolog"];
        if let ask::Answer::Said(said) = ask::ask(program, &arguments, SERIAL_SECONDS)? {
            disk.serial = storcli::serial(&said.stdout).unwrap_or_default();
        }
    }
    Ok(())
}

gpud_sdk::export!(StorageRaid: Descriptor::new(
    "storage-raid",
    "RAID controllers, their virtual and physical drives and the backup of their cache",
)
.interval_seconds(INTERVAL)
.metric(evaluate::VOLUMES, "Virtual drives by controller and state (number)")
.metric(evaluate::DISKS, "Physical drives by controller and state (number)")
.metric(evaluate::TEMPERATURE, "Temperature of a controller's processor (degrees Celsius)")
.config_schema(SCHEMA));
