//! Nothing panics, and what is written in a form is read back.

use std::fmt::Write as _;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{
    super::escape::{self, Backslash},
    *,
};

/// When the machine of the round trips booted, Unix milliseconds.
const BOOT: u64 = 1_795_000_000_000;

/// A message to write.
#[derive(Debug, Clone)]
struct Sample {
    lines: Vec<String>,
    micros: u64,
    level: u8,
    facility: u32,
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    // Brackets at the beginning may be a caller, and `#` rsyslog's escape; a tool drops what is blank.
    let line = "[!-Z^-~&&[^#]][ -~&&[^#\\\\]]{0,60}";
    let sample = (
        proptest::collection::vec(line, 1..3),
        0u64..5_000_000,
        0u8..8,
        0u32..24,
    );
    proptest::collection::vec(sample, 2..12).prop_map(|samples| {
        let mut micros = 0;
        let sample = |(lines, more, level, facility)| {
            micros += more;
            Sample {
                lines,
                micros,
                level,
                facility,
            }
        };
        let mut samples: Vec<_> = samples.into_iter().map(sample).collect();
        // Not journalctl's seconds since boot, not only chance.
        samples.push(Sample {
            lines: vec!["a plain line of the kernel".into()],
            micros,
            level: 6,
            facility: 0,
        });
        samples
    })
}

/// The beginning of a message's first line.
fn start(format: Format, sample: &Sample, last: Option<&Sample>) -> String {
    let micros = sample.micros;
    let (seconds, part) = (micros / 1_000_000, micros % 1_000_000);
    let since = format!("{seconds:5}.{part:06}");
    let delta = (micros - last.map_or(micros, |last| last.micros)) as f64 / 1e6;
    let prefix = sample.facility * 8 + u32::from(sample.level);
    let wall = Timestamp::from_microsecond((BOOT * 1000 + micros) as i64).unwrap();
    let print = |form: &str| wall.strftime(form).to_string();
    match format {
        Format::Kmsg => format!("{prefix},{micros},{micros},-;"),
        Format::Dmesg => format!("[{since}] "),
        Format::DmesgRaw => format!("<{prefix}>[{since}] "),
        Format::DmesgCtime => print("[%a %b %e %H:%M:%S %Y] "),
        Format::DmesgIso => print("%Y-%m-%dT%H:%M:%S,%6f+00:00 "),
        Format::DmesgReltime if last.is_none() => print("[%b%e %H:%M] "),
        Format::DmesgReltime => format!("[{delta:+11.6}] "),
        Format::DmesgDelta => format!("[<{delta:12.6}>] "),
        Format::Syslog => print("%b %d %H:%M:%S host kernel: "),
        Format::SyslogIso => print("%Y-%m-%dT%H:%M:%S.%6f+00:00 host kernel: "),
        Format::JournalFull => print("%a %Y-%m-%d %H:%M:%S UTC host kernel: "),
        Format::JournalMonotonic => format!("[{since}] host kernel: "),
        Format::JournalUnix => print("%s.%6f host kernel: "),
        Format::DmesgJson
        | Format::JournalJson
        | Format::Prefixed
        | Format::JsonLines
        | Format::Plain => String::new(),
    }
}

fn write(format: Format, samples: &[Sample]) -> String {
    let mut out = String::new();
    let mut last = None;
    for sample in samples {
        let start = start(format, sample, last);
        let indent = " ".repeat(start.len());
        let text = match format {
            Format::Kmsg => sample.lines.join("\\x0a"),
            _ => sample.lines.join(&format!("\n{indent}")),
        };
        writeln!(out, "{start}{text}").unwrap();
        last = Some(sample);
    }
    out
}

proptest! {
    #[test]
    fn a_capture_is_read_back(samples in samples()) {
        for format in Format::ALL {
            if matches!(
                format,
                Format::Plain
                    | Format::DmesgJson
                    | Format::JournalJson
                    | Format::Prefixed
                    | Format::JsonLines
            ) {
                continue;
            }
            let text = write(format, &samples);
            let now = BOOT + samples.last().unwrap().micros / 1000;
            let capture = read(text.as_bytes(), now, &TimeZone::UTC).unwrap();
            prop_assert_eq!(capture.format, Some(format), "{}", text);
            prop_assert_eq!((capture.unparsable, capture.skipped), (0, 0), "{}", text);
            prop_assert_eq!(capture.log().messages.len(), samples.len(), "{}", text);
            let seconds = matches!(format, Format::DmesgCtime | Format::Syslog | Format::JournalFull);
            for (message, sample) in capture.log().messages.iter().zip(&samples) {
                prop_assert_eq!(&message.text, &sample.lines.join("\\x0a"), "{}", text);
                let known = matches!(format, Format::Kmsg | Format::DmesgRaw);
                let priority = if known { (sample.level, sample.facility) } else { (6, 0) };
                prop_assert_eq!((message.level, message.facility), priority);
                let time = BOOT + sample.micros / 1000;
                match format {
                    Format::DmesgReltime | Format::DmesgDelta => {}
                    _ if seconds => prop_assert_eq!(message.time, time / 1000 * 1000),
                    _ => prop_assert!(message.time.abs_diff(time) <= 1, "{}", text),
                }
            }
            if matches!(format, Format::DmesgReltime | Format::DmesgDelta) {
                let first = (capture.log().messages[0].time, samples[0].micros);
                for (message, sample) in capture.log().messages.iter().zip(&samples) {
                    let expected = first.0 + (sample.micros - first.1) / 1000;
                    prop_assert!(message.time.abs_diff(expected) <= 1, "{}", text);
                }
            }
        }
    }

    #[test]
    fn any_bytes_of_a_message_are_read_back(
        bytes in proptest::collection::vec(any::<u8>(), 1..60)
            .prop_filter("the kernel keeps no line end at the end", |bytes| bytes.last() != Some(&b'\n')),
    ) {
        let text = escape::text(&bytes, Backslash::Character);
        prop_assert!(!text.chars().any(|character| character.is_control() && character != '\t'));
        let array = serde_json::to_string(&bytes).unwrap();
        let journal = format!("{{\"MESSAGE\":{array},\"_TRANSPORT\":\"kernel\",\"__REALTIME_TIMESTAMP\":\"1\"}}");
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        let string = serde_json::to_string(&lossy).unwrap();
        for (capture, expected) in [
            (capture(journal), &text),
            (
                capture(format!("6,1,2,-;{}", crate::node::kmsg::escape(&text))),
                &text,
            ),
            (
                capture(format!("{{\n\"dmesg\": [\n{{\n\"pri\": 6,\n\"msg\": {string}\n}}\n]\n}}")),
                &escape::text(lossy.as_bytes(), Backslash::Character),
            ),
        ] {
            prop_assert_eq!(texts(&capture), [expected]);
            prop_assert_eq!(capture.unparsable, 0);
        }
    }

    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), now in any::<u64>()) {
        check(&bytes, now);
    }

    #[test]
    fn never_panics_on_near_captures(
        lines in proptest::collection::vec(
            prop_oneof![
                "[0-9+,;x =-]{0,40}",
                "\\[[ 0-9+<>.]{0,24}\\] ?[ -~]{0,30}",
                "(<[0-9]{0,4}>)?(Nov|Feb) ?[0-9]{1,2} [0-9:.]{0,12} (h )?kernel: [ -~]{0,20}",
                "(Sat )?[0-9-]{0,10}[T ][0-9:,.+Z-]{0,24} h kernel: [ -~]{0,20}",
                "kern *:[a-z]{0,7} *: [ -~]{0,20}",
                "\\{\"MESSAGE\":[\\[\\]\"0-9a-z,n\\\\]{0,20}(,\"_TRANSPORT\":\"kernel\")?\\}",
                " {0,30}([\"{}\\[\\],]|\"(dmesg|pri|time|msg|fac)\": ?[\"\\[0-9.a-z\\\\]{0,9},?)",
                "-- (Boot|Reboot|cursor:)[ 0-9a-f]{0,34}( --)?",
                "\\x1b[ -~]{0,10}",
                "NVRM: (The NVIDIA GPU )?[ -~]{0,20}",
                "(> |h1: |file:|12:)?(kwi|Mär|04 Aug,|2026 Jul) ?[0-9]{1,2} [0-9:.]{0,12} (h )?(ERR )?kernel: [ -~]{0,20}",
                "[ -~]{0,20}\\[ {0,4}[0-9]{1,5}\\.[0-9]{1,7}\\] [ -~]{0,20}",
                "__CURSOR=s|MESSAGE(=[ -~]{0,9})?|\\{|\"MESSAGE\" : \"x\"|\\}",
                "\\{\"(message|log|host|time)\":\"[ -~&&[^\"]]{0,30}\"(,\"ident\":\"kernel\")?\\}",
            ],
            0..20,
        ),
        now in any::<u64>(),
    ) {
        check(lines.join("\n").as_bytes(), now);
    }
}

/// Properties that hold for every answer.
fn check(bytes: &[u8], now: u64) {
    for zone in [
        TimeZone::UTC,
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
    ] {
        let Ok(capture) = read(bytes, now, &zone) else {
            continue;
        };
        assert_eq!(capture.unparsable > 0, capture.first_unparsable.is_some());
        assert!(capture.logs.is_empty() || capture.format.is_some());
        for log in &capture.logs {
            assert!(log.boots.is_sorted_by(|one, next| one < next));
            assert_eq!(log.boots.first(), Some(&0));
            assert!(
                log.boots
                    .last()
                    .is_some_and(|last| *last < log.messages.len())
            );
            for message in &log.messages {
                assert!(message.level < 8);
                let is_odd = |character: char| character.is_control() && character != '\t';
                assert!(!message.text.contains(is_odd));
                assert!(log.clock == Clock::Wall || message.time <= now);
            }
        }
    }
}
