//! The time by which old rows are removed.

use std::time::Duration;

use crate::model::UnixMillis;

/// How far the clock may run ahead of the time that has passed, milliseconds: more is a clock that was set forward.
const TOLERANCE_MS: UnixMillis = 60 * 60 * 1000;
/// How long the clock has to stay set forward before rows are removed by it.
const PROOF: Duration = Duration::from_secs(24 * 60 * 60);

/// The clock as far as it may be trusted with what cannot be undone. A clock that is set forward by mistake would have all
/// rows removed; so this one goes on as before until the machine's clock has stayed there for a day.
#[derive(Debug)]
pub struct PurgeClock {
    time: UnixMillis,
    /// The time since the start at that moment.
    passed: Duration,
    /// Since when the clock has been ahead.
    ahead_since: Option<Duration>,
}

impl PurgeClock {
    /// Begins at the time of the machine's clock, from which nothing has passed.
    pub fn new(now: UnixMillis) -> Self {
        Self {
            time: now,
            passed: Duration::ZERO,
            ahead_since: None,
        }
    }

    /// Returns the time by which to remove rows, from that of the machine's clock and from what has passed since the start by
    /// a clock that no one sets. A clock that was set back is followed at once: it removes less.
    pub fn advance(&mut self, now: UnixMillis, passed: Duration) -> UnixMillis {
        let step = passed.saturating_sub(self.passed).as_millis();
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        let expected = self.time.saturating_add(step);
        self.passed = passed;
        let is_ahead = now > expected.saturating_add(TOLERANCE_MS);
        let since = *self.ahead_since.get_or_insert(passed);
        if is_ahead && passed.saturating_sub(since) < PROOF {
            self.time = expected;
        } else {
            self.time = now;
            self.ahead_since = None;
        }
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = 1_790_000_000_000;

    /// The time since the start, the clock, and the clock by which rows are removed; in hours.
    fn story(steps: &[(u64, i64, i64)]) {
        let at = |hours: i64| NOW.saturating_add_signed(hours * 3_600_000);
        let mut clock = PurgeClock::new(NOW);
        for &(passed, says, expected) in steps {
            let passed = Duration::from_millis(passed * 3_600_000);
            let time = clock.advance(at(says), passed);
            assert_eq!(time, at(expected), "{passed:?} {says}");
        }
    }

    #[test]
    fn a_clock_that_no_one_sets_is_followed() {
        story(&[(0, 0, 0), (1, 1, 1), (2, 3, 3), (50, 51, 51)]);
    }

    #[test]
    fn a_jump_forward_and_back_removes_nothing() {
        story(&[
            (1, 1, 1),
            (2, 1_000, 2),
            (20, 1_018, 20),
            (21, 21, 21),
            (22, 1_000, 22),
        ]);
    }

    #[test]
    fn a_clock_that_stays_set_forward_counts_after_a_day() {
        story(&[
            (1, 1_001, 1),
            (24, 1_024, 24),
            (25, 1_025, 1_025),
            (26, 1_026, 1_026),
        ]);
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed_at_once() {
        story(&[(1, -47, -47), (2, -46, -46), (3, 3, -45), (27, 27, 27)]);
    }
}
