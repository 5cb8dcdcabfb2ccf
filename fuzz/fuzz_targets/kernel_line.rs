//! Kernel lines through every built-in checker. A line is a message's text, or a whole record
//! (`prefix,sequence,microseconds,flags;text`); an empty line ends a batch, after which a checker goes on with what it
//! kept. A byte 0xff repeats the byte before it sixteen times as often as the byte behind it says. A first line `!`
//! makes it a saved log, which is judged without a boot id.

#![no_main]

use std::sync::LazyLock;

use gpud_fuzz::{
    checkers::{self, Checker},
    node::kmsg::{BootClock, Prefilter, RawRecord},
    small_stack,
};
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject, Trigger};
use libfuzzer_sys::fuzz_target;

const NOW: u64 = 1_800_000_000_000;
const BOOT: u64 = NOW - 3_600_000;
/// What the host refuses, with the whole batch, is not to be given: `host/runtime/src/validate.rs`, bytes and numbers.
const MAX_TEXT: usize = 4096;
const MAX_INFO: usize = 64 * 1024;
const MAX_NAME: usize = 128;
const MAX_PAIRS: usize = 64;
/// The longest value that can be kept, bytes: `host/runtime/src/capability/state.rs`.
const MAX_VALUE: usize = 64 * 1024;
/// The longest line of a saved log, bytes: `host/capture/src`.
const MAX_LINE: usize = 64 * 1024;
/// No more than the host hands over at once.
const MAX_BATCH: usize = 512;

/// As the daemon has it, over all checkers.
static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| {
    let watchers = checkers::ALL.iter().enumerate().map(|(id, checker)| {
        let patterns = checker.patterns.iter().map(|&pattern| pattern.to_owned());
        (id, patterns.collect())
    });
    let (prefilter, refused) = Prefilter::new(&watchers.collect::<Vec<_>>());
    assert!(refused.is_empty(), "{refused:?}");
    prefilter
});

fuzz_target!(init: small_stack(), |input: &[u8]| {
    let (boot_id, input) = match input.strip_prefix(b"!\n") {
        Some(rest) => ("", rest),
        None => ("b3fe1c52-4f1d-4a4e-9a4a-3c1d7e0f2a6b", input),
    };
    let context = CheckContext {
        component: "component".to_owned(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: boot_id.to_owned(),
        boot_time: BOOT,
        previous_check: None,
        extra: Vec::new(),
    };
    let mut budget = MAX_LINE;
    let lines: Vec<Vec<u8>> = input
        .split(|&byte| byte == b'\n')
        .map(|line| expand(line, &mut budget))
        .collect();
    let batches: Vec<Vec<Line>> = lines
        .split(|line| line.is_empty())
        .map(|batch| batch.iter().take(MAX_BATCH).map(|line| read(line)).collect())
        .collect();
    for (id, checker) in checkers::ALL.iter().enumerate() {
        let (mut kept, mut kept_of_delivered) = (None, None);
        for batch in &batches {
            let all: Vec<Message> = batch.iter().map(|line| line.message.clone()).collect();
            let delivered: Vec<Message> = batch
                .iter()
                .filter(|line| line.watchers.contains(&id))
                .map(|line| line.message.clone())
                .collect();
            let events = (checker.on_messages)(&context, &delivered, &mut kept_of_delivered);
            check(checker, &context, &delivered, &events);
            let kept_length = kept_of_delivered.as_ref().map_or(0, String::len);
            assert!(kept_length <= MAX_VALUE, "{}: {kept_length}", checker.name);
            if checker.name == "os" {
                no_news(checker, &context, batch, id);
                continue;
            }
            // A line that the patterns keep away makes no difference.
            let of_all = (checker.on_messages)(&context, &all, &mut kept);
            assert_eq!(of_all, events, "{}", checker.name);
            assert_eq!(kept, kept_of_delivered, "{}", checker.name);
        }
    }
});

/// How many lines ago a panic was is read from the numbers of all lines, so any line may end the wait for its processor.
/// By itself, one that the patterns keep away says nothing.
fn no_news(checker: &Checker, context: &CheckContext, batch: &[Line], id: usize) {
    for line in batch.iter().filter(|line| !line.watchers.contains(&id)) {
        let mut kept = None;
        let message = std::slice::from_ref(&line.message);
        let events = (checker.on_messages)(context, message, &mut kept);
        assert_eq!((events, kept), (Vec::new(), None), "{}", checker.name);
    }
}

/// A message, and the checkers that have a pattern for it.
struct Line {
    message: Message,
    watchers: Vec<usize>,
}

fn read(line: &[u8]) -> Line {
    let mut watchers = Vec::new();
    let Ok(record) = RawRecord::split(line) else {
        PREFILTER.watchers_for_bytes(line, &mut watchers);
        let message = Message {
            sequence: 7,
            time: NOW - 1000,
            level: 4,
            facility: 0,
            text: String::from_utf8_lossy(line).into_owned(),
            dictionary: None,
        };
        return Line { message, watchers };
    };
    PREFILTER.watchers_for_bytes(record.text().as_bytes(), &mut watchers);
    let message = record.to_message(BootClock::booted_at(BOOT));
    let message = Message {
        sequence: message.sequence,
        time: message.time,
        level: message.level,
        facility: message.facility,
        text: message.text,
        dictionary: None,
    };
    Line { message, watchers }
}

/// Writes out repetitions, `budget` further bytes at most.
fn expand(line: &[u8], budget: &mut usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, out.last().copied()) {
            (0xff, Some(last)) => {
                let count = 16 * usize::from(bytes.next().unwrap_or(0));
                let count = count.min(*budget);
                *budget -= count;
                out.extend(std::iter::repeat_n(last, count));
            }
            _ => out.push(byte),
        }
    }
    out
}

fn check(checker: &Checker, context: &CheckContext, messages: &[Message], events: &[Event]) {
    let name = checker.name;
    // A panic is two: one that never got its processor, and the next. No messages are a log's end, which ends what waits.
    assert!(events.len() <= 2 * messages.len().max(1), "{name}");
    for event in events {
        assert!(
            event.time <= context.now,
            "{name}: in the future: {event:?}"
        );
        assert!(!event.name.is_empty(), "{name}: {event:?}");
        short(name, &event.name, MAX_NAME);
        short(name, &event.message, MAX_TEXT);
        let pairs = &event.extra_info;
        assert!(pairs.len() <= MAX_PAIRS, "{name}: {event:?}");
        for (index, (key, value)) in pairs.iter().enumerate() {
            short(name, key, MAX_NAME);
            short(name, value, MAX_INFO);
            let twice = pairs.iter().take(index).any(|(other, _)| other == key);
            assert!(!twice, "{name}: {event:?}");
        }
        let merge = event.merge.as_ref().expect("a rule for repeats");
        short(name, &merge.key, MAX_INFO / 4);
        assert!(merge.window_seconds > 0, "{name}: {event:?}");
        check_subject(name, event.subject.as_ref());
        for evidence in &event.evidence {
            if let Evidence::File(what) | Evidence::Nvml(what) | Evidence::Other(what) = evidence {
                short(name, what, MAX_TEXT);
            }
        }
        let first = event.evidence.first();
        assert!(
            matches!(first, Some(Evidence::Kmsg(_))),
            "{name}: {event:?}"
        );
    }
}

fn check_subject(name: &str, subject: Option<&Subject>) {
    match subject {
        None | Some(Subject::Node) => {}
        Some(Subject::Gpu(id)) => {
            let parts = [&id.uuid, &id.serial, &id.pci_id];
            parts
                .into_iter()
                .flatten()
                .for_each(|part| short(name, part, MAX_NAME));
        }
        Some(Subject::Port(port)) => short(name, &port.device, MAX_NAME),
        Some(Subject::Unit(unit)) => short(name, unit, MAX_NAME),
        Some(Subject::Mount(path)) => short(name, path, MAX_TEXT),
        Some(Subject::Other((kind, id))) => {
            short(name, kind, MAX_NAME);
            short(name, id, MAX_NAME);
        }
    }
}

fn short(name: &str, text: &str, limit: usize) {
    assert!(text.len() <= limit, "{name}: {} bytes: {text}", text.len());
}
