//! When messages were logged: years and zones that are not said, clocks that start at zero, boots.

use super::*;

mod boots;

/// Central European time, with daylight saving.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

#[test]
fn a_year_that_is_not_said_is_the_latest_without_a_future() {
    for (stamp, now, time) in [
        (
            "Nov 21 02:47:05",
            "2026-11-21T04:25:00Z",
            "2026-11-21T02:47:05Z",
        ),
        // Clocks and zones may differ by up to a day.
        (
            "Nov 22 04:24:59",
            "2026-11-21T04:25:00Z",
            "2026-11-22T04:24:59Z",
        ),
        (
            "Nov 22 04:26:00",
            "2026-11-21T04:25:00Z",
            "2025-11-22T04:26:00Z",
        ),
        (
            "Dec 31 23:59:59",
            "2026-01-01T00:10:00Z",
            "2025-12-31T23:59:59Z",
        ),
        (
            "Jan  1 00:10:00",
            "2025-12-31T23:59:59Z",
            "2026-01-01T00:10:00Z",
        ),
        (
            "Feb 29 12:00:00",
            "2026-11-21T04:25:00Z",
            "2024-02-29T12:00:00Z",
        ),
        (
            "Feb 29 12:00:00",
            "2103-11-21T04:25:00Z",
            "2096-02-29T12:00:00Z",
        ),
    ] {
        let text = format!("{stamp} host kernel: text");
        let capture = read(text.as_bytes(), at(now), &TimeZone::UTC).unwrap();
        assert_eq!(times(&capture), [at(time)], "{stamp} {now}");
        assert!(capture.years_guessed && capture.zone_assumed);
    }
}

#[test]
fn a_zone_that_is_not_said_is_the_one_given() {
    for (line, time, assumed) in [
        ("Jul  1 12:00:00 h kernel: x", "2026-07-01T10:00:00Z", true),
        ("Jan  1 12:00:00 h kernel: x", "2026-01-01T11:00:00Z", true),
        ("[Wed Jul  1 12:00:00 2026] x", "2026-07-01T10:00:00Z", true),
        (
            "2026-07-01 12:00:00 h kernel: x",
            "2026-07-01T10:00:00Z",
            true,
        ),
        (
            "Wed 2026-07-01 12:00:00 CEST h kernel: x",
            "2026-07-01T10:00:00Z",
            true,
        ),
        (
            "Wed 2026-07-01 12:00:00 UTC h kernel: x",
            "2026-07-01T12:00:00Z",
            false,
        ),
        (
            "2026-07-01T12:00:00Z h kernel: x",
            "2026-07-01T12:00:00Z",
            false,
        ),
        (
            "1782907200.000000 h kernel: x",
            "2026-07-01T12:00:00Z",
            false,
        ),
    ] {
        let capture = read(line.as_bytes(), NOW, &berlin()).unwrap();
        assert_eq!(times(&capture), [at(time)], "{line}");
        assert_eq!(capture.zone_assumed, assumed, "{line}");
    }
}

#[test]
fn lines_of_an_hour_that_clocks_go_through_twice_ascend() {
    // In Berlin it is 02:00 to 03:00 twice on 25 October 2026: until 01:00 UTC, and from then on.
    let now = at("2026-11-21T04:25:00Z");
    for (stamps, expected) in [
        (
            // Neighbours out of order by seconds are of one hour; the first hour ends between the third and the fourth line.
            &[
                "01:59:59", "02:10:00", "02:59:58", "02:00:01", "02:00:00", "02:30:00", "02:59:00",
                "03:00:00",
            ][..],
            &[
                "2026-10-24T23:59:59Z",
                "2026-10-25T00:10:00Z",
                "2026-10-25T00:59:58Z",
                "2026-10-25T01:00:01Z",
                "2026-10-25T01:00:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T01:59:00Z",
                "2026-10-25T02:00:00Z",
            ][..],
        ),
        // Nothing tells that it was repeated.
        (
            &["02:10:00", "02:09:50", "03:20:00"],
            &[
                "2026-10-25T00:10:00Z",
                "2026-10-25T00:09:50Z",
                "2026-10-25T02:20:00Z",
            ],
        ),
        // A line that another program delivered late.
        (
            &["03:05:00", "02:55:00"],
            &["2026-10-25T02:05:00Z", "2026-10-25T01:55:00Z"],
        ),
    ] {
        for form in ["Oct 25 {} h kernel: x\n", "2026-10-25 {} h kernel: x\n"] {
            let lines = stamps.iter().map(|stamp| form.replace("{}", stamp));
            let text: String = lines.collect();
            let capture = read(text.as_bytes(), now, &berlin()).unwrap();
            let expected: Vec<_> = expected.iter().map(|text| at(text)).collect();
            assert_eq!(times(&capture), expected, "{text}");
        }
    }
    // Another file's lines of an earlier day say nothing of it.
    let text = "Oct 26 12:00:00 h kernel: a\nOct 25 02:10:00 h kernel: b\n";
    let capture = read(text.as_bytes(), now, &berlin()).unwrap();
    let expected = ["2026-10-26T11:00:00Z", "2026-10-25T00:10:00Z"];
    assert_eq!(times(&capture), expected.map(at));
}

#[test]
fn what_is_no_date_is_no_stamp() {
    for stamp in [
        "Feb 30 12:00:00 h",
        "Nov 21 24:00:00 h",
        "Nov 21 12:60:00 h",
        "Nov 21 12:00:61 h",
        "Nov 211 12:00:00 h",
        "2026-13-01T12:00:00Z h",
        "2026-01-01T12:00:00+99 h",
        "1795234453. h",
        "17952344.692956 h",
    ] {
        let capture = capture(format!("{stamp} kernel: text"));
        assert_ne!(capture.log().clock, Clock::Wall, "{stamp}");
    }
    let hours = capture(
        "Nov 20 03:10:00 h kernel: a\nNov 20 04:10:00 h kernel: b\nNov 21 04:10:00 h kernel: c\n",
    );
    let expected = [
        "2026-11-20T03:10:00Z",
        "2026-11-20T04:10:00Z",
        "2026-11-21T04:10:00Z",
    ];
    assert_eq!(times(&hours), expected.map(at));
    // A leap second, and what was before 1970.
    let capture = capture("2016-12-31T23:59:60Z h kernel: x\n[Thu Jan  1 00:00:05 1960] x\n");
    assert_eq!(times(&capture), [at("2017-01-01T00:00:00Z"), 0]);
}

#[test]
fn years_ascend_across_new_year() {
    // The last line is of this year's day before today, so those before it are of the year before and that before.
    let capture = read(
        b"Dec 30 10:00:00 h kernel: a\nNov 24 10:00:00 h kernel: b\nNov 28 10:00:00 h kernel: c\nJan  2 10:00:00 h kernel: d\n",
        at("2026-11-26T00:00:00Z"),
        &TimeZone::UTC,
    )
    .unwrap();
    let expected = [
        "2024-12-30T10:00:00Z",
        "2025-11-24T10:00:00Z",
        "2025-11-28T10:00:00Z",
        "2026-01-02T10:00:00Z",
    ];
    assert_eq!(times(&capture), expected.map(at));
    assert!(capture.years_guessed);
    // A clock that was set back by hours moves no year.
    let back = super::capture("Nov 21 03:00:00 h kernel: a\nNov 20 22:00:00 h kernel: b\n");
    let expected = ["2026-11-21T03:00:00Z", "2026-11-20T22:00:00Z"];
    assert_eq!(times(&back), expected.map(at));
}

#[test]
fn seconds_since_boot_end_now() {
    let capture = capture("[  100.000000] a\n[  160.500000] b\n[  160.000000] c\n");
    assert_eq!(capture.log().clock, Clock::SinceBoot);
    assert_eq!(times(&capture), [NOW - 60_500, NOW, NOW - 500]);
    assert_eq!(capture.log().boots, [0]);
    assert!(!capture.years_guessed && !capture.zone_assumed);
}

#[test]
fn a_line_without_a_date_among_others_has_its_neighbours() {
    let capture = capture("<6>a\n<6>Nov 21 02:47:05 h kernel: b\n[    1.000000] c\n");
    assert_eq!(times(&capture), [at("2026-11-21T02:47:05Z"); 3]);
    assert_eq!(capture.log().clock, Clock::Wall);
}

#[test]
fn any_now_will_do() {
    for now in [0, 1, u64::MAX] {
        for text in [
            "Nov 21 02:47:05 h kernel: a",
            "[    9.000000] a",
            "6,1,18446744073709551615,-;a",
            "a: b",
        ] {
            let capture = read(text.as_bytes(), now, &TimeZone::UTC).unwrap();
            assert!(
                capture
                    .log()
                    .messages
                    .iter()
                    .all(|message| message.time <= now)
            );
        }
    }
}
