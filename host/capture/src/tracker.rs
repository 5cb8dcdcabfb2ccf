//! Follows the messages of one host and notes what dating them needs: a few numbers for each boot and each New Year.

use super::{boots::Boots, reader::Entry, stamp::Stamp, timeline::Timeline};
use crate::model::UnixMillis;

/// A stamp without a year that is later than its successor by more than this is of the year before, in milliseconds:
/// half a year. Less is a clock that was set back, or files that were joined in another order.
pub(super) const NEW_YEAR: u64 = 183 * 24 * 3600 * 1000;

/// A message's time as its own line and those before it have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RawTime {
    pub wall: WallTime,
    /// Microseconds since boot, or since the message before the first where only differences are known.
    pub micros: u64,
}

/// A wall-clock time, as far as lines state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WallTime {
    /// No line has said it yet.
    #[default]
    Unknown,
    /// Unix milliseconds.
    Known(UnixMillis),
    /// Unix milliseconds in the latest year that is not in the future.
    Yearless(UnixMillis),
}

impl RawTime {
    /// A clock and its milliseconds, to tell how much time is between two messages of one clock.
    pub fn moment(&self) -> (u8, u64) {
        match self.wall {
            WallTime::Unknown => (0, self.micros / 1000),
            WallTime::Known(at) => (1, at),
            WallTime::Yearless(at) => (2, at),
        }
    }
}

/// The earliest and the latest of some times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeSpan(pub Option<(u64, u64)>);

impl TimeSpan {
    pub fn add(&mut self, at: u64) {
        self.0 = Some(match self.0 {
            Some((from, to)) => (from.min(at), to.max(at)),
            None => (at, at),
        });
    }

    pub fn join(&mut self, other: Self) {
        for at in other.0.iter().flat_map(|(from, to)| [*from, *to]) {
            self.add(at);
        }
    }

    pub fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self(self.0.map(|(from, to)| (change(from), change(to))))
    }
}

/// The messages of one boot within one calendar year.
#[derive(Debug)]
pub(super) struct BootYear {
    /// The order of its first message.
    pub first: u64,
    /// If a boot begins with it, the number of that message of the host.
    pub boot: Option<u64>,
    /// Whether it begins after a New Year.
    pub new_year: bool,
    /// A stamp without a year, and the one with a year that followed it.
    pub anchor: Option<(UnixMillis, UnixMillis)>,
    pub known: TimeSpan,
    pub yearless: TimeSpan,
    pub micros: TimeSpan,
}

/// Follows the messages of one host.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    count: u64,
    boots: Boots,
    pub pieces: Vec<BootYear>,
    raw: RawTime,
    /// The part of differences that is not a whole millisecond yet.
    rest: i128,
    /// The last stamp with a date.
    last: Option<Stamp>,
    /// The first wall-clock time.
    pub first: WallTime,
    /// Lines had the time since boot or between messages.
    pub has_seconds: bool,
}

impl Tracker {
    /// Takes the next message; true if a boot begins with it. `room`: how many more pieces there may be.
    pub fn take(&mut self, entry: &Entry, room: &mut usize) -> (RawTime, bool) {
        let boot = self.boots.take(entry);
        let new_year = self.is_after_new_year(&entry.stamp);
        if boot {
            self.raw.micros = 0;
        }
        let is_first = self.pieces.is_empty();
        if is_first || (boot || new_year) && *room > 0 {
            *room = room.saturating_sub(1);
            self.pieces.push(BootYear {
                first: entry.order,
                boot: boot.then_some(self.count),
                new_year,
                anchor: None,
                known: TimeSpan::default(),
                yearless: TimeSpan::default(),
                micros: TimeSpan::default(),
            });
        }
        self.count += 1;
        self.follow(&entry.stamp);
        if let Some(piece) = self.pieces.last_mut() {
            match self.raw.wall {
                WallTime::Unknown => {}
                WallTime::Known(at) => piece.known.add(at),
                WallTime::Yearless(at) => piece.yearless.add(at),
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
                self.set_wall(WallTime::Known(at));
                if let Some(Stamp::Yearless(last) | Stamp::Minute(last)) = self.last
                    && let Some(piece) = self.pieces.last_mut()
                {
                    piece.anchor = Some((last, at));
                }
                self.last = Some(*stamp);
            }
            Stamp::Yearless(at) | Stamp::Minute(at) => {
                self.set_wall(WallTime::Yearless(at));
                self.last = Some(*stamp);
            }
            Stamp::Boot(micros) => {
                self.has_seconds = true;
                self.raw.micros = micros;
            }
            Stamp::Delta(micros) => {
                self.has_seconds = true;
                self.raw.micros = self.raw.micros.saturating_add_signed(micros);
                if let WallTime::Known(at) | WallTime::Yearless(at) = &mut self.raw.wall {
                    self.rest += i128::from(micros);
                    *at = at.saturating_add_signed(clamped(self.rest.div_euclid(1000)));
                    self.rest = self.rest.rem_euclid(1000);
                }
            }
            Stamp::None => {}
        }
    }

    fn set_wall(&mut self, wall: WallTime) {
        self.raw.wall = wall;
        self.rest = 0;
        if self.first == WallTime::Unknown {
            self.first = wall;
        }
    }

    /// How many messages there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The log has ended. `now`: when the last message was logged, where only the time since boot is known.
    pub fn finish(self, now: UnixMillis) -> Timeline {
        Timeline::new(&self, now)
    }
}

fn clamped(millis: i128) -> i64 {
    i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX })
}
