//! Sensors as Dell's `racadm getsensorinfo` lists them (iDRAC RACADM CLI guide): a heading `Sensor Type : FAN`, a line with the
//! names of the columns, and a line for each sensor, whose columns are two spaces or more apart.
//!
//! The words are racadm's own; they are turned into those of the catalogue, so that one verdict judges all.

use gpud_builtin_ipmi::elist::ListedSensor;
use gpud_builtin_ipmi::sensors::Status;

/// What lists the sensors.
pub const ARGUMENTS: [&str; 1] = ["getsensorinfo"];

/// Sensors that are taken.
const MAX_SENSORS: usize = 1_024;
/// Longest line, bytes.
const MAX_LINE: usize = 512;
/// Longest name and state, bytes.
const MAX_TEXT: usize = 64;

/// The kinds of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Supply,
    Reading,
    Fan,
    Processor,
    Memory,
    Battery,
    Redundancy,
    /// Nothing that is judged, such as the load of the processors.
    Other,
}

impl Kind {
    fn parse(text: &str) -> Self {
        match text {
            "POWER" => Self::Supply,
            "TEMPERATURE" | "VOLTAGE" | "CURRENT" => Self::Reading,
            "FAN" => Self::Fan,
            "PROCESSOR" => Self::Processor,
            "MEMORY" => Self::Memory,
            "BATTERY" => Self::Battery,
            "REDUNDANCY" => Self::Redundancy,
            _ => Self::Other,
        }
    }

    /// The entity of its sensors (IPMI 2.0, table 43-13); 0 where it does not say.
    fn entity(self) -> u32 {
        match self {
            Self::Supply => 10,
            Self::Fan => 29,
            Self::Processor => 3,
            Self::Memory => 32,
            Self::Battery => 40,
            Self::Reading | Self::Redundancy | Self::Other => 0,
        }
    }
}

/// The sensors.
pub fn parse(text: &str) -> Vec<ListedSensor> {
    let mut kind = Kind::Other;
    let mut sensors = Vec::new();
    for line in text.lines().filter(|line| line.len() <= MAX_LINE) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Sensor Type") {
            kind = Kind::parse(rest.trim_start_matches([' ', ':']).trim());
        } else if !line.starts_with(['<', '[']) && sensors.len() < MAX_SENSORS {
            sensors.extend(sensor(kind, line));
        }
    }
    sensors
}

fn sensor(kind: Kind, line: &str) -> Option<ListedSensor> {
    let mut columns = line
        .split("  ")
        .map(str::trim)
        .filter(|one| !one.is_empty());
    let (name, says) = (columns.next()?, columns.next()?);
    let detail = columns.next().unwrap_or_default();
    let mut sensor = ListedSensor {
        name: shortened(name),
        number: 0,
        status: None,
        entity: kind.entity(),
        instance: 0,
        value: None,
        states: Vec::new(),
    };
    match kind {
        Kind::Other => return None,
        Kind::Supply => supply(&mut sensor, says),
        Kind::Redundancy => sensor.states.extend(redundancy(says)),
        Kind::Reading | Kind::Fan => {
            sensor.status = status(says)?;
            match reading(detail) {
                Some(value) => sensor.value = Some(value),
                // `Good` of a voltage that is only compared.
                None if sensor.status > Some(Status::Ok) => sensor.states.extend(words(detail)),
                None => {}
            }
        }
        Kind::Processor | Kind::Memory | Kind::Battery => {
            sensor.status = status(says)?;
            sensor.states.extend(words(detail));
        }
    }
    Some(sensor)
}

/// A power supply has only words.
fn supply(sensor: &mut ListedSensor, says: &str) {
    let lower = says.to_lowercase();
    let is_absent = lower.contains("absent") || lower == "n/a";
    if is_absent {
        return;
    }
    sensor.states.push("Presence detected".to_owned());
    let state = match lower.as_str() {
        "present" | "ok" | "presence detected" => return,
        text if text.contains("predictive") => "Predictive failure".to_owned(),
        text if text.contains("lost") => "Power Supply AC lost".to_owned(),
        text if text.contains("fail") => "Failure detected".to_owned(),
        _ => shortened(&says.replace('_', " ")),
    };
    sensor.status = Some(Status::Critical);
    sensor.states.push(state);
}

/// Redundancy in the words of table 42-2.
fn redundancy(says: &str) -> Option<String> {
    let lower = says.to_lowercase();
    Some(match lower.as_str() {
        text if text.contains("full") => "Fully Redundant".to_owned(),
        text if text.contains("lost") => "Redundancy Lost".to_owned(),
        text if text.contains("degraded") => "Redundancy Degraded".to_owned(),
        // Nothing is to be redundant there.
        _ => return None,
    })
}

/// A status; `None` inside where there is no reading, `None` for a word that is none.
fn status(says: &str) -> Option<Option<Status>> {
    Some(match says.to_lowercase().as_str() {
        "ok" => Some(Status::Ok),
        "warning" | "non-critical" | "noncritical" => Some(Status::NonCritical),
        "critical" | "failed" => Some(Status::Critical),
        "non-recoverable" | "nonrecoverable" => Some(Status::NonRecoverable),
        "n/a" | "na" | "unknown" | "disabled" => None,
        _ => return None,
    })
}

/// `21C`, `5880RPM`, `222.00V`, `1.0Amps`, `224Watts`; a long one is only one space away from the next column.
fn reading(text: &str) -> Option<(f64, String)> {
    let text = text.split_ascii_whitespace().next()?;
    let end = text.find(|one: char| !one.is_ascii_digit() && !matches!(one, '.' | '-'))?;
    let (value, unit) = text.split_at(end);
    let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    let unit = match unit {
        "C" => "degrees C",
        "RPM" => "RPM",
        "V" => "Volts",
        "Amps" => "Amps",
        "Watts" => "Watts",
        _ => return None,
    };
    Some((value, unit.to_owned()))
}

/// A state in words; those that say only that a part is there, or is not, are none.
fn words(detail: &str) -> Option<String> {
    let text = detail.replace('_', " ");
    match text.to_lowercase().as_str() {
        "" | "na" | "n/a" | "good" | "present" | "absent" => None,
        _ => Some(shortened(&text)),
    }
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
