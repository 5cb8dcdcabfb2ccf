//! The fabric manager's log: `/var/log/fabricmanager.log`, or the journal of its service.
//!
//! ```text
//! [Mar 02 2026 11:04:19] [ERROR] [tid 2207] detected NVSwitch fatal error 20009 on fid 0 on NVSwitch pci bus id 00000000:C4:00.0 physical id 1 port 12
//! ```

use gpud_sdk::incidents::clip;
use gpud_sdk::{CheckContext, Event, EventType};

/// There are no switches for it to manage; it ends.
pub const NOTHING_TO_DO: &str = "fabricmanager_nvswitch_nothing_to_do";
/// Repeats within this time are counted, seconds.
const MERGE_SECONDS: u32 = 900;
/// Older lines are history: three days.
const MAX_AGE_MS: u64 = 3 * 24 * 60 * 60 * 1000;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// What a line is about: name and message of its event.
pub fn find(content: &str) -> Option<(&'static str, &'static str)> {
    let number_after = |words: &str| {
        let mut places = content.match_indices(words);
        places.any(|(at, _)| {
            let rest = content.get(at + words.len()..).unwrap_or("");
            at > 0 && rest.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let in_team = || {
        let mut parts = content.split("failed to find the GPU handle ");
        let something = parts.next().is_some_and(|before| !before.is_empty());
        something
            && parts.any(|rest| {
                let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                after.len() < rest.len() && after.starts_with(" in the multicast team ")
            })
    };
    if number_after("detected NVSwitch fatal error ") {
        Some((
            "fabricmanager_nvswitch_fatal_error",
            "NVSwitch fatal error detected",
        ))
    } else if number_after("detected NVSwitch non-fatal error ") {
        Some((
            "fabricmanager_nvswitch_non_fatal_error",
            "NVSwitch non-fatal error detected",
        ))
    } else if in_team() {
        Some((
            "fabricmanager_nvswitch_nvlink_failure",
            "NVSwitch NVLink failure detected",
        ))
    } else if content
        .contains("detected number of NVSwitches don't match with any supported system topology")
    {
        Some((
            "fabricmanager_nvswitch_topology_mismatch",
            "NVSwitch topology mismatch detected - fabric manager failed to start",
        ))
    } else if content.contains("NV_WARN_NOTHING_TO_DO") {
        Some((
            NOTHING_TO_DO,
            "Fabric manager has nothing to do - no NVSwitch devices to manage",
        ))
    } else {
        None
    }
}

/// A line's own time, as unix seconds of a clock in UTC, and what follows it.
pub fn stamped(line: &str) -> Option<(u64, &str)> {
    let (stamp, content) = line.strip_prefix('[')?.split_once(']')?;
    let mut words = stamp.split(' ');
    let (month, day, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let digits = |text: &str, most: usize| -> Option<u64> {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        fits.then(|| text.parse().ok())?
    };
    let (day, year) = (digits(day, 2)?, digits(year, 4)?);
    let mut parts = time.split(':').map(|part| digits(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let valid = words.next().is_none()
        && parts.next().is_none()
        && year >= 1970
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    valid.then(|| {
        let of_day = hour * 3_600 + minute * 60 + second;
        (days(year, month, day) * 86_400 + of_day, content.trim())
    })
}

/// Days since 1970, of a day since then, by the Gregorian calendar with years that begin in March.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let of_year = (153 * month + 2) / 5 + day.saturating_sub(1);
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

/// Seconds that a clock is ahead of UTC, from `date +%z`: `+0200`.
pub fn zone(text: &str) -> Option<i64> {
    let text = text.trim();
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let digits = text.get(1..).filter(|digits| digits.len() == 4)?;
    let number: i64 = digits
        .bytes()
        .all(|c| c.is_ascii_digit())
        .then(|| digits.parse().ok())??;
    Some(sign * (number / 100 * 3_600 + number % 100 * 60))
}

/// A line of the journal as `journalctl -o short-unix` writes it: unix seconds, and the message.
pub fn journal_line(line: &str) -> Option<(u64, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let seconds = time.split('.').next()?.parse().ok()?;
    let (_, message) = rest.split_once("]: ").or_else(|| rest.split_once(": "))?;
    Some((seconds, message))
}

/// Events of the file's lines, oldest first. Their clock is ahead of UTC by so many seconds. Lines without a time, or
/// older than three days, are left out.
pub fn of_file(context: &CheckContext, text: &str, ahead: i64) -> Vec<Event> {
    let lines = text.lines().filter_map(stamped);
    let events = lines.filter_map(|(time, content)| {
        let time = time.saturating_add_signed(-ahead);
        event(context, time, content)
    });
    events.collect()
}

/// Events of the journal's lines.
pub fn of_journal(context: &CheckContext, text: &str) -> Vec<Event> {
    let lines = text.lines().filter_map(journal_line);
    let events = lines.filter_map(|(time, message)| {
        let content = stamped(message).map_or(message, |(_, content)| content);
        event(context, time, content)
    });
    events.collect()
}

fn event(context: &CheckContext, second: u64, content: &str) -> Option<Event> {
    let (name, message) = find(content)?;
    let time = second.saturating_mul(1000).min(context.now);
    if context.now - time > MAX_AGE_MS {
        return None;
    }
    let mut event =
        Event::new(time, name, EventType::Warning, message).merged_by(name, MERGE_SECONDS);
    let line = ("line".to_owned(), clip(content).to_owned());
    event.extra_info.push(line);
    Some(event)
}

#[cfg(test)]
mod tests;
