//! The two spellings of a moment on the wire.

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::UnixMillis;

/// A moment in whole seconds, UTC (`2025-03-04T05:06:07Z`); `null` when unknown. Health states, events and machine
/// info use it (Kubernetes' `metav1.Time`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetaTime(pub Option<UnixMillis>);

impl From<Option<UnixMillis>> for MetaTime {
    fn from(millis: Option<UnixMillis>) -> Self {
        Self(millis)
    }
}

impl Serialize for MetaTime {
    /// A moment that no calendar date can name (after the year 9999) is as good as unknown.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let moment = self
            .0
            .and_then(|millis| i64::try_from(millis / 1000).ok())
            .and_then(|seconds| Timestamp::from_second(seconds).ok());
        match moment {
            Some(moment) => serializer.collect_str(&moment),
            None => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for MetaTime {
    /// A value that is no time counts as unknown.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let moment = text.and_then(|text| text.parse::<Timestamp>().ok());
        let millis = moment.map(Timestamp::as_millisecond);
        Ok(Self(millis.and_then(|millis| u64::try_from(millis).ok())))
    }
}

/// A moment with up to nine fractional digits and the server's own UTC offset (Go's `time.Time`); `startTime` and
/// `endTime` use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoTime {
    at: Timestamp,
    zone: TimeZone,
}

/// The first and last second that Go can write (years 0 to 9999), a day inside so that any zone's offset fits.
const SECONDS: std::ops::RangeInclusive<i64> = -62_167_132_800..=253_402_214_399;

impl GoTime {
    /// `at` as seen in `zone`.
    pub fn new(at: Timestamp, zone: TimeZone) -> Self {
        Self { at, zone }
    }

    /// This many seconds after the Unix epoch; `None` outside the years 0 to 9999.
    pub fn from_unix_seconds(seconds: i64, zone: TimeZone) -> Option<Self> {
        if !SECONDS.contains(&seconds) {
            return None;
        }
        Timestamp::from_second(seconds)
            .ok()
            .map(|at| Self { at, zone })
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub fn unix_seconds(&self) -> i64 {
        self.unix_millis().div_euclid(1000)
    }

    /// Milliseconds since the Unix epoch, rounded down.
    pub fn unix_millis(&self) -> i64 {
        i64::try_from(self.at.as_nanosecond().div_euclid(1_000_000)).unwrap_or(i64::MAX)
    }
}

impl Serialize for GoTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let offset = self.zone.to_offset(self.at);
        let local = offset.to_datetime(self.at).strftime("%Y-%m-%dT%H:%M:%S%.f");
        let minutes = offset.seconds() / 60;
        if minutes == 0 {
            return serializer.collect_str(&format_args!("{local}Z"));
        }
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.unsigned_abs();
        serializer.collect_str(&format_args!(
            "{local}{sign}{:02}:{:02}",
            minutes / 60,
            minutes % 60
        ))
    }
}

#[cfg(test)]
mod tests;
