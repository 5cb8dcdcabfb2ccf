//! The waiting time before a failed delivery is tried again.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The longest wait that an engine may ask for.
pub const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// Pauses that grow with each failure, with jitter, so that a fleet whose endpoint comes back does not ask at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    /// Makes one whose pauses double from `first` to `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest: longest.max(first),
            failures: 0,
        }
    }

    /// Returns how long to wait after a failure. `asked` is what the engine asks for, which is heeded up to
    /// [`LONGEST_ASKED`]. `random` is from 0 to 1.
    pub fn next(&mut self, asked: Option<Duration>, random: f64) -> Duration {
        let doubled = 2u32.saturating_pow(self.failures.min(20));
        let whole = self.first.saturating_mul(doubled).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        // Between half and the whole: never at once, and never all together.
        let jittered = whole.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0);
        match asked {
            // Spread out behind the moment that the engine named for all.
            Some(asked) => {
                let asked = asked.min(LONGEST_ASKED);
                asked.max(jittered) + self.first.mul_f64(random.clamp(0.0, 1.0))
            }
            None => jittered,
        }
    }

    /// Begins again with the shortest pause.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns how many failures there were in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// Returns a number from 0 to 1 that nobody needs to be unable to guess.
pub fn random() -> f64 {
    // Each state is seeded by the system.
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_jittered() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, Duration::from_secs(10));
        let whole: Vec<u64> = (0..6).map(|_| backoff.next(None, 1.0).as_secs()).collect();
        assert_eq!(whole, [1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff.failures(), 6);
        assert_eq!(backoff.next(None, 0.0), Duration::from_secs(5));
        backoff.reset();
        assert_eq!(backoff.next(None, 0.0), Duration::from_millis(500));
        for _ in 0..100 {
            backoff.next(None, 1.0);
        }
        assert_eq!(backoff.next(None, 1.0), Duration::from_secs(10));
    }

    #[test]
    fn what_the_engine_asks_is_heeded_within_bounds() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let asked = Some(Duration::from_secs(60));
        assert_eq!(backoff.next(asked, 0.0), Duration::from_secs(60));
        assert_eq!(backoff.next(asked, 1.0), Duration::from_secs(61));
        let year = Some(Duration::from_secs(31_536_000));
        assert_eq!(backoff.next(year, 0.0), LONGEST_ASKED);
        assert!(backoff.next(Some(Duration::ZERO), 1.0) > Duration::from_secs(1));
    }

    #[test]
    fn random_numbers_differ_and_fit() {
        let numbers: Vec<f64> = (0..100).map(|_| random()).collect();
        assert!(numbers.iter().all(|n| (0.0..1.0).contains(n)));
        assert!(numbers.iter().any(|n| *n < 0.5) && numbers.iter().any(|n| *n > 0.5));
    }
}
