//! Sensors with thresholds: `ipmitool -c sdr list full` (ipmitool(1)), lines `‹name›,‹reading›,‹unit›,‹status›`. Status:
//! `ok`, `nc` non-critical, `cr` critical, `nr` non-recoverable, `ns` no reading (Intelligent Platform Management Interface
//! Specification 2.0, §35.15).

use std::collections::BTreeMap;

/// Sensors that are taken.
const MAX_SENSORS: usize = 1_024;
/// Longest name or unit, bytes.
const MAX_BYTES: usize = 64;

/// The position of a sensor's reading between its thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Within.
    Ok,
    /// Beyond the first.
    NonCritical,
    /// Beyond the second.
    Critical,
    /// Beyond the last.
    NonRecoverable,
}

impl Status {
    /// As ipmitool has it; the long list has `l` (lower) or `u` (upper) before.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "ok" => Some(Self::Ok),
            "nc" | "lnc" | "unc" => Some(Self::NonCritical),
            "cr" | "lcr" | "ucr" => Some(Self::Critical),
            "nr" | "lnr" | "unr" => Some(Self::NonRecoverable),
            _ => None,
        }
    }

    /// As a label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NonCritical => "nc",
            Self::Critical => "cr",
            Self::NonRecoverable => "nr",
        }
    }
}

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Name.
    pub name: String,
    /// Reading.
    pub value: f64,
    /// For example `degrees C`, `RPM`, `Volts`, `Watts`.
    pub unit: String,
    /// Status.
    pub status: Status,
}

/// The same, of an answer that has to look like a list of sensors.
///
/// # Errors
/// In words, when it does not.
pub fn read(text: &str) -> Result<Vec<Sensor>, String> {
    if !text.trim().is_empty() && !text.lines().any(|line| parse_line(line).is_some()) {
        return Err("ipmitool gave no list of sensors".to_owned());
    }
    Ok(parse(text))
}

/// The sensors that have a reading. Boards have several of one name (a `Temp` of each processor); the second is called
/// `Temp #2`, in the order of the controller.
pub fn parse(text: &str) -> Vec<Sensor> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut sensors = Vec::new();
    for line in text.lines().take(MAX_SENSORS) {
        let Some((name, sensor)) = parse_line(line) else {
            continue;
        };
        // One without a reading counts too, so that the names stay while it has none.
        let count = seen.entry(name.to_owned()).or_default();
        *count += 1;
        let Some(mut sensor) = sensor else { continue };
        if *count > 1 {
            sensor.name = format!("{name} #{count}");
        }
        sensors.push(sensor);
    }
    sensors
}

/// The sensors whose status is one of thresholds.
///
/// A reading without a unit is not measured, and `sdr list full` shows a status all the same: of old controllers (iLO 2)
/// the bits of a state, read as thresholds. One that is called critical so shows a controller on which only what has a
/// temperature, a speed or a voltage can be taken at its word.
pub fn judged(sensors: &[Sensor]) -> impl Iterator<Item = &Sensor> {
    let is_unmeasured = |sensor: &Sensor| matches!(sensor.unit.as_str(), "unspecified" | "");
    let misleads = sensors
        .iter()
        .any(|one| is_unmeasured(one) && one.status >= Status::Critical);
    sensors.iter().filter(move |one| {
        let sure = ["degrees C", "degrees F", "RPM", "Volts"].contains(&one.unit.as_str());
        !is_unmeasured(one) && (sure || !misleads)
    })
}

/// A name, and its reading where there is one.
fn parse_line(line: &str) -> Option<(&str, Option<Sensor>)> {
    let mut fields = line.rsplitn(4, ',').map(str::trim);
    let (status, unit, value) = (fields.next()?, fields.next()?, fields.next()?);
    let name = fields.next().filter(|name| !name.is_empty())?;
    if name.len() > MAX_BYTES || unit.len() > MAX_BYTES {
        return None;
    }
    let reading = || {
        let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite())?;
        Some(Sensor {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            status: Status::parse(status)?,
        })
    };
    Some((name, reading()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines() {
        let text = "CPU1 Temp,45,degrees C,ok\nFAN1,,,ns\nFAN2,300,RPM,cr\n12V,11.2,Volts,lnc\nPS1 Status,0x01,ok\nbad\n";
        let found: Vec<_> = parse(text)
            .into_iter()
            .map(|one| {
                format!(
                    "{} {} {} {}",
                    one.name,
                    one.value,
                    one.unit,
                    one.status.label()
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "CPU1 Temp 45 degrees C ok",
                "FAN2 300 RPM cr",
                "12V 11.2 Volts nc"
            ]
        );
    }

    #[test]
    fn what_is_no_list() {
        for (text, expected) in [
            ("", Some(0)),
            ("FAN1,,,ns\n", Some(0)),
            ("T,45,degrees C,ok\n", Some(1)),
            ("usage: ipmitool\n", None),
            ("\u{fffd}\u{1}", None),
        ] {
            assert_eq!(read(text).ok().map(|list| list.len()), expected, "{text}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names =
            |text: &str| -> Vec<String> { parse(text).into_iter().map(|one| one.name).collect() };
        let both = "Temp,45,degrees C,ok\nTemp,46,degrees C,ok\n";
        assert_eq!(names(both), ["Temp", "Temp #2"]);
        assert_eq!(names("Temp,,,ns\nTemp,46,degrees C,ok\n"), ["Temp #2"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n,]{0,200}") {
            for sensor in parse(&text) {
                prop_assert!(sensor.value.is_finite());
            }
        }
    }
}
