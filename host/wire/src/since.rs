//! How far back: a moment, or a length of time before now.

use jiff::Timestamp;

use super::GoDuration;
use crate::model::UnixMillis;

const DAY_NANOS: i64 = 24 * 60 * 60 * 1_000_000_000;

/// A text that is neither a moment nor a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a time such as 2026-11-26T14:02:11Z nor a length of time such as 90m, 12h or 2d"
)]
pub struct ParseSinceError(String);

/// Reads how far back: RFC 3339 (`2026-11-26T14:02:11Z`), or how long before `now`: days (`2d`), hours, minutes and seconds
/// as Go writes them (`12h`, `1h30m`), or both (`1d12h`).
///
/// # Errors
/// Anything else, and what is negative.
pub fn parse_since(text: &str, now: UnixMillis) -> Result<UnixMillis, ParseSinceError> {
    let text = text.trim();
    let error = || ParseSinceError(text.to_owned());
    if let Ok(moment) = text.parse::<Timestamp>() {
        return u64::try_from(moment.as_millisecond()).map_err(|_| error());
    }
    let nanos = match text.split_once('d') {
        None => text.parse::<GoDuration>().map_err(|_| error())?.0,
        Some((days, rest)) => {
            let days = days.parse::<u32>().map_err(|_| error())?;
            let rest = match rest {
                "" => 0,
                rest => rest.parse::<GoDuration>().map_err(|_| error())?.0,
            };
            i64::from(days)
                .saturating_mul(DAY_NANOS)
                .saturating_add(rest)
        }
    };
    let millis = u64::try_from(nanos / 1_000_000).map_err(|_| error())?;
    Ok(now.saturating_sub(millis))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_and_lengths_of_time() {
        let now = 1_741_064_767_000;
        for (text, expected) in [
            ("2025-03-04T05:06:07Z", Some(now)),
            ("2025-03-04T06:06:07+01:00", Some(now)),
            ("2d", Some(now - 172_800_000)),
            ("1d12h", Some(now - 129_600_000)),
            ("90m", Some(now - 5_400_000)),
            (" 1h30m ", Some(now - 5_400_000)),
            ("0", Some(now)),
            ("4294967295d", Some(0)),
            ("-1h", None),
            ("-1d", None),
            ("1d-36h", None),
            ("d", None),
            ("2days", None),
            ("", None),
            ("yesterday", None),
            ("1960-01-01T00:00:00Z", None),
        ] {
            assert_eq!(parse_since(text, now).ok(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9dhmsTZ:. ]{0,20}", now in any::<u64>()) {
            if let Ok(since) = parse_since(&text, now) {
                prop_assert!(since <= now || text.contains('T') || text.contains(' '));
            }
        }
    }
}
