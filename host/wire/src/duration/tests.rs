use proptest::prelude::*;

use super::*;

#[test]
fn reads_and_prints_as_go() {
    // Printed by Go 1.26.
    for (text, nanos, printed) in [
        ("30m", 1_800_000_000_000, "30m0s"),
        ("1h30m", 5_400_000_000_000, "1h30m0s"),
        ("-1.5h", -5_400_000_000_000, "-1h30m0s"),
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("+5s", 5_000_000_000, "5s"),
        (".5s", 500_000_000, "500ms"),
        ("1.s", 1_000_000_000, "1s"),
        ("1us", 1_000, "1µs"),
        ("1\u{b5}s", 1_000, "1µs"),
        ("1\u{3bc}s", 1_000, "1µs"),
        ("1500us", 1_500_000, "1.5ms"),
        ("7ns", 7, "7ns"),
        ("0.3333333333333333333h", 1_200_000_000_000, "20m0s"),
        ("1.0000000000000000000000001h", 3_600_000_000_000, "1h0m0s"),
        (
            "9223372036854775807ns",
            i64::MAX,
            "2562047h47m16.854775807s",
        ),
        (
            "-9223372036854775808ns",
            i64::MIN,
            "-2562047h47m16.854775808s",
        ),
    ] {
        // Go computes fractions in floating point; it may be a nanosecond off.
        let read = text.parse::<GoDuration>().unwrap().0;
        assert!(read.abs_diff(nanos) <= 1, "{text}: {read}");
        assert_eq!(GoDuration(nanos).to_string(), printed);
    }
}

#[test]
fn refuses_with_gos_words() {
    for (text, message) in [
        ("", r#"time: invalid duration """#),
        ("x", r#"time: invalid duration "x""#),
        ("-", r#"time: invalid duration "-""#),
        (".", r#"time: invalid duration ".""#),
        (" 1s", r#"time: invalid duration " 1s""#),
        ("--1s", r#"time: invalid duration "--1s""#),
        ("3", r#"time: missing unit in duration "3""#),
        ("1h1", r#"time: missing unit in duration "1h1""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
        ("1h x", r#"time: unknown unit "h x" in duration "1h x""#),
        ("1m-1s", r#"time: unknown unit "m-" in duration "1m-1s""#),
        ("3000000h", r#"time: invalid duration "3000000h""#),
        (
            "9223372036854775808ns",
            r#"time: invalid duration "9223372036854775808ns""#,
        ),
        (
            "99999999999999999999s",
            r#"time: invalid duration "99999999999999999999s""#,
        ),
        ("é", r#"time: invalid duration "\xc3\xa9""#),
    ] {
        assert_eq!(text.parse::<GoDuration>().unwrap_err().to_string(), message);
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(nanos in any::<i64>()) {
        prop_assert_eq!(GoDuration(nanos).to_string().parse::<GoDuration>(), Ok(GoDuration(nanos)));
    }

    #[test]
    fn any_text_is_read_or_refused_with_the_text_in_the_message(text in "[-+0-9.a-zµ \"]{0,24}") {
        if let Err(error) = text.parse::<GoDuration>() {
            prop_assert!(error.to_string().contains(&time_quote(&text)));
        }
    }

    #[test]
    fn parts_add_up(h in 0_i64..1000, m in 0_i64..1000, s in 0_i64..1000, ms in 0_i64..1000) {
        let read: GoDuration = format!("-{h}h{m}m{s}.{ms:03}s").parse().unwrap();
        prop_assert_eq!(read.0, -(((h * 60 + m) * 60 + s) * 1000 + ms) * 1_000_000);
    }
}
