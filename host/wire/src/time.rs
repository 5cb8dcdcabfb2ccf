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
mod tests {
    use jiff::tz::Offset;

    use super::*;

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn meta_time_is_utc_whole_seconds_or_null() {
        assert_eq!(json(&MetaTime(None)), "null");
        assert_eq!(
            json(&MetaTime(Some(1_741_064_767_999))),
            r#""2025-03-04T05:06:07Z""#
        );
        assert_eq!(json(&MetaTime(Some(0))), r#""1970-01-01T00:00:00Z""#);
        assert_eq!(json(&MetaTime(Some(u64::MAX))), "null");
    }

    #[test]
    fn go_time_carries_the_local_offset_and_only_the_digits_it_needs() {
        for (nanos, offset_seconds, text) in [
            (1_741_064_767_000_000_000, 0, "2025-03-04T05:06:07Z"),
            (
                1_741_064_767_123_400_000,
                9 * 3600,
                "2025-03-04T14:06:07.1234+09:00",
            ),
            (
                1_741_064_767_000_000_001,
                -(5 * 3600 + 1800),
                "2025-03-03T23:36:07.000000001-05:30",
            ),
            (-1_500_000_000, 0, "1969-12-31T23:59:58.5Z"),
        ] {
            let zone = TimeZone::fixed(Offset::from_seconds(offset_seconds).unwrap());
            let time = GoTime::new(Timestamp::from_nanosecond(nanos).unwrap(), zone);
            assert_eq!(json(&time), format!("\"{text}\""));
        }
    }

    #[test]
    fn only_years_that_go_can_write_are_taken() {
        assert_eq!(GoTime::from_unix_seconds(i64::MAX, TimeZone::UTC), None);
        assert_eq!(
            GoTime::from_unix_seconds(-99_999_999_999, TimeZone::UTC),
            None
        );
        let before = GoTime::from_unix_seconds(-5, TimeZone::UTC).unwrap();
        assert_eq!((before.unix_seconds(), before.unix_millis()), (-5, -5000));
    }
}
