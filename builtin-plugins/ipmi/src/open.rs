//! Troubles of the event log that are not over.
//!
//! An end is what the controller logs as such (`Deasserted`), another state of the same sensor (`Fully Redundant` after
//! `Redundancy Lost`), redundancy that is back, a new part in the place of the old one, a sentence that the part is well, a
//! log that was cleared, or the sensor that no longer shows the trouble. Where none of these comes, time ends it.

use std::collections::BTreeMap;

use gpud_sdk::EventType;
use serde::{Deserialize, Serialize};

use crate::elist::ListedSensor;
use crate::log::Entry;
use crate::sensors::Status;
use crate::states::{self, SensorType, State, Weight};

/// Troubles that are kept; the oldest go first.
const MAX_OPEN: usize = 64;
/// Ends the key of a trouble that is a state which is gone, such as the presence of a part.
const GONE: &str = " (over)";

/// One trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When it was first seen here, Unix milliseconds: the controller's own clock may be anything.
    pub since: u64,
    /// When it was, by the controller's clock.
    pub when: String,
    /// Whether it is one of the grave ones.
    pub critical: bool,
    /// The source's own sentence, where it writes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The open troubles by sensor and what happened.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Open(pub BTreeMap<String, Trouble>);

impl Open {
    /// Takes the new entries of a reading at a moment, Unix milliseconds; `all` are those of the whole reading.
    pub fn take(&mut self, now: u64, keep_ms: u64, all: &[Entry], new: &[&Entry]) {
        if all.is_empty() {
            // Someone cleared the log, and has seen what was in it.
            self.0.clear();
        }
        for entry in new {
            self.take_one(now, entry);
        }
        self.0
            .retain(|_, trouble| trouble.since.saturating_add(keep_ms) > now);
        while self.0.len() > MAX_OPEN {
            let oldest = self.0.iter().min_by_key(|(_, one)| one.since);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.0.remove(&key);
        }
    }

    fn take_one(&mut self, now: u64, entry: &Entry) {
        if entry.is_well() {
            let own = format!("{} ", entry.sensor);
            self.0.retain(|key, _| !key.starts_with(&own));
            return;
        }
        let state = entry.state();
        let gone = format!("{}{GONE}", entry.key());
        let key = if entry.asserted {
            if entry.is_cleared_log() {
                self.0.clear();
                return;
            }
            if let Some(state) = state {
                let is_new = state.is_new_part();
                self.end(&entry.sensor, |open| is_new || open.is_ended_by(state));
            }
            self.0.remove(&gone);
            entry.key()
        } else {
            self.0.remove(&entry.key());
            gone
        };
        let event_type = entry.event_type();
        if event_type != EventType::Info {
            let trouble = Trouble {
                since: now,
                when: entry.when.clone(),
                critical: event_type == EventType::Critical,
                text: entry.sentence.as_ref().map(|one| one.text.clone()),
            };
            self.0.insert(key, trouble);
        } else if state.is_some_and(|state| {
            state.is_redundancy() && (state.weight == Weight::Fine) == entry.asserted
        }) {
            self.end_with_redundancy(&entry.sensor);
        }
    }

    /// Ends the troubles of one sensor that have such a state.
    fn end(&mut self, sensor: &str, is_over: impl Fn(&State) -> bool) {
        self.0.retain(|key, _| {
            let (own, words, _) = parts(key);
            own != sensor || !state_of(own, words).is_some_and(&is_over)
        });
    }

    /// Ends what redundancy that is back shows to be over: once no other unit of the kind has lost it.
    fn end_with_redundancy(&mut self, sensor: &str) {
        let Some(kind) = states::of_sensor(sensor) else {
            return;
        };
        let shares = |key: &str| {
            let other = states::of_sensor(parts(key).0);
            other.is_some_and(|other| other.shares_redundancy(kind))
        };
        let of_key = |key: &str| {
            let (own, words, _) = parts(key);
            state_of(own, words)
        };
        let still_lost =
            |key: &String| shares(key) && of_key(key).is_some_and(State::is_redundancy);
        if self.0.keys().any(still_lost) {
            return;
        }
        self.0.retain(|key, _| {
            !(shares(key) && of_key(key).is_some_and(State::is_over_with_redundancy))
        });
    }

    /// The troubles of power supplies and their feed, other than redundancy.
    pub fn power(&self) -> impl Iterator<Item = (&String, &Trouble)> {
        self.0.iter().filter(|(key, _)| {
            let (sensor, words, _) = parts(key);
            let is_power = states::of_sensor(sensor).is_some_and(SensorType::is_power);
            let is_part = |state: &State| state.lasting && !state.is_redundancy();
            is_power && state_of(sensor, words).is_some_and(is_part)
        })
    }

    /// Whether there is a trouble whose end the sensor itself can show.
    pub fn is_any_lasting(&self) -> bool {
        let lasts = |key: &String| {
            let (sensor, words, _) = parts(key);
            state_of(sensor, words).is_some_and(|state| state.lasting)
        };
        self.0.keys().any(lasts)
    }

    /// Ends the lasting troubles that their sensors no longer show. A sensor without a reading shows nothing, and of
    /// several with one number all have to be well.
    pub fn compare(&mut self, sensors: &[ListedSensor]) {
        self.0.retain(|key, _| {
            let (sensor, words, is_gone) = parts(key);
            let Some(state) = state_of(sensor, words) else {
                return true;
            };
            let mut own = sensors.iter().filter(|one| is_same(sensor, one)).peekable();
            !state.lasting || own.peek().is_none() || !own.all(|one| shows_end(one, state, is_gone))
        });
    }
}

/// Sensor, words, and whether the trouble is that the state is gone.
fn parts(key: &str) -> (&str, &str, bool) {
    let (text, is_gone) = match key.strip_suffix(GONE) {
        Some(text) => (text, true),
        None => (key, false),
    };
    // The number ends the sensor's name. Where there is none, the name ends where words of the catalogue begin.
    let hash = text.find(" #").map(|at| at + 1);
    let end = match hash {
        Some(at) => text.get(at..).and_then(|rest| Some(at + rest.find(' ')?)),
        None => text.match_indices(' ').map(|(at, _)| at).find(|at| {
            let (sensor, words) = text.split_at(*at);
            state_of(sensor, words.trim_start()).is_some()
        }),
    };
    match end.and_then(|end| Some((text.get(..end)?, text.get(end + 1..)?))) {
        Some((sensor, words)) => (sensor, words, is_gone),
        None => (text, "", is_gone),
    }
}

/// Whether an entry's sensor is this one: by the number that the log writes after the type (`Fan #0x30`), or, where it
/// writes names (`Battery CMOS Battery`), by that.
fn is_same(sensor: &str, one: &ListedSensor) -> bool {
    match number(sensor) {
        Some(number) => one.number == number,
        None => sensor
            .strip_suffix(one.name.as_str())
            .is_some_and(|head| head.ends_with(' ')),
    }
}

fn state_of(sensor: &str, words: &str) -> Option<&'static State> {
    states::find(states::of_sensor(sensor), words)
}

/// The number that the event log writes after the sensor's type: `Fan #0x30`.
fn number(sensor: &str) -> Option<u8> {
    let (_, number) = sensor.rsplit_once("#0x")?;
    u8::from_str_radix(number, 16).ok()
}

fn shows_end(sensor: &ListedSensor, state: &State, is_gone: bool) -> bool {
    let is_within = match sensor.status {
        None => return false,
        Some(status) => status <= Status::NonCritical,
    };
    let says = |words: &String| {
        let kind: Option<SensorType> = states::of_entity(sensor.entity);
        states::find(kind, words).map(|one| one.words) == Some(state.words)
    };
    if is_gone {
        return sensor.states.iter().any(says);
    }
    let is_silent = sensor.states.is_empty() && sensor.value.is_none();
    let is_well = sensor.worst().is_none();
    is_within && !is_silent && is_well && !sensor.states.iter().any(says)
}

#[cfg(test)]
mod tests;
