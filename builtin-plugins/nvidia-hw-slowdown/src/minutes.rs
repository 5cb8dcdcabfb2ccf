//! In which minutes each GPU was seen slowed down.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What counts, seconds.
pub const WINDOW_SECONDS: u64 = 600;
/// Minutes of the window.
pub const WINDOW_MINUTES: u64 = WINDOW_SECONDS / 60;
/// So many of them are too many.
pub const TOO_MANY: u64 = 6;

/// By UUID, when it was last seen in each minute: Unix seconds, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Minutes(BTreeMap<String, Vec<u64>>);

impl Minutes {
    /// What was seen after a moment, Unix milliseconds.
    pub fn later_than(&self, moment: u64) -> Self {
        self.keep(|second| second * 1000 > moment)
    }

    /// What counts now (Unix seconds). The future, of a clock that was set back, is forgotten.
    pub fn at(&self, now: u64) -> Self {
        self.keep(|second| second <= now && second + WINDOW_SECONDS > now)
    }

    fn keep(&self, keep: impl Fn(u64) -> bool) -> Self {
        let gpus = self.0.iter().map(|(uuid, seconds)| {
            let kept = seconds.iter().copied().filter(|second| keep(*second));
            (uuid.clone(), kept.collect::<Vec<_>>())
        });
        Self(gpus.filter(|(_, seconds)| !seconds.is_empty()).collect())
    }

    /// A GPU was seen slowed down now (Unix seconds).
    pub fn add(&mut self, uuid: &str, now: u64) {
        let seconds = self.0.entry(uuid.to_owned()).or_default();
        match seconds.last_mut() {
            Some(last) if *last / 60 == now / 60 => *last = now,
            _ => seconds.push(now),
        }
    }

    /// In how many different minutes any GPU was seen so.
    pub fn count(&self) -> u64 {
        let minutes = self.0.values().flatten().map(|second| second / 60);
        let minutes: BTreeSet<u64> = minutes.collect();
        u64::try_from(minutes.len()).unwrap_or(u64::MAX)
    }

    /// The GPUs that were seen so.
    pub fn has(&self, uuid: &str) -> bool {
        self.0.contains_key(uuid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_minutes_of_all_gpus_together() {
        let mut minutes = Minutes::default();
        for (uuid, second, count) in [
            ("a", 6_000, 1),
            ("a", 6_059, 1),
            ("b", 6_010, 1),
            ("b", 6_060, 2),
            ("a", 6_180, 3),
        ] {
            minutes.add(uuid, second);
            assert_eq!(minutes.count(), count, "{uuid} {second}");
        }
        assert!(minutes.has("a") && !minutes.has("c"));
    }

    #[test]
    fn the_window_is_open_at_its_beginning() {
        let mut minutes = Minutes::default();
        minutes.add("a", 6_000);
        minutes.add("b", 6_100);
        for (now, count) in [
            (5_999, 0),
            (6_000, 1),
            (6_100, 2),
            (6_599, 2),
            (6_600, 1),
            (6_700, 0),
        ] {
            assert_eq!(minutes.at(now).count(), count, "{now}");
        }
        assert_eq!(minutes.at(6_700), Minutes::default());
        for (moment, count) in [(5_999_999, 2), (6_000_000, 1), (6_100_000, 0)] {
            assert_eq!(minutes.later_than(moment).count(), count, "{moment}");
        }
    }
}
