//! Kernel messages about processors: hung tasks (`kernel/hung_task.c`) and soft lockups (`kernel/watchdog.c`).

use gpud_builtin_shared::patterns::Entry;
use gpud_sdk::incidents::{clip, is_driver_line};
use gpud_sdk::{CheckContext, Event, Evidence, Message};

use crate::patterns;

pub use crate::patterns::PATTERNS;

/// Repeats of the same event within this time are counted, not stored.
const MERGE_SECONDS: u32 = 60;

/// The event that a message stands for, if any.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    let (entry, text) = find(&message.text).filter(|_| is_driver_line(message))?;
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let mut event = Event::new(at, entry.name, entry.event_type(), text.as_str());
    event.evidence.push(Evidence::Kmsg(message.sequence));
    Some(event.merged_by(text, MERGE_SECONDS))
}

/// What a kernel line tells, and the message of its event. A hung task's message has the seconds that the line has: the
/// kernel counts on from report to report (122, 245, 368 …). GPUd's says 120 whatever the line says.
pub fn find(line: &str) -> Option<(&'static Entry, String)> {
    if let Some((task, seconds)) = hung_task(line) {
        let entry = &patterns::CPU_BLOCKED_TOO_LONG;
        let values = [("task", clip(task)), ("seconds", clip(seconds))];
        return Some((entry, entry.say(&values)));
    }
    let entry = &patterns::CPU_SOFT_LOCKUP;
    let task = soft_lockup(line)?;
    Some((entry, entry.say(&[("task", clip(task))])))
}

/// `task ‹name›:‹pid› blocked for more than ‹n› seconds`, or since Linux 6.17 `blocked in I/O wait for …`. A name may
/// hold a colon (`kworker/u130:2:8841`); the task is then given up to the first number, as GPUd gives it, with the
/// seconds. Only at the beginning of the line, or behind `INFO: `.
fn hung_task(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("INFO: ").unwrap_or(line);
    let rest = rest.strip_prefix("task ")?;
    let colon = rest.find(':').filter(|&colon| colon > 0)?;
    let (name, after) = rest.split_at_checked(colon + 1)?;
    let digits = count_digits(after);
    let (_, tail) = after.split_at_checked(digits)?;
    // At least one character stands between the number and the phrase, if need be the number's last digit.
    let mut inner = tail.chars();
    if digits == 0 {
        return None;
    }
    let after_one = inner.next().and_then(|_| blocked_seconds(inner.as_str()));
    let (taken, seconds) = match after_one {
        Some(seconds) => (digits, seconds),
        None if digits > 1 => (digits - 1, blocked_seconds(tail)?),
        None => return None,
    };
    Some((rest.get(..name.len() + taken)?, seconds))
}

/// The number of `blocked for more than ‹n› seconds`.
fn blocked_seconds(text: &str) -> Option<&str> {
    let phrases = [
        "blocked for more than ",
        "blocked in I/O wait for more than ",
    ];
    phrases.iter().find_map(|phrase| {
        suffixes(text, phrase).find_map(|rest| {
            let (seconds, rest) = rest.split_at_checked(count_digits(rest))?;
            (!seconds.is_empty() && rest.starts_with(" seconds")).then_some(seconds)
        })
    })
}

/// `[[NMI ]watchdog: ][BUG: ]soft lockup - CPU#‹n› stuck for ‹n›s! [‹name›:‹pid›]`, where the name may hold colons and
/// brackets itself.
fn soft_lockup(line: &str) -> Option<&str> {
    let rest = ["NMI watchdog: ", "watchdog: "]
        .iter()
        .find_map(|by| line.strip_prefix(by))
        .unwrap_or(line);
    let rest = rest.strip_prefix("BUG: ").unwrap_or(rest);
    let rest = rest.strip_prefix("soft lockup - CPU#")?;
    let rest = after_digits(rest)?.strip_prefix(" stuck for ")?;
    let rest = after_digits(rest)?.strip_prefix("s! [")?;
    rest.match_indices(']').find_map(|(end, _)| {
        let task = rest.get(..end)?;
        let (name, pid) = task.rsplit_once(':')?;
        let pid_is_number = !pid.is_empty() && count_digits(pid) == pid.len();
        (!name.is_empty() && pid_is_number).then_some(task)
    })
}

/// What follows each occurrence of a text, from left to right.
fn suffixes<'a>(text: &'a str, of: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(of)
        .filter_map(move |(at, _)| text.get(at + of.len()..))
}

fn after_digits(text: &str) -> Option<&str> {
    match count_digits(text) {
        0 => None,
        digits => text.get(digits..),
    }
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::{EventType, Trigger};
    use proptest::prelude::*;
    use regex::Regex;
    use std::sync::LazyLock;

    const LOCKUP: &str = "CPU soft lockup detected, not releasing for a period of time";

    #[test]
    fn lines_of_real_kernels() {
        let cases = [
            (
                "INFO: task loader:70411 blocked for more than 245 seconds.",
                Some(("245", "loader:70411")),
            ),
            (
                "INFO: task nvidia-smi:82351 blocked for more than 491 seconds.",
                Some(("491", "nvidia-smi:82351")),
            ),
            (
                "INFO: task kworker/u130:2:8841 blocked for more than 120 seconds.",
                Some(("120", "kworker/u130:2")),
            ),
            (
                "INFO: task jbd2/sda1-8:318 blocked in I/O wait for more than 122 seconds.",
                Some(("122", "jbd2/sda1-8:318")),
            ),
            (
                "task a:12blocked for more than 1 seconds",
                Some(("1", "a:1")),
            ),
            ("task a:1blocked for more than 1 seconds", None),
            ("task :7 task b:8 blocked for more than 3 seconds", None),
            ("x: task b:8 blocked for more than 3 seconds", None),
            ("x: soft lockup - CPU#3 stuck for 22s! [a:12]", None),
            // The kernel names who holds the lock in a second line, which is no second report.
            (
                "INFO: task nvidia-smi:82351 is blocked on a mutex likely owned by task text-embeddings:4871.",
                None,
            ),
            (
                "INFO: task loader:70411 blocked for more than x seconds.",
                None,
            ),
            ("task:loader state:D stack:0 pid:70411", None),
            (
                "watchdog: BUG: soft lockup - CPU#63 stuck for 26s! [ingest:90210]",
                Some((LOCKUP, "ingest:90210")),
            ),
            (
                "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/7:1:334]",
                Some((LOCKUP, "kworker/7:1:334")),
            ),
            (
                "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [a]b:12]",
                Some((LOCKUP, "a]b:12")),
            ),
            (
                "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [:12]",
                None,
            ),
            (
                "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [name]",
                None,
            ),
            ("Watchdog detected hard LOCKUP on cpu 3", None),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|(text, task)| match text {
                LOCKUP => ("cpu_soft_lockup", format!("{LOCKUP} ({task})")),
                seconds => {
                    let text = format!("CPU task blocked for more than {seconds} seconds ({task})");
                    ("cpu_blocked_too_long", text)
                }
            });
            let found = find(line).map(|(entry, text)| (entry.name, text));
            assert_eq!(found, expected, "{line}");
            if expected.is_some() {
                assert!(DELIVERED.is_match(line), "{line}");
            }
        }
    }

    #[test]
    fn a_long_name_is_clipped() {
        let line = format!(
            "INFO: task {}:7 blocked for more than 120 seconds.",
            "x".repeat(8000)
        );
        let (_, text) = find(&line).unwrap();
        assert!(text.starts_with("CPU task blocked for more than 120 seconds"));
        assert!(text.len() < 1000, "{text}");
        let line = format!(
            "soft lockup - CPU#0 stuck for 22s! [{}:7]",
            "é".repeat(8000)
        );
        let (_, text) = find(&line).unwrap();
        assert!(text.starts_with(LOCKUP) && text.len() < 1000, "{text}");
    }

    static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());
    /// The expressions that GPUd's behaviour implies (RE2's `\d` is ASCII).
    static HUNG_TASK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^(?:INFO: )?task ([^:]+:[0-9]+).+blocked for more than [0-9]+ seconds").unwrap()
    });
    static SOFT_LOCKUP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:(?:NMI )?watchdog: )?(?:BUG: )?soft lockup - CPU#[0-9]+ stuck for [0-9]+s! \[([^:]+:[0-9]+)\]").unwrap()
    });

    #[test]
    fn an_event_points_to_its_record_and_counts_repeats() {
        let message = Message {
            sequence: 77,
            time: 1_800_000_000_123,
            level: 3,
            facility: 0,
            text: "INFO: task loader:70411 blocked for more than 245 seconds.".into(),
            dictionary: None,
        };
        let context = |now| CheckContext {
            component: "cpu".to_owned(),
            now,
            trigger: Trigger::Event,
            boot_id: "b-1".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        let early = event(&context(1_800_000_000_100), &message).unwrap();
        assert_eq!(early.time, 1_800_000_000_100, "the future would be refused");
        let event = event(&context(1_800_000_000_200), &message).unwrap();
        assert_eq!(
            (event.time, event.event_type),
            (message.time, EventType::Warning)
        );
        assert_eq!(event.evidence, [Evidence::Kmsg(77)]);
        let merge = event.merge.unwrap();
        assert_eq!((merge.key, merge.window_seconds), (event.message, 60));
    }

    /// Lines put together from the pieces that the rules look at, so that near misses are common.
    fn line() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "INFO: ",
            "task ",
            ":",
            "1",
            "23",
            " ",
            "x",
            "]",
            "[",
            "blocked for more than ",
            " seconds",
            "blocked for more than 12 seconds",
            "soft lockup - CPU#",
            " stuck for ",
            "s! [",
            "kworker/u1",
            "soft lockup - CPU#7 stuck for 9s! [",
            ":42]",
            "task a:17 ",
            "é",
        ]);
        prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

        /// Where GPUd's expressions match, we say the same.
        #[test]
        fn agrees_with_the_reference(line in line()) {
            let task = |captures: regex::Captures<'_>| captures[1].to_owned();
            if let Some(captures) = HUNG_TASK.captures(&line) {
                let found = hung_task(&line).map(|(task, _)| task.to_owned());
                prop_assert_eq!(found, Some(task(captures)));
            } else {
                prop_assert!(hung_task(&line).is_none() || line.contains("I/O wait"));
            }
            if let Some(captures) = SOFT_LOCKUP.captures(&line) {
                prop_assert_eq!(soft_lockup(&line).map(str::to_owned), Some(task(captures)));
            }
            if find(&line).is_some() {
                prop_assert!(DELIVERED.is_match(&line));
            }
        }
    }
}
