//! A saved kernel log, in any form.

#![no_main]

use std::sync::LazyLock;

use gpud_fuzz::{
    capture::{self, Capture, CaptureError, Clock, Format, MAX_LINE},
    node::kmsg::{KernelMessage, MAX_RECORD},
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
                CaptureError::Compressed(_) | CaptureError::BinaryJournal
            );
            assert!(of_content, "{error}");
            return;
        }
    };
    check_counts(&capture, bytes);
    check_boots(&capture);
    for (number, message) in (0..).zip(&capture.messages) {
        check_message(message);
        match capture.clock {
            Clock::Wall => {}
            Clock::SinceBoot => assert!(message.time <= NOW, "{message:?}"),
            Clock::None => assert_eq!(message.time, NOW, "{message:?}"),
        }
        let own_number = message.sequence == number;
        assert!(own_number || capture.format.is_some(), "{message:?}");
    }
    if capture.clock == Clock::SinceBoot {
        let latest = capture.messages.iter().map(|message| message.time).max();
        assert_eq!(latest, Some(NOW));
    }
    round_trip(&capture.messages);
});

/// A line is a message or a part of one, another program's, nothing at all (a note, a bracket of JSON, empty), or
/// unparsable.
fn check_counts(capture: &Capture, bytes: &[u8]) {
    let number = |count: usize| u64::try_from(count).expect("a count");
    let lines = number(bytes.split(|&byte| byte == b'\n').count());
    let told = number(capture.messages.len()) + capture.skipped + capture.unparsable;
    assert!(told <= lines, "{told} of {lines} lines");
    assert_eq!(capture.first_unparsable.is_some(), capture.unparsable > 0);
    if let Some(first) = &capture.first_unparsable {
        assert!((1..=lines).contains(&first.line));
        assert!(
            first.text.len() <= 4 * 200 && is_escaped(&first.text),
            "{first:?}"
        );
    }
    // Only what was recognised has a form, and something has it if anything was.
    let recognised = !capture.messages.is_empty() || capture.skipped > 0;
    assert_eq!(capture.format.is_some(), recognised);
    if capture.format.is_none() && !bytes.trim_ascii().is_empty() {
        let all = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let silent = all.split(|&byte| byte == b'\n').all(|line| {
            let line = line.trim_ascii();
            line.is_empty()
                || line.contains(&0x1b)
                || line.starts_with(b"--")
                || b"{}[],\"".contains(line.first().unwrap_or(&0))
        });
        assert!(
            capture.unparsable > 0 || silent,
            "a text that was not told of"
        );
    }
}

fn check_boots(capture: &Capture) {
    assert_eq!(
        capture.boots.first().copied(),
        (!capture.messages.is_empty()).then_some(0)
    );
    assert!(capture.boots.is_sorted_by(|one, next| one < next));
    let last = capture.boots.last();
    assert!(last.is_none_or(|&last| last < capture.messages.len()));
}

fn check_message(message: &KernelMessage) {
    assert!(message.level <= 7, "{message:?}");
    // Escaped, a byte takes four.
    assert!(message.text.len() <= 4 * MAX_LINE);
    assert!(is_escaped(&message.text), "{message:?}");
    for (key, value) in &message.dictionary {
        assert!(is_escaped(key) && is_escaped(value), "{message:?}");
        assert!(!key.contains('='), "{message:?}");
    }
}

fn is_escaped(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Saved as records of `/dev/kmsg`, the messages are the same.
fn round_trip(messages: &[KernelMessage]) {
    let mut expected = Vec::new();
    let mut log = String::new();
    for message in messages {
        let prefix = u64::from(message.facility) * 8 + u64::from(message.level);
        let (sequence, micros) = (message.sequence, message.monotonic_micros);
        let flag = if message.fragment { "c" } else { "-" };
        let record = format!("{prefix},{sequence},{micros},{flag};{}", message.text);
        if record.len() > MAX_RECORD {
            continue;
        }
        log.push_str(&record);
        log.push('\n');
        for (key, value) in &message.dictionary {
            log.push_str(&format!(" {key}={value}\n"));
        }
        expected.push(message);
    }
    let again = capture::read(log.as_bytes(), NOW, &TimeZone::UTC).expect("a log");
    assert_eq!(again.unparsable, 0, "{:?}", again.first_unparsable);
    assert!(expected.is_empty() || again.format == Some(Format::Kmsg));
    assert_eq!(again.messages.len(), expected.len());
    for (again, message) in again.messages.iter().zip(expected) {
        let mut again = again.clone();
        again.time = message.time;
        assert_eq!(&again, message);
    }
}
