//! The wall-clock time of every message of one host, once all its stamps are known.
//!
//! Only the end of a log tells when it was: years that stamps lack are counted from the last one back, and times since boot
//! from the end. So a [`Tracker`] notes what is needed on the way, and the [`Timeline`] that it becomes dates any message by
//! its [`RawTime`].

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};

use super::{
    Clock,
    tracker::{BootYear, NEW_YEAR, RawTime, TimeSpan, Tracker, WallTime},
};
use crate::model::UnixMillis;

/// The most years that stamps without a year are moved back.
const MAX_YEARS: i16 = 100;

/// How many years stamps without a year are moved back from each piece on, so that the log ascends. The last one keeps its
/// year, which is the latest that is not in the future.
fn years_back(pieces: &[BootYear]) -> Vec<(u64, i16)> {
    let mut years: i16 = 0;
    let mut all = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().rev() {
        if let Some((at, next)) = piece.anchor {
            while years < MAX_YEARS && earlier(at, years) > next.saturating_add(NEW_YEAR) {
                years += 1;
            }
        }
        all.push((piece.first, years));
        years = (years + i16::from(piece.new_year)).min(MAX_YEARS);
    }
    all.reverse();
    all
}

/// One boot of a host.
#[derive(Debug, Default)]
pub(super) struct Boot {
    /// The order of its first message.
    first: u64,
    /// The number of that message in the log of its host.
    pub number: u64,
    micros: TimeSpan,
    wall: TimeSpan,
    /// When its clock was at 0, and when it ended, where only the time since boot is known.
    zero: UnixMillis,
    end: UnixMillis,
}

/// Dates the messages of one host.
#[derive(Debug)]
pub(super) struct Timeline {
    /// How many messages there are.
    pub count: u64,
    pub clock: Clock,
    /// The time of what was before the first stamp.
    first: UnixMillis,
    now: UnixMillis,
    /// Years to move stamps back, by the order from which on.
    years: Vec<(u64, i16)>,
    pub boots: Vec<Boot>,
}

impl Timeline {
    /// Of a log that has ended. `now`: when the last message was logged, where only the time since boot is known.
    pub fn new(tracker: &Tracker, now: UnixMillis) -> Self {
        let clock = match (tracker.first, tracker.has_seconds) {
            (WallTime::Unknown, true) => Clock::SinceBoot,
            (WallTime::Unknown, false) => Clock::None,
            _ => Clock::Wall,
        };
        let years = years_back(&tracker.pieces);
        let first_years = years.first().map_or(0, |(_, years)| *years);
        let mut boots: Vec<Boot> = Vec::new();
        for (piece, (_, years)) in tracker.pieces.iter().zip(&years) {
            if let Some(number) = piece.boot {
                boots.push(Boot {
                    first: piece.first,
                    number,
                    ..Boot::default()
                });
            }
            let Some(boot) = boots.last_mut() else {
                continue;
            };
            boot.micros.join(piece.micros);
            boot.wall.join(piece.known);
            boot.wall.join(piece.yearless.map(|at| earlier(at, *years)));
        }
        let first = match tracker.first {
            WallTime::Unknown => now,
            WallTime::Known(at) => at,
            WallTime::Yearless(at) => earlier(at, first_years),
        };
        let mut end = now;
        for boot in boots.iter_mut().rev() {
            let latest = boot.micros.0.map_or(0, |(_, to)| to / 1000);
            boot.end = end;
            boot.zero = end.saturating_sub(latest);
            end = boot.zero;
        }
        Self {
            count: tracker.count(),
            clock,
            first,
            now,
            years,
            boots,
        }
    }

    /// When a message was logged: one without a wall-clock stamp when the one before it was.
    pub fn date(&self, order: u64, raw: RawTime) -> UnixMillis {
        match (self.clock, raw.wall) {
            (Clock::None, _) => self.now,
            (Clock::Wall, WallTime::Unknown) => self.first,
            (Clock::Wall, WallTime::Known(at)) => at,
            (Clock::Wall, WallTime::Yearless(at)) => {
                let at_or_after = self.years.partition_point(|(first, _)| *first <= order);
                let piece = at_or_after.checked_sub(1).and_then(|at| self.years.get(at));
                earlier(at, piece.map_or(0, |(_, years)| *years))
            }
            (Clock::SinceBoot, _) => {
                let at_or_after = self.boots.partition_point(|boot| boot.first <= order);
                let boot = at_or_after.checked_sub(1).and_then(|at| self.boots.get(at));
                boot.map_or(self.now, |boot| boot.date(raw.micros))
            }
        }
    }

    /// When each boot but the first began; the first one is no reboot.
    pub fn boot_times(&self) -> Vec<UnixMillis> {
        // Where the clock was set back after a boot, what happened since would seem to be before it: a boot is no later
        // than the earliest message after it.
        let mut earliest = UnixMillis::MAX;
        let mut times: Vec<UnixMillis> = self
            .boots
            .iter()
            .rev()
            .map(|boot| {
                if let Some((from, _)) = self.span(boot).0 {
                    earliest = earliest.min(from);
                }
                earliest
            })
            .collect();
        times.reverse();
        times.into_iter().skip(1).collect()
    }

    /// The latest time of any message.
    pub fn end(&self) -> UnixMillis {
        let ends = self.boots.iter().filter_map(|boot| self.span(boot).0);
        ends.map(|(_, to)| to).max().unwrap_or(self.now)
    }

    /// From when to when a boot's messages are.
    fn span(&self, boot: &Boot) -> TimeSpan {
        let mut span = TimeSpan::default();
        match self.clock {
            Clock::None => span.add(self.now),
            Clock::Wall if boot.wall.0.is_none() => span.add(self.first),
            Clock::Wall => span = boot.wall,
            Clock::SinceBoot => span = boot.micros.map(|micros| boot.date(micros)),
        }
        span
    }
}

impl Boot {
    /// Before 1970 if the end is no real time: all the same, in order and not after it.
    fn date(&self, micros: u64) -> UnixMillis {
        self.zero.saturating_add(micros / 1000).min(self.end)
    }
}

/// The same day and time so many years before.
fn earlier(at: UnixMillis, years: i16) -> UnixMillis {
    if years == 0 {
        return at;
    }
    i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .and_then(|at| at.to_zoned(TimeZone::UTC).checked_sub(years.years()).ok())
        .and_then(|at| u64::try_from(at.timestamp().as_millisecond()).ok())
        .unwrap_or(0)
}
