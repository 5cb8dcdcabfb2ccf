//! What HPE's `ssacli` (before: `hpssacli`) says to `ctrl all show config detail`: lines `key: value`, below a controller, an
//! array, a logical or a physical drive. Words are turned into those of [`crate::storcli`], so that one verdict judges all.
//!
//! | of | states |
//! |---|---|
//! | logical drive | OK, Failed, Interim Recovery Mode, Ready for Rebuild, Recovering, Rebuilding, Transforming, Queued for Expansion … |
//! | physical drive | OK, Predictive Failure, Failed, Rebuilding, Missing |
//! | cache | OK, Not Configured, Temporarily Disabled, Permanently Disabled |
//! | battery or capacitor | OK, Recharging, Not Fully Charged, Failed … |

use crate::storcli::{Answer, Backup, Controller, Disk, Volume};

/// Where HPE's packages put the program.
pub const PROGRAMS: [&str; 3] = [
    "/opt/smartstorageadmin/ssacli/bin/ssacli",
    "ssacli",
    "hpssacli",
];
/// Arguments that list all controllers with all that they have.
pub const ARGUMENTS: [&str; 5] = ["ctrl", "all", "show", "config", "detail"];
/// Kernel drivers of HPE's controllers.
pub const DRIVERS: [&str; 2] = ["hpsa", "smartpqi"];

/// Controllers that are taken.
const MAX_CONTROLLERS: usize = 16;
/// Drives of one controller that are taken.
const MAX_ROWS: usize = 512;
/// Longest text that is taken, bytes.
const MAX_TEXT: usize = 128;

/// The parts that lines belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Controller,
    Volume,
    Disk,
    /// An array, a port, an enclosure: nothing that is judged.
    Other,
}

/// Reads the text.
///
/// # Errors
/// No controller is in it: what the program complains of instead.
pub fn parse(text: &str) -> Result<Answer, String> {
    let mut controllers: Vec<Controller> = Vec::new();
    let mut part = Part::Other;
    for line in text.lines() {
        let trimmed = line.trim();
        let is_heading = !line.starts_with([' ', '\t']);
        if is_heading && let Some(controller) = heading(trimmed) {
            if controllers.len() >= MAX_CONTROLLERS {
                break;
            }
            controllers.push(controller);
            part = Part::Controller;
            continue;
        }
        if let Some(one) = controllers.last_mut() {
            part = take(one, part, trimmed);
        }
    }
    if controllers.is_empty() {
        let complaint = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(complaint.map_or_else(
            || "it says nothing".to_owned(),
            |line| shortened(line.trim_start_matches("Error:").trim()),
        ));
    }
    Ok(Answer {
        controllers,
        unread: Vec::new(),
    })
}

/// `HPE Smart Array P816i-a SR Gen10 in Slot 0 (Embedded)`.
fn heading(line: &str) -> Option<Controller> {
    let (model, rest) = line.split_once(" in Slot ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(Controller {
        number: digits.parse().ok()?,
        model: shortened(model),
        ..Controller::default()
    })
}

/// Takes a line below a controller; gives what the next lines belong to.
fn take(controller: &mut Controller, part: Part, line: &str) -> Part {
    if let Some(slot) = line.strip_prefix("physicaldrive ") {
        // In brackets: it is only named as a member of a logical drive.
        if slot.contains('(') || controller.disks.len() >= MAX_ROWS {
            return part;
        }
        controller.disks.push(Disk {
            slot: shortened(slot),
            ..Disk::default()
        });
        return Part::Disk;
    }
    let Some((key, value)) = line.split_once(':') else {
        // A heading without a value, such as `unassigned`; blank lines are none.
        return if line.is_empty() { part } else { Part::Other };
    };
    let (key, value) = (key.trim(), value.trim());
    match key {
        "Logical Drive" if controller.volumes.len() < MAX_ROWS => {
            controller.volumes.push(Volume {
                id: shortened(value),
                ..Volume::default()
            });
            return Part::Volume;
        }
        "Array" | "Port Name" | "Logical Drive" | "SEP" | "Enclosure" | "Expander" => {
            return Part::Other;
        }
        _ => {}
    }
    match part {
        Part::Controller => of_controller(controller, key, value),
        Part::Volume => {
            if let Some(volume) = controller.volumes.last_mut() {
                of_volume(volume, key, value);
            }
        }
        Part::Disk => {
            if let Some(disk) = controller.disks.last_mut() {
                of_disk(disk, key, value);
            }
        }
        Part::Other => {}
    }
    part
}

fn of_controller(controller: &mut Controller, key: &str, value: &str) {
    match key {
        "Serial Number" => controller.serial = shortened(value),
        "Controller Status" => controller.status = shortened(value),
        "Controller Temperature (C)" => {
            controller.celsius = value.parse().ok().filter(|value| (1..=200).contains(value));
        }
        "Cache Status" => {
            let state = match value {
                "OK" | "Not Configured" => "Optimal".to_owned(),
                // So it is while the battery charges; one that has failed says so itself.
                "Temporarily Disabled" => "Charging".to_owned(),
                other => shortened(other),
            };
            let model = "(write cache)".to_owned();
            controller.backups.push(Backup { model, state });
        }
        "Battery/Capacitor Status" => {
            let state = match value {
                "OK" => "Optimal".to_owned(),
                "Recharging" | "Not Fully Charged" => "Charging".to_owned(),
                other => shortened(other),
            };
            let model = "(battery or capacitor)".to_owned();
            controller.backups.push(Backup { model, state });
        }
        _ => {}
    }
}

fn of_volume(volume: &mut Volume, key: &str, value: &str) {
    match key {
        "Fault Tolerance" => volume.level = shortened(&format!("RAID{value}")),
        "Disk Name" => {
            // `/dev/sda          Mount Points: None` in older versions.
            let name = value.split_ascii_whitespace().next().unwrap_or_default();
            volume.name = shortened(name);
        }
        "Status" => {
            volume.state = match value {
                "OK" => "Optl".to_owned(),
                "Failed" => "OfLn".to_owned(),
                "Interim Recovery Mode" | "Ready for Rebuild" => "Dgrd".to_owned(),
                other if other.starts_with("Recovering") || other.starts_with("Rebuilding") => {
                    "Rec".to_owned()
                }
                other
                    if other.starts_with("Transforming")
                        || other.starts_with("Queued for Expansion") =>
                {
                    "TRANS".to_owned()
                }
                other => shortened(other),
            };
        }
        _ => {}
    }
}

fn of_disk(disk: &mut Disk, key: &str, value: &str) {
    match key {
        "Status" => {
            let (state, status) = match value {
                "OK" => ("Onln", ""),
                "Failed" => ("Failed", ""),
                "Missing" | "Not Present" => ("Msng", ""),
                other if other.starts_with("Rebuilding") => ("Rbld", ""),
                other => ("Onln", other),
            };
            state.clone_into(&mut disk.state);
            disk.status = shortened(status);
        }
        // After the status: what the drive is for says more than that it is well.
        "Drive Type" if disk.state == "Onln" => {
            let state = match value {
                "Spare Drive" => "GHS",
                "Unassigned Drive" => "UGood",
                value if value.starts_with("HBA Mode") => "JBOD",
                _ => return,
            };
            state.clone_into(&mut disk.state);
        }
        "Serial Number" => disk.serial = shortened(value),
        "Model" => {
            let words: Vec<&str> = value.split_ascii_whitespace().collect();
            disk.model = shortened(&words.join(" "));
        }
        _ => {}
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_TEXT);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
