//! The states of discrete sensors and what each of them means for the machine.
//!
//! The types and offsets are those of the Intelligent Platform Management Interface Specification 2.0, tables 42-1 to 42-3;
//! the words are ipmitool's. The same table serves for a sensor that shows a state and for an entry of the event log that
//! records one. [`find`] takes words as ipmitool prints them: with another case, and with details in brackets after them.

#[rustfmt::skip]
mod generic;
#[rustfmt::skip]
mod specific;
mod types;

pub use types::{SensorType, of_entity, of_sensor};

/// How grave a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing is wrong.
    Fine,
    /// A part needs attention: an event of type Warning, and Degraded while it lasts.
    Warning,
    /// A part has failed that the machine can do without for a while: an event of type Critical, and Degraded.
    Failed,
    /// The machine cannot be relied on: an event of type Critical, and Unhealthy.
    Fatal,
}

impl Weight {
    /// As the catalogue's table in the documentation has it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Fatal => "fatal",
        }
    }
}

/// The kinds of parts that a state belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Any sensor with this event/reading type (table 42-2); a sensor is in one state of it at a time, but for thresholds.
    Generic(u8),
    /// Sensors of this sensor type (table 42-3); several states can hold at once.
    Specific(u8),
}

/// One state of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// What it belongs to.
    pub class: Class,
    /// Its offset in the table.
    pub offset: u8,
    /// ipmitool's words for it.
    pub words: &'static str,
    /// How grave it is while it is asserted.
    pub weight: Weight,
    /// How grave it is that it is no longer asserted, as for the presence of a part.
    pub gone: Weight,
    /// Whether the sensor shows it as long as it lasts. The others are occurrences: a reset, an error.
    pub lasting: bool,
}

/// The event/reading type of thresholds.
const THRESHOLD: u8 = 0x01;
/// The event/reading type of redundancy.
const REDUNDANCY: u8 = 0x0b;

impl State {
    /// A state that lasts, and is nothing wrong.
    const fn fine(class: Class, offset: u8, words: &'static str) -> Self {
        Self {
            class,
            offset,
            words,
            weight: Weight::Fine,
            gone: Weight::Fine,
            lasting: true,
        }
    }

    /// A trouble that lasts.
    const fn trouble(class: Class, offset: u8, words: &'static str, weight: Weight) -> Self {
        Self {
            weight,
            ..Self::fine(class, offset, words)
        }
    }

    /// Something that happened.
    const fn occurrence(class: Class, offset: u8, words: &'static str, weight: Weight) -> Self {
        Self {
            lasting: false,
            ..Self::trouble(class, offset, words, weight)
        }
    }

    /// The presence of a part that is missed when it goes.
    const fn presence(class: Class, offset: u8, words: &'static str) -> Self {
        Self {
            gone: Weight::Warning,
            ..Self::fine(class, offset, words)
        }
    }

    /// Whether the sensor leaves this state by entering the other one.
    pub fn is_ended_by(&self, other: &Self) -> bool {
        match (self.class, other.class) {
            (Class::Generic(THRESHOLD), Class::Generic(THRESHOLD)) => {
                // Going low and going high of one threshold: an even offset and the next.
                self.offset != other.offset && self.offset / 2 == other.offset / 2
            }
            (Class::Generic(own), Class::Generic(others)) => own == others,
            _ => false,
        }
    }

    /// Whether it says how redundant a unit is.
    pub fn is_redundancy(&self) -> bool {
        self.class == Class::Generic(REDUNDANCY)
    }

    /// Whether a part was put in, which ends what was wrong with the one before.
    pub fn is_new_part(&self) -> bool {
        matches!((self.class, self.offset), (Class::Specific(0x08 | 0x0d), 0))
    }

    /// Whether redundancy that is back shows that it is over: a unit with a failed part, or one without its feed, is not
    /// fully redundant. A part that will fail, or is the wrong one, may well be.
    pub fn is_over_with_redundancy(&self) -> bool {
        match self.class {
            Class::Generic(0x07 | 0x08 | 0x0a | THRESHOLD) => true,
            Class::Specific(0x08) => matches!(self.offset, 0 | 1 | 3..=5),
            Class::Specific(0x09) => matches!(self.offset, 4..=6),
            _ => false,
        }
    }
}

/// All states: those of any sensor, then those of a sensor type.
pub fn all() -> impl Iterator<Item = &'static State> {
    generic::STATES.iter().chain(specific::STATES)
}

/// Finds the state that these words name; nothing for words of a maker's own. What is known of the sensor decides between
/// types that share words; where nothing is known, the least grave.
pub fn find(sensor: Option<SensorType>, words: &str) -> Option<&'static State> {
    let fits: Vec<&State> = all().filter(|state| begins(words, state.words)).collect();
    let longest = fits.iter().map(|state| state.words.len()).max()?;
    let fits = || {
        fits.iter()
            .filter(move |state| state.words.len() == longest)
    };
    let own = |state: &&&State| match state.class {
        Class::Generic(_) => true,
        Class::Specific(kind) => sensor.is_some_and(|sensor| sensor.0 == kind),
    };
    let found = fits().filter(own).max_by_key(|state| state.weight);
    found
        .or_else(|| fits().min_by_key(|state| state.weight))
        .copied()
}

/// Whether a text begins with these words, whatever their case.
fn begins(text: &str, words: &str) -> bool {
    let Some(head) = text.get(..words.len()) else {
        return false;
    };
    let rest = text.get(words.len()..).unwrap_or_default();
    head.eq_ignore_ascii_case(words) && !rest.starts_with(|next: char| next.is_alphanumeric())
}

#[cfg(test)]
mod tests;
