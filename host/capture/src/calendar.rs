//! Calendar stamps as Unix milliseconds, also those without a year or a zone.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use crate::model::UnixMillis;

/// How far a stamp without a year may be in the future: the two machines' clocks and zones may differ.
const AHEAD_MS: i64 = 24 * 3600 * 1000;
/// Years to look back for one in which the date exists (29 February; 1896 to 1904 had no leap year between).
const YEARS_BACK: i16 = 8;
const MINUTE_MS: i64 = 60_000;
/// How far neighbouring lines may be out of order: processors and hosts that write at the same time.
const OUT_OF_ORDER_MS: i64 = 60_000;
/// How long after a repeated hour the line before may be for the hour to have been its second one.
const AFTER_REPEATED_MS: i64 = 3600 * 1000;

/// A date and time as a line states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CalendarTime {
    /// `None` if the line has no year.
    pub year: Option<u32>,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// Milliseconds of the minute.
    pub millis: u64,
    /// Seconds east of Greenwich; `None` if the line has no offset.
    pub offset: Option<i32>,
}

/// Dates moments, and remembers what it had to assume.
#[derive(Debug, Clone)]
pub(super) struct Calendar<'z> {
    now: i64,
    year: i16,
    zone: &'z TimeZone,
    /// The last minute and its beginning: neighbours in a log share it.
    last: Option<(CalendarTime, i64)>,
    /// When the last line was: it tells which of two an hour is that clocks go through twice.
    previous: Option<i64>,
    /// A stamp had no year.
    pub years_guessed: bool,
    /// A stamp had no zone.
    pub zone_assumed: bool,
}

impl<'z> Calendar<'z> {
    /// `now`: the moment that no stamp can be after.
    pub fn new(now: UnixMillis, zone: &'z TimeZone) -> Self {
        // Within what a timestamp can be.
        let now = i64::try_from(now).map_or(i64::MAX, |now| now.min(253_000_000_000_000));
        let at = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
        Self {
            now,
            year: zone.to_datetime(at).year(),
            zone,
            last: None,
            previous: None,
            years_guessed: false,
            zone_assumed: false,
        }
    }

    /// Dates a moment; `None` if there is no such date. Before 1970 is 1970.
    pub fn unix_ms(&mut self, moment: CalendarTime) -> Option<UnixMillis> {
        let minute = CalendarTime {
            millis: 0,
            ..moment
        };
        let start = match self.last {
            Some((last, start)) if last == minute => start,
            _ => self.minute(minute)?,
        };
        self.last = Some((minute, start));
        // 60: a leap second.
        if moment.millis > 60_999 {
            return None;
        }
        let at = start.checked_add_unsigned(moment.millis)?;
        self.previous = Some(at);
        Some(u64::try_from(at).unwrap_or(0))
    }

    fn minute(&mut self, moment: CalendarTime) -> Option<i64> {
        let start = match moment.year {
            Some(year) => self.in_year(moment, i16::try_from(year).ok()?)?,
            None => {
                let latest = self.year.saturating_add(1);
                (latest - YEARS_BACK..=latest)
                    .rev()
                    .filter_map(|year| self.in_year(moment, year))
                    .find(|start| *start <= self.now.saturating_add(AHEAD_MS))?
            }
        };
        self.years_guessed |= moment.year.is_none();
        self.zone_assumed |= moment.offset.is_none();
        Some(start)
    }

    fn in_year(&self, moment: CalendarTime, year: i16) -> Option<i64> {
        let small = |value: u32| i8::try_from(value).ok();
        let date = Date::new(year, small(moment.month)?, small(moment.day)?).ok()?;
        let time = jiff::civil::Time::new(small(moment.hour)?, small(moment.minute)?, 0, 0).ok()?;
        let local = DateTime::from_parts(date, time);
        let at = match moment.offset {
            Some(seconds) => Offset::from_seconds(seconds)
                .ok()?
                .to_timestamp(local)
                .ok()?,
            None => self.in_zone(local)?,
        };
        Some(at.as_millisecond())
    }

    /// Dates a moment in the zone. In the hour that clocks go through twice when they are set back, lines decide by their
    /// order: it is the first one until a line would be before the one that it follows.
    fn in_zone(&self, local: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let AmbiguousOffset::Fold { before, after } = ambiguous.offset() else {
            return ambiguous.compatible().ok();
        };
        let first = before.to_timestamp(local).ok()?;
        let second = after.to_timestamp(local).ok()?;
        // The line is somewhere in the minute.
        let latest = first.as_millisecond().saturating_add(MINUTE_MS);
        let from = latest.saturating_add(OUT_OF_ORDER_MS);
        let to = second.as_millisecond().saturating_add(AFTER_REPEATED_MS);
        let is_second = self
            .previous
            .is_some_and(|previous| (from..=to).contains(&previous));
        Some(if is_second { second } else { first })
    }
}
