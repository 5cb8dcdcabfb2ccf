//! Kernel panics (`kernel/panic.c`) and the limit of open files (`fs/file_table.c`) in the kernel log.
//!
//! A panic line is followed by one that says on which processor and in which process:
//! `CPU: 3 PID: 77 Comm: bash …`, since Linux 6.11 `CPU: 3 UID: 0 PID: 77 Comm: bash …`. Only lines that match
//! [`PATTERNS`] arrive here, so how far apart two lines are is read from their sequence numbers.

use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::{clip, is_driver_line};
use gpud_sdk::{CheckContext, Event, Evidence, Message};

use crate::patterns::{KERNEL_PANIC, VFS_FILE_MAX_LIMIT_REACHED};

pub use crate::patterns::PATTERNS;

/// Repeats of the same event within this time are counted, not stored.
const MERGE_SECONDS: u32 = 60;
/// Lines after the panic's among which the processor's is looked for.
const LINES: u64 = 10;
/// How long the lines of one panic can take to arrive, in milliseconds.
const PATIENCE_MS: u64 = 10_000;
const NO_INFO: &str = KERNEL_PANIC.other_message;

/// A panic line that waits for the one about the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    boot_id: String,
    sequence: u64,
    time: u64,
}

/// The position of the log within a panic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matcher {
    pending: Option<Pending>,
}

impl Matcher {
    /// Goes on where [`Matcher::save`] left off.
    pub fn restore(saved: Option<&str>) -> Self {
        let pending = saved.and_then(|saved| {
            let (boot_id, rest) = saved.split_once(' ')?;
            let (sequence, time) = rest.split_once(' ')?;
            Some(Pending {
                boot_id: boot_id.to_owned(),
                sequence: sequence.parse().ok()?,
                time: time.parse().ok()?,
            })
        });
        Self { pending }
    }

    /// What to keep until the next lines come; nothing outside a panic.
    pub fn save(&self) -> Option<String> {
        self.pending
            .as_ref()
            .map(|pending| format!("{} {} {}", pending.boot_id, pending.sequence, pending.time))
    }

    /// A panic whose further lines will not come any more.
    pub fn overdue(&mut self, boot_id: &str, now: u64) -> Option<Event> {
        let pending = self.pending.as_ref()?;
        let over = pending.boot_id != boot_id || now.saturating_sub(pending.time) >= PATIENCE_MS;
        if over { self.give_up() } else { None }
    }

    /// Takes in the next message of a boot and adds the events that it completes.
    pub fn message(&mut self, boot_id: &str, message: &Message, events: &mut Vec<Event>) {
        let Message {
            sequence,
            time,
            text,
            ..
        } = message;
        events.extend(self.expire(boot_id, *sequence));
        let banner = text.strip_prefix("---[ end ");
        let words = banner.unwrap_or(text);
        if is_panic(words) {
            events.extend(self.give_up());
            // The closing banner (`---[ end Kernel panic …`) repeats the panic's words; it begins nothing.
            if banner.is_none() {
                let boot_id = boot_id.to_owned();
                self.pending = Some(Pending {
                    boot_id,
                    sequence: *sequence,
                    time: *time,
                });
            }
        } else if let Some(place) = self.pending.as_ref().and_then(|_| processor(text)) {
            self.pending = None;
            events.push(kernel_panic(*time, &place, *sequence));
        } else if exceeds_file_max(text) {
            let entry = VFS_FILE_MAX_LIMIT_REACHED;
            events.push(event(&entry, *time, entry.message, *sequence));
        }
    }

    /// Gives up a panic of another boot, or one that is too many lines ago.
    fn expire(&mut self, boot_id: &str, sequence: u64) -> Option<Event> {
        let pending = self.pending.as_ref()?;
        let lines = sequence.saturating_sub(pending.sequence);
        if pending.boot_id != boot_id || lines > LINES {
            self.give_up()
        } else {
            None
        }
    }

    fn give_up(&mut self) -> Option<Event> {
        let pending = self.pending.take()?;
        Some(kernel_panic(pending.time, NO_INFO, pending.sequence))
    }
}

/// The events of messages, oldest first, and what to keep until the next ones come. `saved` is what was kept last. No
/// messages: the log has ended.
pub fn events(
    context: &CheckContext,
    messages: Vec<Message>,
    saved: Option<&str>,
) -> (Vec<Event>, Option<String>) {
    let mut matcher = Matcher::restore(saved);
    let mut events = Vec::new();
    if messages.is_empty() {
        events.extend(matcher.overdue(&context.boot_id, context.now));
    }
    for mut message in messages.into_iter().filter(is_driver_line) {
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        message.time = message.time.min(context.now);
        matcher.message(&context.boot_id, &message, &mut events);
    }
    (events, matcher.save())
}

/// Panics in a log that a crash left in a file. The events carry the file's time, the nearest that is known.
pub fn in_dump(text: &str, path: &str, modified: u64) -> Vec<Event> {
    let mut matcher = Matcher::default();
    let mut events = Vec::new();
    for (line, text) in (0u64..).zip(text.lines()) {
        if !text.contains("anic") && matcher.pending.is_none() {
            continue;
        }
        let (text, dictionary) = (without_stamp(text).to_owned(), None);
        let message = Message {
            sequence: line,
            time: modified,
            level: 0,
            facility: 0,
            text,
            dictionary,
        };
        matcher.message("", &message, &mut events);
    }
    events.extend(matcher.give_up());
    events.retain(|event| event.name == KERNEL_PANIC.name);
    for event in &mut events {
        event.evidence = vec![Evidence::File(path.to_owned())];
        // The same time at every start: the same event, not one more.
        event.merge = None;
    }
    events
}

/// `Kernel panic - not syncing: …`, or the first two words alone. A process can be called as they are, and other text
/// follows then.
fn is_panic(text: &str) -> bool {
    ["Kernel panic", "Kernel Panic"]
        .iter()
        .find_map(|words| text.strip_prefix(words))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(" - not syncing"))
}

/// A line of a dump without what the kernel puts before a message: `<0>`, `[    9.000001] ` and `[    T1] `.
fn without_stamp(line: &str) -> &str {
    let mut rest = line.strip_prefix('<').map_or(line, |rest| {
        let level = rest.split_once('>');
        let level = level.filter(|(level, _)| level.bytes().all(|byte| byte.is_ascii_digit()));
        level.map_or(line, |(_, rest)| rest)
    });
    for _ in 0..2 {
        let is_stamp = |text: &str| {
            let fits = |byte: u8| byte.is_ascii_digit() || b" .TC".contains(&byte);
            !text.is_empty() && text.bytes().all(fits)
        };
        let stamp = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((_, after)) = stamp.filter(|(stamp, _)| is_stamp(stamp)) else {
            break;
        };
        rest = after.trim_start_matches(' ');
    }
    rest
}

fn kernel_panic(time: u64, message: &str, sequence: u64) -> Event {
    event(&KERNEL_PANIC, time, message, sequence)
}

fn event(entry: &Entry, time: u64, message: &str, sequence: u64) -> Event {
    let mut event = Event::new(time, entry.name, entry.event_type(), message);
    event.evidence.push(Evidence::Kmsg(sequence));
    event.merged_by(message, MERGE_SECONDS)
}

/// The message about a line that says on which processor and in which process.
fn processor(line: &str) -> Option<String> {
    let (cpu, rest) = number(line.strip_prefix("CPU: ")?)?;
    let rest = rest
        .strip_prefix(" UID: ")
        .and_then(number)
        .map_or(rest, |(_, rest)| rest);
    let (pid, rest) = number(rest.strip_prefix(" PID: ")?)?;
    let comm = rest
        .strip_prefix(" Comm: ")?
        .split(char::is_whitespace)
        .next()?;
    let known = !comm.is_empty();
    let [cpu, pid, comm] = [cpu, pid, comm].map(clip);
    known.then(|| KERNEL_PANIC.say(&[("cpu", cpu), ("pid", pid), ("comm", comm)]))
}

/// `VFS: file-max limit ‹n› reached`.
fn exceeds_file_max(line: &str) -> bool {
    let after = line.strip_prefix("VFS: file-max limit ").and_then(number);
    after.is_some_and(|(_, rest)| rest.starts_with(" reached"))
}

/// Leading digits, and what follows.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(digits).filter(|_| digits > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::Regex;
    use std::sync::LazyLock;

    const PANIC: &str = "Kernel panic - not syncing: Fatal exception";
    const CPU: &str = "CPU: 3 PID: 77 Comm: bash Not tainted 6.8.0";
    const CPU_6_11: &str = "CPU: 3 UID: 0 PID: 77 Comm: bash Not tainted 6.12.0";
    const END: &str = "---[ end Kernel panic - not syncing: Fatal exception ]---";
    const VFS: &str = "VFS: file-max limit 1048576 reached";
    const INFO: &str = "Kernel panic detected - CPU: 3, PID: 77, Process: bash";

    fn message(sequence: u64, text: &str) -> Message {
        let (text, dictionary) = (text.to_owned(), None);
        Message {
            sequence,
            time: sequence * 1000,
            level: 0,
            facility: 0,
            text,
            dictionary,
        }
    }

    fn run(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
        let (mut matcher, mut events) = (Matcher::default(), Vec::new());
        for (sequence, text) in lines {
            // Batches may end anywhere.
            matcher = Matcher::restore(matcher.save().as_deref());
            matcher.message("b-1", &message(*sequence, text), &mut events);
        }
        events
            .into_iter()
            .map(|event| (event.time / 1000, event.message))
            .collect()
    }

    #[test]
    fn panics_in_the_log() {
        let vfs = "VFS file-max limit reached";
        type Lines<'a> = &'a [(u64, &'a str)];
        let cases: &[(Lines<'_>, Lines<'_>)] = &[
            (&[(1, PANIC), (2, CPU)], &[(2, INFO)]),
            (&[(1, "Kernel Panic"), (11, CPU_6_11)], &[(11, INFO)]),
            (&[(1, PANIC), (12, CPU)], &[(1, NO_INFO)]),
            (
                &[(1, PANIC), (3, PANIC), (4, CPU)],
                &[(1, NO_INFO), (4, INFO)],
            ),
            (&[(1, PANIC), (2, CPU), (9, END), (10, CPU)], &[(2, INFO)]),
            (&[(1, PANIC), (9, END), (10, CPU)], &[(1, NO_INFO)]),
            (&[(1, PANIC), (2, VFS), (3, CPU)], &[(2, vfs), (3, INFO)]),
            (&[(1, PANIC), (20, VFS)], &[(1, NO_INFO), (20, vfs)]),
            (&[(1, CPU), (2, "kernel panic"), (3, CPU)], &[]),
            (&[(1, PANIC)], &[]),
        ];
        for (lines, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|&(time, text)| (time, text.to_owned()))
                .collect();
            assert_eq!(run(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn batches_may_end_anywhere_and_no_event_is_in_the_future() {
        let context = CheckContext {
            component: "os".to_owned(),
            now: 5_000,
            trigger: gpud_sdk::Trigger::Event,
            boot_id: "b-1".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        let (found, kept) = events(&context, vec![message(4, VFS), message(9, PANIC)], None);
        assert_eq!(
            found.iter().map(|event| event.time).collect::<Vec<_>>(),
            [4_000]
        );
        assert_eq!(kept.as_deref(), Some("b-1 9 5000"));
        let long = format!("CPU: 3 PID: 77 Comm: {}", "x".repeat(8000));
        let (found, kept) = events(&context, vec![message(10, &long)], kept.as_deref());
        let [event] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((event.time, kept), (5_000, None));
        assert!(event.message.len() < 1000, "{}", event.message);
    }

    #[test]
    fn a_panic_alone_is_reported_by_the_next_check() {
        let mut matcher = Matcher::default();
        matcher.message("b-1", &message(100, PANIC), &mut Vec::new());
        assert_eq!(matcher.overdue("b-1", 100_000 + PATIENCE_MS - 1), None);
        let saved = matcher.save();
        let event = matcher.overdue("b-1", 100_000 + PATIENCE_MS).unwrap();
        assert_eq!(
            (event.time, event.name.as_str(), event.message.as_str()),
            (100_000, "kernel_panic", NO_INFO)
        );
        assert_eq!(event.evidence, [Evidence::Kmsg(100)]);
        assert_eq!(event.merge.unwrap().window_seconds, 60);
        assert_eq!(
            (matcher.save(), matcher.overdue("b-1", u64::MAX)),
            (None, None)
        );

        let mut after_boot = Matcher::restore(saved.as_deref());
        assert!(after_boot.clone().overdue("b-2", 100_001).is_some());
        let mut events = Vec::new();
        after_boot.message("b-2", &message(3, VFS), &mut events);
        assert_eq!(events.len(), 2);
        for saved in [None, Some(""), Some("x y"), Some("b 1 z")] {
            assert_eq!(Matcher::restore(saved), Matcher::default());
        }
    }

    #[test]
    fn panics_in_a_dump() {
        let lines = |count: usize| "<6>[ 1.0] other\n".repeat(count);
        let cases = [
            (
                format!(
                    "<0>[ 9.1] {PANIC}\n<4>[ 9.2] {CPU}\n{}<0>[ 9.9] {END}",
                    lines(3)
                ),
                vec![INFO],
            ),
            (
                format!("{}<0>[ 9.1] {PANIC}\n{VFS}\n{}", lines(3), lines(20)),
                vec![NO_INFO],
            ),
            (format!("{PANIC}\n"), vec![NO_INFO]),
            (lines(3) + VFS, vec![]),
        ];
        for (text, expected) in cases {
            let events = in_dump(&text, "/p/dmesg.txt", 42);
            let messages: Vec<_> = events.iter().map(|event| event.message.as_str()).collect();
            assert_eq!(messages, expected, "{text}");
            for event in &events {
                assert_eq!((event.time, &event.merge), (42, &None));
                assert_eq!(event.evidence, [Evidence::File("/p/dmesg.txt".into())]);
            }
        }
    }

    static PROCESSOR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^CPU: ([0-9]+) (?:UID: [0-9]+ )?PID: ([0-9]+) Comm: ([^\s]+)").unwrap()
    });
    static FILE_MAX: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("^VFS: file-max limit [0-9]+ reached").unwrap());
    static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

        #[test]
        fn agrees_with_the_reference(pieces in prop::collection::vec(prop::sample::select(vec![
            "CPU: ", "1", "42", " ", "UID: ", "PID: ", " PID: 7", " Comm: ", "sh", "é", "VFS: file-max limit ", " reached",
            "CPU: 1 UID: 0 PID: 2 Comm: ",
        ]), 0..10)) {
            let line = pieces.concat();
            let expected = PROCESSOR.captures(&line).map(|c| {
                format!("Kernel panic detected - CPU: {}, PID: {}, Process: {}", &c[1], &c[2], &c[3])
            });
            prop_assert_eq!(processor(&line), expected);
            prop_assert_eq!(exceeds_file_max(&line), FILE_MAX.is_match(&line));
            if processor(&line).is_some() || exceeds_file_max(&line) {
                prop_assert!(DELIVERED.is_match(&line));
            }
        }
    }
}
