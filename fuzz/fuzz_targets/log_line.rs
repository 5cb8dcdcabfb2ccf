//! The prefix of a line in a saved kernel log: no prefix hides a message, and one line never decides how
//! another is read.

#![no_main]

use gpud_fuzz::{
    capture::{self, Capture, Format},
    small_stack,
};
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

/// 2027-01-15.
const NOW: u64 = 1_800_000_000_000;
const TEXT: &str = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.";
/// Longer prefixes are not looked for.
const MAX_PREFIX: usize = 300;

fuzz_target!(init: small_stack(), |bytes: &[u8]| {
    let line = bytes.split(|&byte| byte < b' ' || byte == 0x7f).next().unwrap_or_default();
    let prefix = line.get(..MAX_PREFIX).unwrap_or(line);
    for begin in [" kernel: ", " [   12.345678] ", " kernel: [   12.345678] "] {
        let line = [prefix, begin.as_bytes(), TEXT.as_bytes()].concat();
        let read = read(&line);
        for text in texts(&read) {
            assert!(text.ends_with(TEXT), "{text}");
        }
        // Whatever stands before it: the message, another program's line, or one that is counted.
        let found = u64::try_from(read.message_count()).expect("a count");
        assert!(found + read.skipped + read.unparsable <= 1);
    }
    alone_as_among_others(line);
});

fn alone_as_among_others(line: &[u8]) {
    let alone = read(line);
    let [text] = texts(&alone)[..] else {
        return;
    };
    // A text without any stamp is taken for a message only if the whole file has none; a further line of a message is none.
    if alone.format == Some(Format::Plain) || line.first().is_none_or(u8::is_ascii_whitespace) {
        return;
    }
    let around = [
        &b"[    1.000000] usb 1-1: one\n"[..],
        line,
        b"\n[    2.000000] usb 1-2: two\n",
    ]
    .concat();
    let among = read(&around);
    assert!(texts(&among).contains(&text), "{text:?}: {among:?}");
}

fn read(log: &[u8]) -> Capture {
    let read = capture::read(log, NOW, &TimeZone::UTC);
    // Compressed and binary files are tried by the target `capture`.
    read.unwrap_or_else(|_| capture::read(b"", NOW, &TimeZone::UTC).expect("an empty log"))
}

fn texts(capture: &Capture) -> Vec<&str> {
    let messages = capture.logs.iter().flat_map(|log| &log.messages);
    messages.map(|message| message.text.as_str()).collect()
}
