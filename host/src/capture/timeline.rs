//! The wall-clock time of every message of one host, once all its stamps are known.
//!
//! Only the end of a log tells when it was: years that stamps lack are counted from the last one back, and times since boot
//! from the end. So a [`Tracker`] follows the messages and notes what is needed, a few numbers for each boot and each New
//! Year, and the [`Timeline`] that it becomes dates any message by its [`Raw`] time.

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};

use super::{Clock, boots::Boots, reader::Entry, stamp::Stamp};
use crate::model::UnixMillis;

/// A stamp without a year that is later than its successor by more than this is of the year before, in milliseconds:
/// half a year. Less is a clock that was set back, or files that were joined in another order.
const NEW_YEAR: u64 = 183 * 24 * 3600 * 1000;
/// The most years that stamps without a year are moved back.
const MAX_YEARS: i16 = 100;

/// A message's time as its own line and those before it have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Raw {
    wall: Basis,
    /// Microseconds since boot, or since the message before the first where only differences are known.
    micros: u64,
}

/// A wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Basis {
    /// No line has said it yet.
    #[default]
    Unknown,
    /// Unix milliseconds.
    Known(UnixMillis),
    /// Unix milliseconds in the latest year that is not in the future.
    Yearless(UnixMillis),
}

impl Raw {
    /// A clock and its milliseconds, to tell how much time is between two messages of one clock.
    pub fn moment(&self) -> (u8, u64) {
        match self.wall {
            Basis::Unknown => (0, self.micros / 1000),
            Basis::Known(at) => (1, at),
            Basis::Yearless(at) => (2, at),
        }
    }
}

/// The earliest and the latest of some times.
#[derive(Debug, Clone, Copy, Default)]
struct Span(Option<(u64, u64)>);

impl Span {
    fn add(&mut self, at: u64) {
        self.0 = Some(match self.0 {
            Some((from, to)) => (from.min(at), to.max(at)),
            None => (at, at),
        });
    }

    fn join(&mut self, other: Self) {
        for at in other.0.iter().flat_map(|(from, to)| [*from, *to]) {
            self.add(at);
        }
    }

    fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self(self.0.map(|(from, to)| (change(from), change(to))))
    }
}

/// Messages of one boot between two New Years.
#[derive(Debug)]
struct Piece {
    /// The order of its first message.
    first: u64,
    /// A boot begins with it, at this number of a message of the host.
    boot: Option<u64>,
    /// New Year was before it.
    new_year: bool,
    /// A stamp without a year, and the one with a year that followed it.
    anchor: Option<(UnixMillis, UnixMillis)>,
    known: Span,
    yearless: Span,
    micros: Span,
}

/// Follows the messages of one host.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    count: u64,
    boots: Boots,
    pieces: Vec<Piece>,
    raw: Raw,
    /// The part of differences that is not a whole millisecond yet.
    rest: i128,
    /// The last stamp with a date.
    last: Option<Stamp>,
    first: Basis,
    has_seconds: bool,
}

impl Tracker {
    /// Takes the next message; true if a boot begins with it. `room`: how many more pieces there may be.
    pub fn take(&mut self, entry: &Entry, room: &mut usize) -> (Raw, bool) {
        let boot = self.boots.take(entry);
        let new_year = self.is_after_new_year(&entry.stamp);
        if boot {
            self.raw.micros = 0;
        }
        let is_first = self.pieces.is_empty();
        if is_first || (boot || new_year) && *room > 0 {
            *room = room.saturating_sub(1);
            self.pieces.push(Piece {
                first: entry.order,
                boot: boot.then_some(self.count),
                new_year,
                anchor: None,
                known: Span::default(),
                yearless: Span::default(),
                micros: Span::default(),
            });
        }
        self.count += 1;
        self.follow(&entry.stamp);
        if let Some(piece) = self.pieces.last_mut() {
            match self.raw.wall {
                Basis::Unknown => {}
                Basis::Known(at) => piece.known.add(at),
                Basis::Yearless(at) => piece.yearless.add(at),
            }
            piece.micros.add(self.raw.micros);
        }
        (self.raw, boot)
    }

    fn is_after_new_year(&self, stamp: &Stamp) -> bool {
        match (self.last, stamp) {
            (
                Some(Stamp::Yearless(last) | Stamp::Minute(last)),
                Stamp::Yearless(at) | Stamp::Minute(at),
            ) => last > at.saturating_add(NEW_YEAR),
            _ => false,
        }
    }

    fn follow(&mut self, stamp: &Stamp) {
        match *stamp {
            Stamp::Wall(at) => {
                self.set_wall(Basis::Known(at));
                if let Some(Stamp::Yearless(last) | Stamp::Minute(last)) = self.last
                    && let Some(piece) = self.pieces.last_mut()
                {
                    piece.anchor = Some((last, at));
                }
                self.last = Some(*stamp);
            }
            Stamp::Yearless(at) | Stamp::Minute(at) => {
                self.set_wall(Basis::Yearless(at));
                self.last = Some(*stamp);
            }
            Stamp::Boot(micros) => {
                self.has_seconds = true;
                self.raw.micros = micros;
            }
            Stamp::Delta(micros) => {
                self.has_seconds = true;
                self.raw.micros = self.raw.micros.saturating_add_signed(micros);
                if let Basis::Known(at) | Basis::Yearless(at) = &mut self.raw.wall {
                    self.rest += i128::from(micros);
                    *at = at.saturating_add_signed(clamped(self.rest.div_euclid(1000)));
                    self.rest = self.rest.rem_euclid(1000);
                }
            }
            Stamp::None => {}
        }
    }

    fn set_wall(&mut self, wall: Basis) {
        self.raw.wall = wall;
        self.rest = 0;
        if self.first == Basis::Unknown {
            self.first = wall;
        }
    }

    /// How many messages there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The log has ended. `now`: when the last message was logged, where only the time since boot is known.
    pub fn finish(self, now: UnixMillis) -> Timeline {
        let clock = match (self.first, self.has_seconds) {
            (Basis::Unknown, true) => Clock::SinceBoot,
            (Basis::Unknown, false) => Clock::None,
            _ => Clock::Wall,
        };
        let years = years_back(&self.pieces);
        let first_years = years.first().map_or(0, |(_, years)| *years);
        let mut boots: Vec<Boot> = Vec::new();
        for (piece, (_, years)) in self.pieces.iter().zip(&years) {
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
        let first = match self.first {
            Basis::Unknown => now,
            Basis::Known(at) => at,
            Basis::Yearless(at) => earlier(at, first_years),
        };
        let mut end = now;
        for boot in boots.iter_mut().rev() {
            let latest = boot.micros.0.map_or(0, |(_, to)| to / 1000);
            boot.end = end;
            boot.zero = end.saturating_sub(latest);
            end = boot.zero;
        }
        Timeline {
            count: self.count,
            clock,
            first,
            now,
            years,
            boots,
        }
    }
}

/// How many years stamps without a year are moved back from each piece on, so that the log ascends. The last one keeps its
/// year, which is the latest that is not in the future.
fn years_back(pieces: &[Piece]) -> Vec<(u64, i16)> {
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
    micros: Span,
    wall: Span,
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
    /// When a message was logged: one without a wall-clock stamp when the one before it was.
    pub fn date(&self, order: u64, raw: Raw) -> UnixMillis {
        match (self.clock, raw.wall) {
            (Clock::None, _) => self.now,
            (Clock::Wall, Basis::Unknown) => self.first,
            (Clock::Wall, Basis::Known(at)) => at,
            (Clock::Wall, Basis::Yearless(at)) => {
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
    fn span(&self, boot: &Boot) -> Span {
        let mut span = Span::default();
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

fn clamped(millis: i128) -> i64 {
    i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX })
}
