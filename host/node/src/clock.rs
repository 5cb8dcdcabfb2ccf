//! The time: of the machine's clock, or of one that a test sets by hand.
//!
//! Everything that stamps or compares times takes a [`Clock`], so that a test can move time without waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::time::{ClockId, clock_gettime};

/// The difference of the boot's time from which on the clock was set, milliseconds: readings are not simultaneous.
pub const SET_MS: u64 = 1_000;

/// A source of wall-clock time. Clones of a manual clock move together.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's real-time clock. It can jump (NTP, an operator); measure durations with `Instant` instead.
    #[default]
    Live,
    /// Unix milliseconds that change only through [`Clock::set_ms`] and [`Clock::advance_ms`].
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Returns a clock that shows `unix_ms` until it is moved.
    pub fn manual(unix_ms: u64) -> Self {
        Self::Manual(Arc::new(AtomicU64::new(unix_ms)))
    }

    /// Milliseconds since the Unix epoch; 0 when the machine's clock is set before 1970.
    pub fn now_ms(&self) -> u64 {
        match self {
            Self::Live => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| {
                    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
                }),
            Self::Manual(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Returns when the machine booted by this clock, Unix milliseconds: the time less what has passed since the boot, which
    /// changes only where the clock is set. `None` for a manual clock.
    pub fn booted_at_ms(&self) -> Option<u64> {
        match self {
            Self::Live => {
                // In this order an interruption between the readings never looks like a clock that was set back.
                let since_boot = clock_gettime(ClockId::Boottime);
                let seconds = u64::try_from(since_boot.tv_sec).unwrap_or(0);
                let millis = u64::try_from(since_boot.tv_nsec / 1_000_000).unwrap_or(0);
                let passed = seconds.saturating_mul(1000).saturating_add(millis);
                Some(self.now_ms().saturating_sub(passed))
            }
            Self::Manual(_) => None,
        }
    }

    /// Sets a manual clock. A live clock is left alone: this process never changes the machine's time.
    pub fn set_ms(&self, unix_ms: u64) {
        if let Self::Manual(now) = self {
            now.store(unix_ms, Ordering::SeqCst);
        }
    }

    /// Moves a manual clock forwards. A live clock is left alone.
    pub fn advance_ms(&self, by: u64) {
        if let Self::Manual(now) = self {
            now.fetch_add(by, Ordering::SeqCst);
        }
    }
}

/// Returns a boot's time, earlier by as much as the clock was set back since it was read: from what the clock said of the
/// boot then ([`Clock::booted_at_ms`]), and says now.
pub(crate) fn earlier_boot(time: u64, booted_then: Option<u64>, booted_now: Option<u64>) -> u64 {
    let set_back = match (booted_then, booted_now) {
        (Some(then), Some(now)) => then.saturating_sub(now),
        _ => 0,
    };
    if set_back > SET_MS {
        time.saturating_sub(set_back)
    } else {
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_manual_clock_move_together() {
        let clock = Clock::manual(1_000);
        let other = clock.clone();
        clock.advance_ms(500);
        assert_eq!(other.now_ms(), 1_500);
        other.set_ms(7);
        assert_eq!(clock.now_ms(), 7);
    }

    #[test]
    fn the_boot_does_not_move_while_no_one_sets_the_clock() {
        let before = Clock::Live.booted_at_ms().unwrap();
        let after = Clock::Live.booted_at_ms().unwrap();
        assert!(before.abs_diff(after) < 3_600_000, "{before} {after}");
        assert!(before > 0 && before < Clock::Live.now_ms());
        assert_eq!(Clock::manual(5).booted_at_ms(), None);
    }

    #[test]
    fn a_boot_moves_back_with_the_clock_and_never_forward() {
        for (time, then, now, expected) in [
            (10_000, Some(10_300), Some(10_300), 10_000),
            (10_000, Some(10_300), Some(9_800), 10_000),
            (10_000, Some(10_300), Some(8_300), 8_000),
            (10_000, Some(10_300), Some(99_000), 10_000),
            (10_000, None, None, 10_000),
            // An unknown boot stays unknown.
            (0, Some(10_300), Some(300), 0),
        ] {
            assert_eq!(earlier_boot(time, then, now), expected, "{then:?} {now:?}");
        }
    }

    #[test]
    fn the_live_clock_agrees_with_a_fresh_file_and_cannot_be_set() {
        let clock = Clock::Live;
        clock.set_ms(0);
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = file.as_file().metadata().unwrap().modified().unwrap();
        let written = written.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let now = u128::from(clock.now_ms());
        assert!(now.abs_diff(written) < 3_600_000, "{now} {written}");
    }
}
