//! Sensors of all kinds: `ipmitool sdr elist all` (ipmitool(1)), lines `‹name› | ‹number›h | ‹status› | ‹entity› | ‹reading›`.
//!
//! The status is that of a threshold (`ok`, `lnc` … `unr`) or `ns` for none; the entity is what the sensor belongs to,
//! by the numbers of the Intelligent Platform Management Interface Specification 2.0, table 43-13, and an instance. The
//! reading is a value with its unit, the states that are asserted (table 42-2, 42-3, in ipmitool's words), or both.

use std::collections::BTreeMap;

use crate::sensors::Status;
use crate::states::{self, State, Weight};

/// Sensors that are taken.
const MAX_SENSORS: usize = 1_024;
/// Longest line, bytes.
const MAX_LINE: usize = 512;
/// Longest name, bytes.
const MAX_NAME: usize = 64;
/// States of one sensor: the specification has 15.
const MAX_STATES: usize = 16;
/// The words that replace a missing reading.
const NO_READING: [&str; 4] = ["No Reading", "Disabled", "Not Readable", "Unknown"];

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSensor {
    /// As the board's maker calls it. Where several have the same name, or one that says nothing (`Status`), with what it
    /// belongs to: `Status (power supply 2)`.
    pub name: String,
    /// Its number, which entries of the event log name; not always unique.
    pub number: u8,
    /// Its threshold status; nothing where the controller has no reading.
    pub status: Option<Status>,
    /// What it belongs to: 10 power supply, 29 fan, 55 and 64 air inlet.
    pub entity: u32,
    /// Which one of these.
    pub instance: u32,
    /// Value and unit (`degrees C`, `RPM`, `Volts`, `Watts`, `percent` …), if it has one.
    pub value: Option<(f64, String)>,
    /// States that are asserted.
    pub states: Vec<String>,
}

impl ListedSensor {
    /// Whether any of its states begins like this.
    pub fn is_any(&self, beginnings: &[&str]) -> bool {
        let begins = |state: &String| beginnings.iter().any(|words| state.starts_with(words));
        self.states.iter().any(begins)
    }

    /// Its gravest state that is a trouble, with its words.
    pub fn worst(&self) -> Option<(&'static State, &str)> {
        let troubles = self.troubles();
        troubles.max_by_key(|(state, _)| state.weight)
    }

    /// Its states that are a trouble, with their words.
    pub fn troubles(&self) -> impl Iterator<Item = (&'static State, &str)> {
        let kind = states::of_entity(self.entity);
        let known = self.states.iter().filter_map(move |words| {
            let state = states::find(kind, words)?;
            Some((state, words.as_str()))
        });
        known.filter(|(state, _)| state.weight > Weight::Fine)
    }

    /// Whether it measures in this unit.
    pub fn is_in(&self, unit: &str) -> bool {
        self.value.as_ref().is_some_and(|(_, own)| own == unit)
    }
}

/// Names that say nothing without what the sensor belongs to.
const BARE: [&str; 3] = ["Status", "Presence", "State"];

/// The sensors, with names that differ.
pub fn parse(text: &str) -> Vec<ListedSensor> {
    let mut sensors: Vec<ListedSensor> = text
        .lines()
        .filter_map(parse_line)
        .take(MAX_SENSORS)
        .collect();
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for sensor in &sensors {
        *names.entry(sensor.name.clone()).or_default() += 1;
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for sensor in &mut sensors {
        let several = names.get(&sensor.name).is_some_and(|count| *count > 1);
        if several || BARE.contains(&sensor.name.as_str()) {
            sensor.name = format!(
                "{} ({})",
                sensor.name,
                entity(sensor.entity, sensor.instance)
            );
        }
        let count = seen.entry(sensor.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            sensor.name = format!("{} #{count}", sensor.name);
        }
    }
    sensors
}

/// Names the part that a sensor belongs to (table 43-13). Instances from 60h on are counted within their device.
fn entity(entity: u32, instance: u32) -> String {
    let word = match entity {
        3 => "processor",
        4 => "disk",
        6 => "management module",
        7 => "system board",
        8 => "memory module",
        9 => "processor module",
        10 => "power supply",
        11 => "add-in card",
        12 => "front panel",
        13 => "back panel",
        15 => "disk backplane",
        16 => "expansion board",
        19 => "power unit",
        20 => "power module",
        23 => "chassis",
        26 => "disk bay",
        29 => "fan",
        30 => "cooling unit",
        31 => "cable",
        32 => "memory device",
        37 | 55 | 64 => "air inlet",
        40 => "battery",
        65 => "processor area",
        66 => "board area",
        other => return format!("entity {other}.{instance}"),
    };
    let number = match instance {
        96.. => instance - 96,
        instance => instance,
    };
    format!("{word} {number}")
}

fn parse_line(line: &str) -> Option<ListedSensor> {
    if line.len() > MAX_LINE {
        return None;
    }
    // From the end: makers have put bars into names.
    let mut fields = line.rsplitn(5, '|').map(str::trim);
    let (reading, entity, status) = (fields.next()?, fields.next()?, fields.next()?);
    let number = fields.next()?.strip_suffix('h')?;
    let number = u8::from_str_radix(number, 16).ok()?;
    let name = fields.next().filter(|name| !name.is_empty())?;
    let (entity, instance) = entity.split_once('.')?;
    let status = match status {
        "ns" => None,
        status => Some(Status::parse(status)?),
    };
    let mut sensor = ListedSensor {
        name: name.get(..name.floor_char_boundary(MAX_NAME))?.to_owned(),
        number,
        status,
        entity: entity.trim().parse().ok()?,
        instance: instance.trim().parse().ok()?,
        value: None,
        states: Vec::new(),
    };
    if NO_READING.contains(&reading) {
        sensor.status = None;
    } else if sensor.status.is_some() {
        read(reading, &mut sensor);
    }
    Some(sensor)
}

fn read(reading: &str, sensor: &mut ListedSensor) {
    for (place, part) in reading.split(", ").map(str::trim).enumerate() {
        let value = part.split_once(' ').and_then(|(value, unit)| {
            let value: f64 = value.parse().ok()?;
            value.is_finite().then(|| (value, unit.to_owned()))
        });
        match value {
            Some(value) if place == 0 => sensor.value = Some(value),
            // Words that have a comma themselves.
            _ if part == "but present" && !sensor.states.is_empty() => {
                if let Some(before) = sensor.states.last_mut() {
                    before.push_str(", but present");
                }
            }
            _ if part.is_empty() || sensor.states.len() >= MAX_STATES => {}
            _ => sensor.states.push(part.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "Inlet Temp       | 04h | ok  |  7.1 | 22 degrees C\n\
        Fan1 RPM         | 30h | lcr | 29.1 | 240 RPM\n\
        12V | AUX | 31h | ok  |  7.1 | 12.10 Volts\n\
        PS1 Status       | C8h | ok  | 10.88 | Presence detected, Failure detected\n\
        Power Supply 2   | 40h | ok  | 10.2 | 25 Watts, Presence detected\n\
        PS3 Status       | CAh | ns  | 10.3 | Disabled\n\
        Temp             | 0Eh | ok  |  3.1 | No Reading\n\
        Temp             | 0Fh | ok  |  3.2 | 41 degrees C\n\
        Intrusion        | 73h | ok  |  7.1 | \n\
        CPU Usage        | 90h | na  |  7.1 | 34 unspecified\n\
        Unable to send command: Invalid argument\n";

    #[test]
    fn lines() {
        let shown = |one: &ListedSensor| {
            let (value, unit) = one.value.clone().unwrap_or((-1.0, String::new()));
            let status = one.status.map_or("none", Status::label);
            format!(
                "{} {status} {} {value} {unit} {}",
                one.name,
                one.entity,
                one.states.join("+")
            )
        };
        let shown: Vec<String> = parse(TEXT).iter().map(shown).collect();
        assert_eq!(
            shown,
            [
                "Inlet Temp ok 7 22 degrees C ",
                "Fan1 RPM cr 29 240 RPM ",
                "12V | AUX ok 7 12.1 Volts ",
                "PS1 Status ok 10 -1  Presence detected+Failure detected",
                "Power Supply 2 ok 10 25 Watts Presence detected",
                "PS3 Status none 10 -1  ",
                "Temp (processor 1) none 3 -1  ",
                "Temp (processor 2) ok 3 41 degrees C ",
                "Intrusion ok 7 -1  ",
            ]
        );
    }

    #[test]
    fn names_say_which_part() {
        let text = "Status | 10h | ok | 3.96 | \nStatus | 11h | ok | 10.1 | Presence detected\n\
            Status | 12h | ok | 10.2 | Presence detected, AC out-of-range, but present\nStatus | 13h | ok | 10.2 | \n\
            Fan | 14h | ok | 29.1 | Transition to Critical from less severe\nPresence | 15h | ok | 99.1 | Absent\n";
        let sensors = parse(text);
        let names: Vec<&str> = sensors.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "Status (processor 0)",
                "Status (power supply 1)",
                "Status (power supply 2)",
                "Status (power supply 2) #2",
                "Fan",
                "Presence (entity 99.1)",
            ]
        );
        assert_eq!(
            sensors[2].worst().unwrap().1,
            "AC out-of-range, but present"
        );
        assert_eq!(sensors[4].worst().unwrap().0.weight, Weight::Warning);
        assert_eq!(sensors[1].worst(), None);
        assert_eq!((sensors[4].number, sensors[4].instance), (0x14, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~|\n,ä]{0,300}") {
            for sensor in parse(&text) {
                prop_assert!(sensor.value.is_none_or(|(value, _)| value.is_finite()));
                prop_assert!(sensor.states.len() <= MAX_STATES);
            }
        }

        #[test]
        fn what_ipmitool_writes_is_read(name in "[A-Za-z][A-Za-z0-9 _+-]{0,13}[A-Za-z0-9]", number in any::<u8>(), entity in 0u32..256,
                                        value in -1000i32..100_000, status in "(ok|lnc|ucr|unr)") {
            let line = format!("{name:<16} | {number:02X}h | {status:<3} | {entity:2}.1 | {value} RPM");
            let found = parse(&line);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(&found[0].name, &name);
            prop_assert_eq!(found[0].entity, entity);
            prop_assert_eq!(found[0].value.clone(), Some((f64::from(value), "RPM".to_owned())));
        }
    }
}
