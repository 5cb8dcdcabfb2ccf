//! What a leak sensor of a liquid cooling says.
//!
//! The specification has no type for them: makers use digital sensors (table 42-2: state, limit, severity, presence) or
//! a voltage with thresholds, and words of their own. What cannot be understood is said, and neither dry nor a leak.

use gpud_builtin_ipmi::elist::ListedSensor;
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
pub fn says(config: &Config, sensor: &ListedSensor) -> Says {
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
mod tests;
