//! What a leak sensor of a liquid cooling says.
//!
//! The specification has no type for them: makers use digital sensors (table 42-2: state, limit, severity, presence) or
//! a voltage with thresholds, and words of their own. What cannot be understood is said, and neither dry nor a leak.

use gpud_builtin_ipmi::elist::Sensor;
use gpud_builtin_ipmi::sensors::Status;

use crate::config::Config;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// All is dry.
    Dry,
    /// A little coolant: the sensor calls it not critical.
    Drip,
    /// Coolant.
    Leak,
    /// Nothing: no reading, or its device is not there.
    Nothing,
    /// A state that means either.
    Unclear(String),
}

const LEAK: [&str; 9] = [
    "State Asserted",
    "Limit Exceeded",
    "Predictive Failure asserted",
    "Predictive Failure Asserted",
    "Transition to Critical",
    "Transition to Non-recoverable",
    "Leak",
    "Critical",
    "Failure detected",
];
const DRIP: [&str; 2] = ["Transition to Non-critical", "Warning"];
const DRY: [&str; 11] = [
    "State Deasserted",
    "Limit Not Exceeded",
    "Predictive Failure deasserted",
    "Predictive Failure Deasserted",
    "Transition to OK",
    "No Leak",
    "No leak",
    "OK",
    "Device Present",
    "Device Inserted",
    "Presence detected",
];
const ABSENT: [&str; 2] = ["Device Absent", "Device Removed"];

/// Reads one.
pub fn says(config: &Config, sensor: &Sensor) -> Says {
    let own = |words: &[String]| {
        let begins = |state: &String| words.iter().any(|word| state.starts_with(word.as_str()));
        sensor.states.iter().any(begins)
    };
    if own(&config.leak_states) {
        return Says::Leak;
    }
    if own(&config.dry_states) {
        return Says::Dry;
    }
    let threshold = match sensor.status {
        None => return Says::Nothing,
        Some(Status::Ok) => Says::Dry,
        Some(Status::NonCritical) => Says::Drip,
        Some(Status::Critical | Status::NonRecoverable) => return Says::Leak,
    };
    if sensor.is_any(&LEAK) {
        return Says::Leak;
    }
    if sensor.is_any(&DRIP) || threshold == Says::Drip {
        return Says::Drip;
    }
    if sensor.is_any(&ABSENT) {
        return Says::Nothing;
    }
    let known = |state: &String| DRY.iter().any(|word| state.starts_with(word));
    match sensor.states.iter().find(|state| !known(state)) {
        Some(state) => Says::Unclear(state.clone()),
        None => Says::Dry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_ipmi::elist;

    #[test]
    fn words_of_makers() {
        for (config, status, reading, expected) in [
            ("{}", "ok", "", Says::Dry),
            ("{}", "ok", "State Deasserted", Says::Dry),
            ("{}", "ok", "State Asserted", Says::Leak),
            ("{}", "ok", "Transition to OK", Says::Dry),
            ("{}", "ok", "Transition to Non-critical from OK", Says::Drip),
            (
                "{}",
                "ok",
                "Transition to Critical from less severe",
                Says::Leak,
            ),
            ("{}", "ok", "Device Present, Leak detected", Says::Leak),
            ("{}", "ok", "1.65 Volts", Says::Dry),
            ("{}", "lnc", "1.20 Volts", Says::Drip),
            ("{}", "lcr", "0.80 Volts", Says::Leak),
            ("{}", "ns", "No Reading", Says::Nothing),
            ("{}", "ok", "Device Absent", Says::Nothing),
            (
                "{}",
                "ok",
                "OEM Event 3",
                Says::Unclear("OEM Event 3".into()),
            ),
            (
                r#"{"leak_states":["OEM Event 3"]}"#,
                "ok",
                "OEM Event 3",
                Says::Leak,
            ),
            // On boards where the rope's circuit is closed while it is dry.
            (
                r#"{"dry_states":["State Asserted"],"leak_states":["State Deasserted"]}"#,
                "ok",
                "State Asserted",
                Says::Dry,
            ),
            (
                r#"{"dry_states":["State Asserted"],"leak_states":["State Deasserted"]}"#,
                "ok",
                "State Deasserted",
                Says::Leak,
            ),
        ] {
            let sensors = elist::parse(&format!("Leak 1 | 10h | {status} | 7.1 | {reading}"));
            let config = Config::parse(config).unwrap();
            assert_eq!(says(&config, &sensors[0]), expected, "{status} {reading}");
        }
    }
}
