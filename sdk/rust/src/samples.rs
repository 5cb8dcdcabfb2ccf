//! Measures the growth of a counter within a window of time, from samples taken at checks.
//!
//! The window is cut into 24 parts, and the last value of each part in which the counter moved is kept: at most 26
//! numbers, and none for a counter that stands still. The answer is exact but for the oldest part, which counts in whole.
//!
//! ```
//! use gpud_sdk::samples::Samples;
//!
//! const DAY: u64 = 86_400;
//! let mut samples = Samples::starting_at(10);
//! assert_eq!(samples.add(1_800_000_000, DAY, 12), 2);
//! assert_eq!(samples.add(1_800_000_000 + DAY + 3_600, DAY, 12), 0);
//! ```

use serde::{Deserialize, Serialize};

/// Parts of a window.
const PARTS: u64 = 24;

/// The samples of one counter, for the component's [`state`](crate::state).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Samples {
    /// Value when the window began, as far as it is known.
    start: u64,
    /// Number of the part since 1970, and the counter's value at its end; ascending.
    points: Vec<(u64, u64)>,
}

impl Samples {
    /// Returns the samples of a counter that had this value when the window began.
    pub fn starting_at(value: u64) -> Self {
        Self {
            start: value,
            points: Vec::new(),
        }
    }

    /// Adds a reading at a time (unix seconds), and returns the growth within the window (seconds) that ends there.
    pub fn add(&mut self, now: u64, window: u64, value: u64) -> u64 {
        let part = (window / PARTS).max(1);
        let last = self.points.last().map_or(self.start, |(_, value)| *value);
        if value < last {
            // The counter restarted (its driver was loaded again, or someone wrote to reset_counters).
            *self = Self::default();
        }
        let oldest = now.saturating_sub(window) / part;
        let gone = self.points.partition_point(|(at, _)| *at < oldest);
        if let Some((_, value)) = gone.checked_sub(1).and_then(|index| self.points.get(index)) {
            self.start = *value;
        }
        self.points.drain(..gone);
        let last = self.points.last().map_or(self.start, |(_, value)| *value);
        if value != last {
            match self.points.last_mut() {
                // A clock that was set back goes on in the newest part.
                Some((at, last)) if *at >= now / part => *last = value,
                _ => self.points.push((now / part, value)),
            }
        }
        // Only clocks that jump can make more.
        let excess = self.points.len().saturating_sub(PARTS as usize + 2);
        self.points.drain(..excess);
        value.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;
    const NOW: u64 = 1_800_000_000;

    #[test]
    fn only_new_errors_are_counted() {
        let mut samples = Samples::starting_at(10);
        for (after, value, expected) in [
            (0, 10, 0),
            (60, 12, 2),
            (HOUR, 15, 5),
            (DAY - HOUR, 15, 5),
            (DAY, 20, 10),
            (DAY + 2 * HOUR, 20, 5),
            (3 * DAY, 20, 0),
            (3 * DAY + 60, 4, 4),
            (3 * DAY + 120, 5, 5),
            (10 * DAY, 5, 0),
        ] {
            assert_eq!(samples.add(NOW + after, DAY, value), expected, "{after}");
        }
        assert_eq!(samples, Samples::starting_at(5));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Against counting each step by itself: never less than the window holds, and never more than the window and
        /// one part of it hold.
        #[test]
        fn between_two_exact_counts(steps in prop::collection::vec((0..4 * HOUR, 0..50u64), 1..120)) {
            let (mut now, mut value) = (NOW, 0);
            let mut samples = Samples::starting_at(0);
            let mut history: Vec<(u64, u64)> = Vec::new();
            for (wait, growth) in steps {
                now += wait;
                value += growth;
                history.push((now, growth));
                let found = samples.add(now, DAY, value);
                let exact = |window: u64| -> u64 {
                    history.iter().filter(|(at, _)| *at + window >= now).map(|(_, growth)| growth).sum()
                };
                prop_assert!(exact(DAY) <= found && found <= exact(DAY + HOUR), "{} {found}", exact(DAY));
                prop_assert!(samples.points.len() <= 26);
            }
        }

        #[test]
        fn bounded_whatever_the_clock_does(steps in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200), window in any::<u64>()) {
            let mut samples = Samples::default();
            for (now, value) in steps {
                samples.add(now, window, value);
                prop_assert!(samples.points.len() <= 26);
            }
        }
    }
}
