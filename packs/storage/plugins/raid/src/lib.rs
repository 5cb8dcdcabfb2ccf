//! `storage-raid`: RAID controllers of Broadcom (MegaRAID), Dell (PERC) and HPE (Smart Array): virtual and physical drives,
//! the cache's backup, the controller itself. Asked through `storcli`, `perccli` or `ssacli`, which only show here.

pub mod evaluate;
pub mod ssacli;
pub mod storcli;

use gpud_pack_common::ask;
use gpud_sdk::files;
use gpud_sdk::findings::{self, Memory};
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
/// Numbers of HPE's controllers begin here on a machine that has both.
const HPE_FROM: u64 = 100;
/// Kernel drivers of RAID controllers that storcli and perccli know (`/sys/class/scsi_host/*/proc_name`).
const DRIVERS: [&str; 2] = ["megaraid_sas", "mpi3mr"];

struct StorageRaid;

impl Checker for StorageRaid {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let hosts = files::read_all("/sys/class/scsi_host/*/proc_name")?;
        let has = |drivers: &[&str]| {
            let mut names = hosts.iter().map(|(_, driver)| driver.as_str());
            names.any(|driver| drivers.contains(&driver))
        };
        let (is_broadcom, is_hpe) = (has(&DRIVERS), has(&ssacli::DRIVERS));
        if !is_broadcom && !is_hpe && config.controllers == 0 {
            let reason = "no RAID controller with the driver megaraid_sas, mpi3mr, hpsa or smartpqi on this machine";
            return Ok(findings::unsupported(context, reason));
        }
        let of_hpe = if is_hpe { ask_hpe()? } else { None };
        let of_broadcom = match is_broadcom || !is_hpe {
            true => Some(ask_broadcom()?),
            false => None,
        };
        let answer = match both(of_broadcom, of_hpe) {
            Some(answer) => answer,
            // The drivers also serve adapters of others without RAID, which ssacli does not know.
            None if config.controllers == 0 => {
                let reason =
                    "a controller with the driver hpsa or smartpqi, and ssacli is not installed";
                return Ok(findings::unsupported(context, reason));
            }
            None => Err("ssacli is not installed".to_owned()),
        };
        let before = Memory::load()?;
        let answer = answer.as_ref().map_err(String::as_str);
        let (report, after) = evaluate::judge(context, &config, answer, &before);
        after.keep(&before)?;
        Ok(report)
    }
}

/// Both makers' controllers; nothing where neither was asked.
fn both(
    broadcom: Option<Result<Answer, String>>,
    hpe: Option<Result<Answer, String>>,
) -> Option<Result<Answer, String>> {
    let (mut broadcom, mut hpe) = match (broadcom, hpe) {
        (Some(broadcom), Some(hpe)) => match (broadcom, hpe) {
            (Err(why), Err(_)) => return Some(Err(why)),
            (broadcom, hpe) => (unread(broadcom, 0), unread(hpe, 0)),
        },
        (one, other) => return one.or(other),
    };
    for controller in &mut hpe.controllers {
        controller.number = controller.number.saturating_add(HPE_FROM);
    }
    for (number, _) in &mut hpe.unread {
        *number = number.saturating_add(HPE_FROM);
    }
    broadcom.controllers.append(&mut hpe.controllers);
    broadcom.unread.append(&mut hpe.unread);
    Some(Ok(broadcom))
}

/// An answer; of one that is none, a controller that could not be read.
fn unread(answer: Result<Answer, String>, number: u64) -> Answer {
    answer.unwrap_or_else(|why| Answer {
        controllers: Vec::new(),
        unread: vec![(number, why)],
    })
}

/// HPE's controllers; nothing where its program is not there.
fn ask_hpe() -> Result<Option<Result<Answer, String>>, AccessError> {
    for program in ssacli::PROGRAMS {
        let answer = match ask::ask(program, &ssacli::ARGUMENTS, SECONDS) {
            // An older grant of the operator's does not have it.
            Ok(ask::Answer::Missing) | Err(AccessError::Denied(_)) => continue,
            answer => answer?,
        };
        // It ends with a status other than 0 where a controller needs attention.
        return Ok(Some(match answer {
            ask::Answer::Said(said) if !said.stdout.trim().is_empty() => {
                ssacli::parse(&said.stdout)
            }
            answer => answer.output().and_then(|text| ssacli::parse(&text)),
        }));
    }
    Ok(None)
}

/// The controllers that storcli or perccli know, with serial numbers of failed disks.
fn ask_broadcom() -> Result<Result<Answer, String>, AccessError> {
    Ok(match ask_all()? {
        Ok((program, mut answer)) => {
            ask_serials(program, &mut answer)?;
            Ok(answer)
        }
        Err(why) => Err(why),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storcli::Controller;

    fn answer(number: u64) -> Answer {
        Answer {
            controllers: vec![Controller {
                number,
                ..Controller::default()
            }],
            unread: Vec::new(),
        }
    }

    #[test]
    fn controllers_of_both_makers_have_numbers_of_their_own() {
        let found = both(Some(Ok(answer(0))), Some(Ok(answer(0))))
            .unwrap()
            .unwrap();
        let numbers: Vec<u64> = found.controllers.iter().map(|one| one.number).collect();
        assert_eq!(numbers, [0, HPE_FROM]);
        let found = both(Some(Ok(answer(0))), Some(Err("busy".to_owned())));
        assert_eq!(
            found.unwrap().unwrap().unread,
            [(HPE_FROM, "busy".to_owned())]
        );
        let found = both(None, Some(Ok(answer(3))));
        assert_eq!(found, Some(Ok(answer(3))));
        assert_eq!(both(None, None), None);
        let none = both(Some(Err("one".to_owned())), Some(Err("two".to_owned())));
        assert_eq!(none, Some(Err("one".to_owned())));
    }
}
