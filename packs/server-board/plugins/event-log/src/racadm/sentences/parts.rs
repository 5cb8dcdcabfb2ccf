//! Sentences about a part, by its kind: each reads those of one kind, in lower case.

use super::PartReport::{Is, Over, Well};
use super::words::{first, number_after, split, typed};
use super::{Meaning, meaning};

/// Power supplies.
pub(super) fn supply(lower: &str) -> Option<Meaning> {
    let number = number_after(lower, "power supply ").or_else(|| number_after(lower, "psu "))?;
    let has = |words: &str| lower.contains(words);
    let is_input = has("input");
    let said = if is_input && has("restored") {
        Over("Power Supply AC lost")
    } else if is_input && (has("lost") || has("not receiving")) {
        Is("Power Supply AC lost")
    } else if has("predictive failure") {
        Is("Predictive failure")
    } else if has("operating normally") || has("within range") || has(" correctly configured") {
        Well
    } else if is_input && (has("outside") || has("out of range")) {
        Is("AC out-of-range, but present")
    } else if has("fail") {
        Is("Failure detected")
    } else if has("absent") || has("removed") {
        Over("Presence detected")
    } else if has("is present") || has("inserted") || has("installed") {
        Is("Presence detected")
    } else if has("incorrectly configured") || has("mismatch") || has("not supported") {
        Is("Config Error")
    } else {
        return None;
    };
    Some(meaning(&format!("Power Supply {number}"), said))
}

/// Readings with limits: temperatures, fans, voltages.
pub(super) fn threshold(lower: &str) -> Option<Meaning> {
    let (subject, rest) = split(lower)?;
    let said = if rest.contains("within range") || rest.contains("returned to normal") {
        Well
    } else if rest.contains("threshold") {
        let words = first(
            rest,
            &[
                ("lower critical", "Lower Critical going low"),
                ("lower warning", "Lower Non-critical going low"),
                ("upper critical", "Upper Critical going high"),
                ("upper warning", "Upper Non-critical going high"),
            ],
        )?;
        Is(words)
    } else if rest.contains("outside of range") || rest.contains("out of range") {
        Is("Limit Exceeded")
    } else {
        return None;
    };
    let kind = first(
        subject,
        &[
            ("fan", "Fan"),
            ("temperature", "Temperature"),
            ("voltage", "Voltage"),
            ("current", "Current"),
        ],
    );
    Some(meaning(&typed(kind.unwrap_or("Other"), subject), said))
}

/// Drives, by bay or by enclosure.
pub(super) fn drive(lower: &str) -> Option<Meaning> {
    if lower.starts_with("virtual disk") {
        return None;
    }
    let sensor = if let Some(number) = number_after(lower, "drive ") {
        match number_after(lower, "bay ") {
            Some(bay) => format!("Drive Slot {number} bay {bay}"),
            None => format!("Drive Slot {number}"),
        }
    } else if number_after(lower, "disk ").is_some() {
        let (subject, _) = split(lower)?;
        let at = subject.find("disk ")?;
        format!("Drive Slot {}", subject.get(at..)?)
    } else {
        return None;
    };
    let has = |words: &str| lower.contains(words);
    let said = if has("predictive failure") {
        Is("Predictive Failure")
    } else if has("rebuild") && (has("abort") || has("fail") || has("cancel")) {
        Is("Rebuild Aborted")
    } else if has("rebuil") {
        Is("Rebuild In Progress")
    } else if has("operating normally") || has("is online") || has("is ready") {
        Well
    } else if has("in critical array") {
        Is("In Critical Array")
    } else if has("in failed array") {
        Is("In Failed Array")
    } else if has("fault") || has("failed") || has("failure") {
        Is("Drive Fault")
    } else if has("removed") || has("absent") {
        Over("Drive Present")
    } else if has("installed") || has("inserted") || has("is present") {
        Is("Drive Present")
    } else {
        return None;
    };
    Some(meaning(&sensor, said))
}

/// Processors.
pub(super) fn processor(lower: &str) -> Option<Meaning> {
    let number = number_after(lower, "cpu ")?;
    let has = |words: &str| lower.contains(words);
    let said = if has("ierr") || has("internal error") {
        Is("IERR")
    } else if has("thermal trip") {
        Is("Thermal Trip")
    } else if has("machine check") && has("correct") && !has("uncorrect") {
        Is("Correctable machine check error")
    } else if has("machine check") {
        Is("Uncorrectable machine check exception")
    } else if has("initialization error") || has("failed to initialize") {
        Is("FRB3/Processor startup/init failure")
    } else if has("configuration") || has("unsupported") || has("mismatch") {
        Is("Configuration Error")
    } else if has("throttl") {
        Is("Throttled")
    } else if has("absent") || has("removed") {
        Over("Presence detected")
    } else if has("is present") {
        Is("Presence detected")
    } else if has("operating") && (has("normally") || has("correctly")) {
        Well
    } else {
        return None;
    };
    Some(meaning(&format!("Processor CPU {number}"), said))
}

/// Batteries, of the board and of RAID controllers.
pub(super) fn battery(lower: &str) -> Option<Meaning> {
    if !lower.contains("battery") {
        return None;
    }
    let (subject, rest) = split(lower)?;
    let said = if rest.contains("fail") {
        Is("Failed")
    } else if rest.contains("is low") {
        Is("Low")
    } else if rest.contains("operating normally") || rest.contains("is good") {
        Well
    } else if rest.contains("absent") || rest.contains("removed") {
        Over("Presence Detected")
    } else if rest.contains("present") {
        Is("Presence Detected")
    } else {
        return None;
    };
    Some(meaning(&typed("Battery", subject), said))
}

/// Memory modules.
pub(super) fn memory(lower: &str) -> Option<Meaning> {
    if !lower.contains("memory") && !lower.contains("dimm") {
        return None;
    }
    let has = |words: &str| lower.contains(words);
    let said = if has("multi-bit") || has("uncorrectable") {
        Is("Uncorrectable ECC")
    } else if has("parity") {
        Is("Parity")
    } else if has("scrub") && has("fail") {
        Is("Memory Scrub Failed")
    } else if has("correctable") && (has("limit") || has("exceeded") || has("disabled")) {
        Is("Correctable ECC logging limit reached")
    } else if has("correctable") || has("single-bit") {
        Is("Correctable ECC")
    } else if has("operating normally") {
        Well
    } else if has("disabled") {
        Is("Memory Device Disabled")
    } else if has("not configur") || has("mismatch") || has("unsupported") {
        Is("Configuration Error")
    } else {
        return None;
    };
    let sensor = format!("Memory {}", module(lower));
    Some(meaning(sensor.trim_end(), said))
}

/// The memory module that is named: `DIMM_A1`, `DIMM A1`, `DIMM.Socket.A1`.
fn module(lower: &str) -> String {
    let Some(rest) = lower.find("dimm").and_then(|at| lower.get(at..)) else {
        return String::new();
    };
    let is_end = |one: char| one.is_whitespace() || matches!(one, ',' | ';' | ')');
    let mut words = rest.split(is_end).filter(|word| !word.is_empty());
    let name = match words.next() {
        Some("dimm") => format!("DIMM_{}", words.next().unwrap_or_default()),
        Some(name) => name.to_owned(),
        None => String::new(),
    };
    name.trim_end_matches(['.', '_']).to_ascii_uppercase()
}
