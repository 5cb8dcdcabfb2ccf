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
