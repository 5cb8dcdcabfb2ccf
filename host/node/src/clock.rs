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
    /// A clock that stands at `unix_ms` until it is moved.
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
