//! What Dell's sentences mean, in the words of the catalogue.
//!
//! There are two forms. Controllers up to iDRAC 6 write the IPMI state: `PS Redundancy: PS redundancy sensor, redundancy lost
//! was asserted`. Later ones write the sentences of Dell's Event and Error Messages guide: `The power input for power supply
//! 2 is lost.` A sentence that is not known names its part and has Dell's own severity.

mod parts;
mod words;

use gpud_builtin_ipmi::states;

use super::clipped;
use words::{first, split};

/// Longest name of a part, bytes.
const MAX_SENSOR: usize = 80;
/// Longest words for a state, bytes.
const MAX_WHAT: usize = 120;

/// The meaning of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// The part, by the catalogue's type where that is known: `Power Supply 2`.
    pub sensor: String,
    /// What is with it.
    pub what: String,
    /// False: it is over.
    pub asserted: bool,
    /// Whether the part is well, whatever was wrong with it.
    pub is_well: bool,
    /// Whether the catalogue has it.
    pub is_known: bool,
}

/// The reported state of a part.
enum PartReport {
    /// It is in this state of the catalogue.
    Is(&'static str),
    /// It is no longer in this state.
    Over(&'static str),
    /// It is well.
    Well,
}

use PartReport::{Is, Over, Well};

/// Reads a sentence without its full stop; `part` is Dell's name of the part, where there is one.
pub fn read(text: &str, part: &str) -> Meaning {
    let lower = text.to_ascii_lowercase();
    let lower = lower.as_str();
    older(text)
        .or_else(|| log_itself(lower))
        .or_else(|| watchdog(lower))
        .or_else(|| redundancy(lower))
        .or_else(|| parts::supply(lower))
        .or_else(|| parts::threshold(lower))
        .or_else(|| parts::drive(lower))
        .or_else(|| parts::processor(lower))
        .or_else(|| parts::battery(lower))
        .or_else(|| parts::memory(lower))
        .or_else(|| chassis(lower))
        .unwrap_or_else(|| unknown(lower, part))
}

fn meaning(sensor: &str, said: PartReport) -> Meaning {
    let (what, asserted, is_well) = match said {
        Is(words) => (words, true, false),
        Over(words) => (words, false, false),
        Well => ("is well", true, true),
    };
    Meaning {
        sensor: clipped(sensor, MAX_SENSOR).to_owned(),
        what: what.to_owned(),
        asserted,
        is_well,
        is_known: !is_well,
    }
}

/// `‹name›: ‹type› sensor[ for ‹place›], ‹state› was ‹asserted or deasserted›`.
fn older(text: &str) -> Option<Meaning> {
    let (head, direction) = text.rsplit_once(" was ")?;
    let asserted = match direction.trim() {
        "asserted" => true,
        "deasserted" => false,
        _ => return None,
    };
    let (name, rest) = head.split_once(": ")?;
    let (kind, state) = rest.split_once(", ")?;
    let (kind, _) = kind.split_once(" sensor")?;
    let lower = kind.to_ascii_lowercase();
    let kind = match lower.as_str() {
        kind if kind.contains("redundancy") && kind.contains("fan") => "Cooling Device",
        kind if kind.contains("redundancy") => "Power Unit",
        _ if states::of_sensor(kind).is_some() => kind,
        _ => "",
    };
    let what = match state.to_ascii_lowercase().as_str() {
        "input lost" | "ac lost" | "input lost (ac/dc)" => "Power Supply AC lost",
        "log cleared" => "Log area reset/cleared",
        "redundancy regained" => "Fully Redundant",
        "chassis intrusion" => "General Chassis intrusion",
        _ => state,
    };
    let sensor = format!("{kind} {name}");
    let sensor = clipped(sensor.trim(), MAX_SENSOR);
    if sensor.is_empty() {
        return None;
    }
    Some(Meaning {
        sensor: sensor.to_owned(),
        what: clipped(what, MAX_WHAT).to_owned(),
        asserted,
        is_well: false,
        is_known: states::find(states::of_sensor(sensor), what).is_some(),
    })
}

fn log_itself(lower: &str) -> Option<Meaning> {
    let said = match lower {
        "log cleared" | "log was cleared" => Is("Log area reset/cleared"),
        _ if lower.contains("event log was cleared") || lower.contains("event log is cleared") => {
            Is("Log area reset/cleared")
        }
        _ if lower.contains("event log is full") => Is("Log full"),
        _ => return None,
    };
    Some(meaning("Event Logging Disabled", said))
}

fn watchdog(lower: &str) -> Option<Meaning> {
    let (_, rest) = lower.split_once("watchdog timer")?;
    let words = first(
        rest,
        &[
            ("reset", "Hard reset"),
            ("cycle", "Power cycle"),
            ("power", "Power down"),
            ("expired", "Timer expired"),
        ],
    )?;
    Some(meaning("Watchdog2", Is(words)))
}

fn redundancy(lower: &str) -> Option<Meaning> {
    let (head, _) = lower.split_once("redundan")?;
    let sensor = if head.contains("power suppl") {
        "Power Unit power supplies".to_owned()
    } else if head.contains("fan") {
        "Cooling Device fans".to_owned()
    } else {
        let name = head.strip_prefix("the ").unwrap_or(head).trim();
        let name = name.split(" is").next().unwrap_or(name);
        format!("Other {}", name.split(" are").next().unwrap_or(name))
    };
    let words = first(
        lower,
        &[
            (
                "insufficient resources",
                "Non-Redundant: Insufficient Resources",
            ),
            ("sufficient resources", "Non-Redundant: Sufficient"),
            ("lost", "Redundancy Lost"),
            ("degraded", "Redundancy Degraded"),
            ("not redundant", "Redundancy Lost"),
            ("regained", "Fully Redundant"),
            ("restored", "Fully Redundant"),
            ("fully redundant", "Fully Redundant"),
            ("are redundant", "Fully Redundant"),
            ("is redundant", "Fully Redundant"),
        ],
    )?;
    Some(meaning(&sensor, Is(words)))
}

fn chassis(lower: &str) -> Option<Meaning> {
    let words = "General Chassis intrusion";
    let said = if lower.contains("chassis is open") || lower.contains("intrusion") {
        Is(words)
    } else if lower.contains("chassis is closed") {
        Over(words)
    } else {
        return None;
    };
    Some(meaning("Physical Security", said))
}

/// Words that say that a part of any kind is well.
const WELL: [&str; 6] = [
    "operating normally",
    "functioning normally",
    "within range",
    "returned to optimal",
    "is optimal",
    "has been restored",
];

/// A sentence in its own words: the part first, so that what is said of it later can end it.
fn unknown(lower: &str, part: &str) -> Meaning {
    let (sensor, what) = match lower.split_once(" detected on ") {
        Some((what, object)) => {
            let articles = ["a ", "an ", "the "];
            let object = articles
                .iter()
                .find_map(|article| object.strip_prefix(article))
                .unwrap_or(object);
            (object, what.strip_suffix(" was").unwrap_or(what))
        }
        None => split(lower).unwrap_or((part, lower)),
    };
    let sensor = if sensor.is_empty() { "system" } else { sensor };
    Meaning {
        sensor: clipped(sensor, MAX_SENSOR).to_owned(),
        what: clipped(what, MAX_WHAT).to_owned(),
        asserted: true,
        is_well: WELL.iter().any(|words| lower.contains(words)),
        is_known: false,
    }
}
