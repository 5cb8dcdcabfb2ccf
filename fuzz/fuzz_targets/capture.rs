//! A saved kernel log, in any form.

#![no_main]

use std::sync::LazyLock;

use gpud_fuzz::{
    capture::{self, Capture, CaptureError, Clock, Format, HostLog, MAX_LINE, Select, Selection},
    node::kmsg::{self, KernelMessage, MAX_RECORD},
    small_stack,
};
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

/// 2027-01-15.
const NOW: u64 = 1_800_000_000_000;
/// One with hours that do not exist and hours that come twice.
static BERLIN: LazyLock<TimeZone> =
    LazyLock::new(|| TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone"));

fuzz_target!(init: small_stack(), |bytes: &[u8]| {
    let capture = match capture::read(bytes, NOW, &BERLIN) {
        Ok(capture) => capture,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            let of_content = matches!(
                error,
                CaptureError::Packed(_)
                    | CaptureError::Damaged(..)
                    | CaptureError::Bomb(..)
                    | CaptureError::Expands(_)
                    | CaptureError::BinaryJournal
                    | CaptureError::Binary
                    | CaptureError::TooManyHosts
            );
            assert!(of_content, "{error}");
            return;
        }
    };
    check_counts(&capture, bytes);
    for log in &capture.logs {
        check_log(log);
    }
    check_selected(&capture, bytes);
});

/// Wants every message, one by one.
struct Every;

impl Select for Every {
    type Tag = ();

    fn select(&mut self, _message: &KernelMessage) -> Option<Selection<()>> {
        Some(Selection {
            tag: (),
            shape: 0,
            singles: u32::MAX,
        })
    }
}

/// In bounded memory, the same is read.
fn check_selected(capture: &Capture, bytes: &[u8]) {
    let mut selection = capture::read_selected(bytes, NOW, &BERLIN, &mut Every).expect("a log");
    assert_eq!(selection.overview.logs.len(), capture.logs.len());
    for (number, log) in capture.logs.iter().enumerate() {
        let overview = selection
            .overview
            .logs
            .get(number)
            .expect("one for each log");
        assert_eq!(overview.boots, log.boots.len());
        assert_eq!(overview.boot_times.len() + 1, log.boots.len());
        let selected = selection.take(number).into_iter().flatten();
        let messages: Vec<_> = selected.map(|selected| selected.message).collect();
        assert!(messages.is_empty() || messages == log.messages);
    }
}

/// A line is a message or a part of one, another program's, nothing at all (a note, a bracket of JSON, empty), or
/// unparsable.
fn check_counts(capture: &Capture, bytes: &[u8]) {
    let is_text = !bytes.contains(&0)
        && ![
            &b"\x1f\x8b"[..],
            b"\xfd7zXZ",
            b"\x28\xb5\x2f\xfd",
            b"\x50\x2a\x4d\x18",
        ]
        .iter()
        .any(|magic| bytes.starts_with(magic))
        && !bytes.starts_with(b"\xff\xfe")
        && !bytes.starts_with(b"\xfe\xff");
    if is_text {
        let number = |count: usize| u64::try_from(count).expect("a count");
        let ends = bytes.split(|&byte| matches!(byte, b'\n' | b'\r'));
        let lines = number(ends.count());
        let counted = number(capture.message_count()) + capture.skipped + capture.unparsable;
        assert!(counted <= lines, "{counted} of {lines} lines");
        if let Some(first) = &capture.first_unparsable {
            assert!((1..=lines).contains(&first.line));
        }
    }
    assert_eq!(capture.first_unparsable.is_some(), capture.unparsable > 0);
    if let Some(first) = &capture.first_unparsable {
        assert!(
            first.text.len() <= 4 * 200 && is_decoded(&first.text),
            "{first:?}"
        );
    }
    // Only what was recognised has a format, and something has it if anything was.
    let recognised = capture.message_count() > 0 || capture.skipped > 0;
    assert_eq!(capture.format.is_some(), recognised);
    let mut hosts: Vec<_> = capture.logs.iter().map(|log| &log.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.len(), capture.logs.len(), "a host has two logs");
}

fn check_log(log: &HostLog) {
    assert_eq!(log.boots.first(), Some(&0));
    assert!(log.boots.is_sorted_by(|one, next| one < next));
    assert!(
        log.boots
            .last()
            .is_some_and(|&last| last < log.messages.len())
    );
    for message in &log.messages {
        check_message(message);
        match log.clock {
            Clock::Wall => {}
            Clock::SinceBoot => assert!(message.time <= NOW, "{message:?}"),
            Clock::None => assert_eq!(message.time, NOW, "{message:?}"),
        }
    }
    if log.clock == Clock::SinceBoot {
        let latest = log.messages.iter().map(|message| message.time).max();
        assert_eq!(latest, Some(NOW));
    }
    round_trip(&log.messages);
}

fn check_message(message: &KernelMessage) {
    assert!(message.level <= 7, "{message:?}");
    // A control character takes four bytes, and a replacement character three.
    assert!(message.text.len() <= 4 * MAX_LINE + 4);
    assert!(is_decoded(&message.text), "{message:?}");
    for (key, value) in &message.dictionary {
        assert!(is_decoded(key) && is_decoded(value), "{message:?}");
    }
}

fn is_decoded(text: &str) -> bool {
    !text.contains(|character: char| character.is_control() && character != '\t')
}

/// Saved as records of `/dev/kmsg`, the messages are the same.
fn round_trip(messages: &[KernelMessage]) {
    let mut expected = Vec::new();
    let mut log = String::new();
    for message in messages {
        let prefix = u64::from(message.facility) * 8 + u64::from(message.level);
        let (sequence, micros) = (message.sequence, message.monotonic_micros);
        let flag = if message.fragment { "c" } else { "-" };
        let text = kmsg::escape(&message.text);
        let record = format!("{prefix},{sequence},{micros},{flag};{text}");
        // A key with `=` would be cut there.
        let is_plain = message.dictionary.iter().all(|(key, _)| !key.contains('='));
        if record.len() > MAX_RECORD || !is_plain {
            continue;
        }
        log.push_str(&record);
        log.push('\n');
        for (key, value) in &message.dictionary {
            let (key, value) = (kmsg::escape(key), kmsg::escape(value));
            log.push_str(&format!(" {key}={value}\n"));
        }
        expected.push(message);
    }
    let again = capture::read(log.as_bytes(), NOW, &TimeZone::UTC).expect("a log");
    assert_eq!(again.unparsable, 0, "{:?}", again.first_unparsable);
    assert!(expected.is_empty() || again.format == Some(Format::Kmsg));
    assert_eq!(again.message_count(), expected.len());
    let messages = again.logs.iter().flat_map(|log| &log.messages);
    for (again, message) in messages.zip(expected) {
        let mut again = again.clone();
        again.time = message.time;
        assert_eq!(&again, message);
    }
}
