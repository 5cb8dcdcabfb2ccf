//! Sensors as FreeIPMI lists them: `ipmi-sensors --comma-separated-output --output-sensor-state --no-header-output`
//! (ipmi-sensors(8)), lines `‹record›,‹name›,‹type›,‹state›,‹reading›,‹unit›,'‹event›' '‹event›'`.
//!
//! The state is FreeIPMI's own judgement (`Nominal`, `Warning`, `Critical`, `N/A`), of thresholds and of events alike. Its
//! words for events are those of the specification; what the catalogue calls otherwise is translated.

use crate::elist::ListedSensor;
use crate::sensors::Status;

/// Sensors that are taken.
const MAX_SENSORS: usize = 1_024;
/// Longest line, bytes.
const MAX_LINE: usize = 1_024;
/// Longest name, bytes.
const MAX_NAME: usize = 64;
/// States of one sensor.
const MAX_STATES: usize = 16;
/// Words of FreeIPMI that differ from those of ipmitool: the beginning, and the replacement.
const TRANSLATED: [(&str, &str); 11] = [
    ("Power Supply Failure detected", "Failure detected"),
    ("Power Supply input lost (AC/DC)", "Power Supply AC lost"),
    (
        "Power Supply input lost or out-of-range",
        "AC lost or out-of-range",
    ),
    (
        "Power Supply input out-of-range, but present",
        "AC out-of-range, but present",
    ),
    ("Configuration error", "Config Error"),
    ("Drive Presence", "Drive Present"),
    (
        "Correctable memory error logging limit reached",
        "Correctable ECC logging limit reached",
    ),
    ("Uncorrectable memory error", "Uncorrectable ECC"),
    ("Non-redundant:", "Non-Redundant: "),
    ("Log Area Reset/Cleared", "Log area reset/cleared"),
    ("SEL Full", "Log full"),
];

/// The sensors. Names are FreeIPMI's, which are unique with `--entity-sensor-names`.
pub fn parse(text: &str) -> Vec<ListedSensor> {
    let lines = text.lines().filter(|line| line.len() <= MAX_LINE);
    lines.filter_map(parse_line).take(MAX_SENSORS).collect()
}

fn parse_line(line: &str) -> Option<ListedSensor> {
    let mut fields = line.splitn(7, ',').map(str::trim);
    fields.next()?.parse::<u32>().ok()?;
    let (name, kind, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (reading, unit, events) = (fields.next()?, fields.next()?, fields.next()?);
    if name.is_empty() {
        return None;
    }
    let status = match state {
        "Nominal" => Some(Status::Ok),
        "Warning" => Some(Status::NonCritical),
        "Critical" => Some(Status::Critical),
        "N/A" => None,
        _ => return None,
    };
    let unit = match unit {
        "C" => "degrees C",
        "V" => "Volts",
        "A" => "Amps",
        "W" => "Watts",
        "%" => "percent",
        unit => unit,
    };
    let value = reading.parse().ok().filter(|value: &f64| value.is_finite());
    Some(ListedSensor {
        name: name.get(..name.floor_char_boundary(MAX_NAME))?.to_owned(),
        // The record's number is not the sensor's.
        number: 0,
        status,
        entity: entity(kind),
        instance: 0,
        value: value.map(|value| (value, unit.to_owned())),
        states: states(events),
    })
}

/// What a sensor of a type belongs to (IPMI 2.0, table 43-13); 0 where its type does not say.
fn entity(kind: &str) -> u32 {
    match kind {
        "Processor" => 3,
        "Power Supply" => 10,
        "Drive Slot" => 26,
        "Fan" => 29,
        "Cooling Device" => 30,
        "Memory" => 32,
        "Battery" => 40,
        _ => 0,
    }
}

/// The events between single quotes. `OK` and `N/A` are none.
fn states(events: &str) -> Vec<String> {
    let words = events.split('\'').map(str::trim);
    let words = words.filter(|words| !matches!(*words, "" | "OK" | "N/A"));
    words.take(MAX_STATES).map(translated).collect()
}

/// An event in the words of the catalogue.
pub(crate) fn translated(words: &str) -> String {
    let known = TRANSLATED.iter().find_map(|(own, other)| {
        let rest = words.strip_prefix(own)?;
        Some(format!("{other}{}", rest.trim_start()))
    });
    known.unwrap_or_else(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::Weight;
    use proptest::prelude::*;

    const TEXT: &str = "4,Inlet Temp,Temperature,Nominal,22.00,C,'OK'\n\
        48,Fan1,Fan,Critical,240.00,RPM,'At or Below (<=) Lower Critical Threshold'\n\
        100,PS1 Status,Power Supply,Nominal,N/A,N/A,'Presence detected'\n\
        101,PS2 Status,Power Supply,Critical,N/A,N/A,'Presence detected' 'Power Supply input lost (AC/DC)'\n\
        116,Power Redundancy,Power Unit,Critical,N/A,N/A,'Non-redundant:Insufficient Resources'\n\
        120,Drive 3,Drive Slot,Critical,N/A,N/A,'Drive Presence' 'Drive Fault'\n\
        130,Memory,Memory,Critical,N/A,N/A,'Correctable memory error logging limit reached'\n\
        140,Temp,Temperature,N/A,N/A,C,N/A\n\
        ipmi_sdr_cache_open: /root/.freeipmi: permission denied\n";

    #[test]
    fn lines() {
        let shown: Vec<String> = parse(TEXT)
            .iter()
            .map(|one| {
                let status = one.status.map_or("none", Status::label);
                format!(
                    "{} {status} {} {:?} {}",
                    one.name,
                    one.entity,
                    one.value,
                    one.states.join("+")
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Inlet Temp ok 0 Some((22.0, \"degrees C\")) ",
                "Fan1 cr 29 Some((240.0, \"RPM\")) At or Below (<=) Lower Critical Threshold",
                "PS1 Status ok 10 None Presence detected",
                "PS2 Status cr 10 None Presence detected+Power Supply AC lost",
                "Power Redundancy cr 0 None Non-Redundant: Insufficient Resources",
                "Drive 3 cr 26 None Drive Present+Drive Fault",
                "Memory cr 32 None Correctable ECC logging limit reached",
                "Temp none 0 None ",
            ]
        );
        let worst: Vec<_> = parse(TEXT)
            .iter()
            .map(|one| one.worst().map(|(state, _)| state.weight))
            .collect();
        let (warning, fatal) = (Some(Weight::Warning), Some(Weight::Fatal));
        assert_eq!(
            worst,
            [
                None,
                None,
                None,
                warning,
                fatal,
                Some(Weight::Failed),
                warning,
                None
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n,']{0,200}") {
            for sensor in parse(&text) {
                prop_assert!(sensor.value.is_none_or(|(value, _)| value.is_finite()));
                prop_assert!(sensor.states.len() <= MAX_STATES);
            }
        }
    }
}
