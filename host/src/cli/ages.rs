//! Times for people: `3 minutes ago` (the steps are those of GPUd's library), and moments in UTC.

use jiff::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;
const MONTH: u64 = 30 * DAY;
const YEAR: u64 = 12 * MONTH;

/// In words; whole steps only. Times to come count as now.
pub fn ago(now_ms: u64, then_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(then_ms) / 1000;
    if seconds == 0 {
        return "now".to_owned();
    }
    let steps = [
        (MONTH, YEAR, "month"),
        (WEEK, MONTH, "week"),
        (DAY, WEEK, "day"),
        (HOUR, DAY, "hour"),
        (MINUTE, HOUR, "minute"),
        (1, MINUTE, "second"),
    ];
    let fitting = steps
        .into_iter()
        .find(|(step, next, _)| (*step..*next).contains(&seconds));
    let (step, _, unit) = fitting.unwrap_or((YEAR, u64::MAX, "year"));
    let count = seconds / step;
    match count {
        1 => format!("1 {unit} ago"),
        _ => format!("{count} {unit}s ago"),
    }
}

/// A moment in UTC, to the second; the number itself where no calendar has it.
pub fn moment(unix_ms: u64) -> String {
    i64::try_from(unix_ms / 1000)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| unix_ms.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_well() {
        for (seconds, text) in [
            (0, "now"),
            (1, "1 second ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (3 * 60 + 59, "3 minutes ago"),
            (HOUR, "1 hour ago"),
            (DAY - 1, "23 hours ago"),
            (DAY, "1 day ago"),
            (13 * DAY, "1 week ago"),
            (14 * DAY, "2 weeks ago"),
            (65 * DAY, "2 months ago"),
            (YEAR, "1 year ago"),
            (3 * YEAR, "3 years ago"),
        ] {
            assert_eq!(ago(seconds * 1000, 0), text);
        }
        assert_eq!(ago(0, 5000), "now");
    }
}
