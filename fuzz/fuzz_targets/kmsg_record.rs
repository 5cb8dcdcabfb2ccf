//! A captured `/dev/kmsg` as a file: cut into records, read, and accounted for. A byte 0xff repeats the byte before it
//! sixty-four times as often as the byte behind it says, so that records get longer than the kernel's. A record whose
//! text is `reopen` represents a source that was reopened.

#![no_main]

use gpud_fuzz::{
    node::kmsg::{
        self, BootClock, Gap, GapCause, KernelMessage, MAX_RECORD, RawRecord,
        accounting::{Accounting, Observation},
    },
    small_stack,
};
use libfuzzer_sys::fuzz_target;

const BOOT: BootClock = BootClock::booted_at(1_800_000_000_000);
/// Larger than the inputs' own limit, and a few times a record.
const MAX_LOG: usize = 24 * 1024;

fuzz_target!(init: small_stack(), |input: &[u8]| {
    let log = expand(input);
    let expected: Vec<&[u8]> = plain_records(&log).collect();
    let lengths = [1, 7, 509, 8192, log.len()];
    let longest = expected.iter().map(|record| record.len()).max();
    for piece in lengths.into_iter().filter(|&piece| piece > 7 || log.len() < 2048) {
        let records = kmsg::records(&log, piece);
        assert!(records.iter().all(|record| record.len() <= MAX_RECORD + 1));
        if longest.unwrap_or(0) <= MAX_RECORD {
            assert_eq!(records, expected, "in pieces of {piece}");
        }
        // The rest of an overlong record is no record itself, and takes no other one with it.
        let messages: Vec<KernelMessage> = records.iter().filter_map(|record| read(record)).collect();
        let of_expected = expected.iter().filter_map(|record| read(record));
        assert!(messages.iter().cloned().eq(of_expected), "in pieces of {piece}");
        let unparsable = expected.iter().filter(|record| read(record).is_none());
        assert!(records.len() - messages.len() >= unparsable.count(), "in pieces of {piece}");
    }
    for record in &expected {
        check_message(record);
    }
    for resume_after in [None, Some(0), Some(1000), Some(u64::MAX)] {
        account(&expected, resume_after);
    }
});

/// Cut as the documentation has it: a line, and those after it that begin with a blank. No empty lines.
fn plain_records(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = log;
    std::iter::from_fn(move || {
        let mut end = 0;
        loop {
            let behind = rest.get(end..)?;
            end += match behind.iter().position(|&byte| byte == b'\n') {
                Some(line) => line + 1,
                None => behind.len(),
            };
            if rest.get(end) != Some(&b' ') {
                break;
            }
        }
        let (record, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!record.is_empty()).then_some(record)
    })
    .filter(|record| *record != b"\n")
}

fn read(record: &[u8]) -> Option<KernelMessage> {
    kmsg::parse(record, BOOT).ok()
}

fn check_message(record: &[u8]) {
    let message = match kmsg::parse(record, BOOT) {
        Ok(message) => message,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(RawRecord::split(record).is_err());
            return;
        }
    };
    let raw = RawRecord::split(record).expect("it was parsed");
    assert_eq!(message.sequence, raw.sequence);
    assert_eq!(message.monotonic_micros, raw.monotonic_micros);
    assert_eq!(message.text, raw.text());
    assert!(message.level <= 7 && !message.text.contains('\n'));
    assert_eq!(message.time, BOOT.unix_ms(message.monotonic_micros));

    // Written as the kernel does, it is read as the same.
    let flag = if message.fragment { "c" } else { "-" };
    let prefix = u64::from(message.facility) * 8 + u64::from(message.level);
    let mut written = format!(
        "{prefix},{},{},{flag};{}\n",
        message.sequence,
        message.monotonic_micros,
        kmsg::escape(&message.text)
    );
    for (key, value) in &message.dictionary {
        let (key, value) = (kmsg::escape(key), kmsg::escape(value));
        written.push_str(&format!(" {key}={value}\n"));
    }
    if written.len() <= MAX_RECORD {
        assert_eq!(read(written.as_bytes()), Some(message), "{written}");
    }
}

/// Every number is seen, counted as lost, or stands for a record without a readable number.
fn account(records: &[&[u8]], resume_after: Option<u64>) {
    let mut accounting = Accounting::new(resume_after);
    let mut gaps = Vec::new();
    let mut nameless = 0;
    let mut reopened = false;
    let mut last: Option<u64> = None;
    for record in records {
        let Some(message) = read(record) else {
            accounting.observe_nameless();
            nameless += 1;
            continue;
        };
        if message.text == "reopen" {
            accounting.reopened();
            reopened = true;
            continue;
        }
        let sequence = message.sequence;
        let behind = last.is_some_and(|last| sequence <= last && last < u64::MAX);
        match accounting.observe(sequence, message.time) {
            Observation::Replayed => assert!(reopened && last.is_some_and(|last| sequence <= last)),
            Observation::New(gap) => {
                assert!(!(behind && reopened), "delivered twice: {sequence}");
                let missing = match last {
                    Some(last) if sequence > last => sequence - last - 1,
                    _ => 0,
                };
                let lost = gap.as_ref().map_or(0, |gap| gap.count);
                if resume_after.is_none() {
                    assert_eq!(lost, missing.saturating_sub(nameless), "before {sequence}");
                }
                if let Some(gap) = gap {
                    check_gap(&gap, sequence, message.time);
                    gaps.push(gap);
                }
                last = Some(sequence);
                // The first record that is new ends the repetition.
                reopened = false;
                assert_eq!(accounting.last(), last.map(|last| last.min(u64::MAX - 1)));
            }
        }
        nameless = 0;
    }
    let sum = gaps
        .iter()
        .fold(0_u64, |sum, gap| sum.saturating_add(gap.count));
    assert_eq!(kmsg::lost(&gaps), sum);
}

fn check_gap(gap: &Gap, sequence: u64, time: u64) {
    assert_eq!(gap.cause, GapCause::Overrun);
    assert_eq!((gap.last_lost, gap.time), (sequence - 1, time));
    assert!(gap.first_lost <= gap.last_lost && gap.count > 0);
    assert!(gap.count <= (gap.last_lost - gap.first_lost).saturating_add(1));
}

fn expand(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len());
    let mut bytes = input.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, out.last().copied()) {
            (0xff, Some(last)) if last != b'\n' => {
                let count = 64 * usize::from(bytes.next().unwrap_or(0));
                let count = count.min(MAX_LOG.saturating_sub(out.len()));
                out.extend(std::iter::repeat_n(last, count));
            }
            _ => out.push(byte),
        }
    }
    out
}
