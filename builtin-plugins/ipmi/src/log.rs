//! The system event log: `ipmitool -c sel list` (ipmitool(1)), lines `‹number›,‹date›,‹time›,‹sensor›,‹what›,‹Asserted or
//! Deasserted›`. The words for what happened are ipmitool's for the sensor types and offsets of the Intelligent Platform
//! Management Interface Specification 2.0, table 42-3. Records of kernel panics (`lib/ipmi_sel.c`, type F0h) have neither date
//! nor sensor: `‹number›,,,Linux kernel panic: ‹text›`.

use std::collections::BTreeSet;

use gpud_sdk::EventType;
use serde::{Deserialize, Serialize};

use crate::states::{self, State, Weight};

/// Entries that are taken.
const MAX_ENTRIES: usize = 256;
/// Longest text of one, bytes.
const MAX_BYTES: usize = 256;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What makes it the same: number, sensor, and what happened; the numbers restart when the log is cleared. Not the
    /// time: ipmitool writes it in the machine's time zone, and since 1.8.19 with the zone's name.
    pub id: String,
    /// Date and time by the controller's clock, as written.
    pub when: String,
    /// Type and number of the sensor, for example `Memory #0x01`.
    pub sensor: String,
    /// What happened.
    pub what: String,
    /// False: it is over.
    pub asserted: bool,
    /// What the source itself says, where it writes sentences.
    pub sentence: Option<Sentence>,
}

/// An entry's sentence, as Dell's controllers write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// How grave the source calls it; used, and set, only where the catalogue does not have what it says.
    pub weight: Option<Weight>,
    /// Whether it says that the part is well, whatever was wrong with it.
    pub is_well: bool,
}

/// The entries, in the order of the log.
pub fn parse(text: &str) -> Vec<Entry> {
    text.lines()
        .filter_map(parse_line)
        .take(MAX_ENTRIES)
        .collect()
}

fn parse_line(line: &str) -> Option<Entry> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut fields = line.splitn(4, ',').map(str::trim);
    let (number, date, time) = (fields.next()?, fields.next()?, fields.next()?);
    u32::from_str_radix(number, 16).ok()?;
    let rest = fields.next()?;
    if rest.starts_with(PANIC) {
        return Some(Entry {
            id: format!("{number} {rest}"),
            when: "no date".to_owned(),
            sensor: "Operating system".to_owned(),
            what: rest.to_owned(),
            asserted: true,
            sentence: None,
        });
    }
    let (sensor, rest) = rest.split_once(',')?;
    // Some events have no direction.
    let (what, asserted) = match rest.rsplit_once(',') {
        Some((what, "Asserted")) => (what, true),
        Some((what, "Deasserted")) => (what, false),
        _ => (rest, true),
    };
    let (sensor, what) = (sensor.trim(), what.trim().trim_end_matches(','));
    let when = format!("{date} {time}");
    let direction = if asserted { "" } else { " over" };
    Some(Entry {
        id: format!("{number} {sensor} {what}{direction}"),
        when: when.trim().to_owned(),
        sensor: sensor.to_owned(),
        what: what.to_owned(),
        asserted,
        sentence: None,
    })
}

impl Entry {
    /// The state of the sensor that it tells of, where the catalogue has it.
    pub fn state(&self) -> Option<&'static State> {
        if self.own_weight().is_some() {
            return None;
        }
        states::find(states::of_sensor(&self.sensor), &self.what)
    }

    /// How serious it is.
    pub fn event_type(&self) -> EventType {
        let state = self.state();
        let has = |words: &[&str]| words.iter().any(|word| self.what.contains(word));
        let weight = match (state, self.asserted) {
            (Some(state), true) => state.weight,
            (Some(state), false) => state.gone,
            (None, false) => Weight::Fine,
            (None, true) => match self.own_weight() {
                Some(weight) => weight,
                None if has(&CRITICAL) => Weight::Fatal,
                None if has(&WARNING) => Weight::Warning,
                None => Weight::Fine,
            },
        };
        match weight {
            Weight::Fine => EventType::Info,
            Weight::Warning => EventType::Warning,
            Weight::Failed | Weight::Fatal => EventType::Critical,
        }
    }

    fn own_weight(&self) -> Option<Weight> {
        self.sentence.as_ref()?.weight
    }

    /// Whether it says that its part is well, whatever was wrong with it.
    pub fn is_well(&self) -> bool {
        self.sentence.as_ref().is_some_and(|one| one.is_well)
    }

    /// The log has no room. Where the controller overwrites the oldest entries, this is not the last one.
    pub fn is_full_log(&self) -> bool {
        self.asserted && self.what == "Log full"
    }

    /// Someone cleared the log, and the controller began the new one with this.
    pub fn is_cleared_log(&self) -> bool {
        self.asserted && self.what.starts_with("Log area reset/cleared")
    }

    /// What makes the end of a trouble that of its beginning.
    pub fn key(&self) -> String {
        format!("{} {}", self.sensor, self.what)
    }
}

const PANIC: &str = "Linux kernel panic";
/// Words of makers that the catalogue does not have.
const CRITICAL: [&str; 4] = [PANIC, "Uncorrectable", "Non-recoverable", "Fatal"];
const WARNING: [&str; 4] = [
    "Critical",
    "Failure detected",
    "Predictive Failure",
    "Predictive failure",
];

/// The entries of the last reading, retained between checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenEntries {
    /// Entries of the last reading; nothing before the first.
    ids: Option<BTreeSet<String>>,
}

impl SeenEntries {
    /// Takes a reading; gives the entries that are new. Those of the first reading are not: the log can be years old.
    pub fn take<'a>(&mut self, entries: &'a [Entry]) -> Vec<&'a Entry> {
        let is_new = |entry: &&Entry| {
            self.ids
                .as_ref()
                .is_some_and(|ids| !ids.contains(&entry.id))
        };
        let new: Vec<&Entry> = entries.iter().filter(is_new).collect();
        self.ids = Some(entries.iter().map(|entry| entry.id.clone()).collect());
        new
    }
}

#[cfg(test)]
mod tests;
