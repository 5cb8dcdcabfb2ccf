//! Kernel messages about processors: hung tasks (`kernel/hung_task.c`) and soft lockups (`kernel/watchdog.c`).

use gpud_sdk::catalog::Entry;
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
mod tests;
