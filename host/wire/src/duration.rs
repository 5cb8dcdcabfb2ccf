//! Durations as Go writes and reads them: `1m0s`, `1h30m`, `-1.5h`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};

use super::quote::time_quote;

/// A signed length of time in nanoseconds, spelled as Go spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GoDuration(pub i64);

/// Why a text is not a duration. The messages are Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// Not a sequence of numbers with units, or out of range.
    #[error("time: invalid duration {}", time_quote(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", time_quote(.0))]
    MissingUnit(String),
    /// A unit that does not exist, such as `d`.
    #[error(
        "time: unknown unit {} in duration {}",
        time_quote(unit),
        time_quote(text)
    )]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// Largest magnitude: that of the most negative 64-bit number.
const LIMIT: u64 = 1 << 63;

const SECOND: u64 = 1_000_000_000;

impl GoDuration {
    /// Whole milliseconds, rounded towards zero.
    pub fn as_millis(self) -> i64 {
        self.0 / 1_000_000
    }
}

impl From<Duration> for GoDuration {
    /// Longer than 292 years becomes the longest duration.
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl FromStr for GoDuration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ParseDurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = one_part(rest, text)?;
            total = total
                .checked_add(part)
                .filter(|sum| *sum <= LIMIT)
                .ok_or_else(invalid)?;
            rest = after;
        }
        if negative {
            return Ok(Self(0_i64.checked_sub_unsigned(total).ok_or_else(invalid)?));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }
}

/// One number with its unit at the start of `rest`, in nanoseconds, and what follows. `text` is for the error.
fn one_part<'a>(rest: &'a str, text: &str) -> Result<(u64, &'a str), ParseDurationError> {
    let invalid = || ParseDurationError::Invalid(text.to_owned());
    let (whole, after) = digits(rest);
    let (fraction, after) = match after.strip_prefix('.') {
        Some(after) => digits(after),
        None => ("", after),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let end = after
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(after.len());
    let (unit, after) = after.split_at(end);
    if unit.is_empty() {
        return Err(ParseDurationError::MissingUnit(text.to_owned()));
    }
    let scale: u64 = match unit {
        "ns" => 1,
        // Two spellings of the micro sign.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => {
            return Err(ParseDurationError::UnknownUnit {
                unit: unit.to_owned(),
                text: text.to_owned(),
            });
        }
    };
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| invalid())?
    };
    let nanos = whole
        .checked_mul(scale)
        .and_then(|nanos| nanos.checked_add(fraction_of(fraction, scale)))
        .filter(|nanos| *nanos <= LIMIT)
        .ok_or_else(invalid)?;
    Ok((nanos, after))
}

/// Splits off leading decimal digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// `0.fraction × scale`, rounded down. 18 digits are more than any unit can show; further ones are dropped.
fn fraction_of(fraction: &str, scale: u64) -> u64 {
    let mut value: u128 = 0;
    let mut power: u128 = 1;
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u128::from(digit.saturating_sub(b'0'));
        power *= 10;
    }
    u64::try_from(value * u128::from(scale) / power).unwrap_or(u64::MAX)
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        if size == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if size < SECOND {
            let (unit, scale, width) = match size {
                0..1_000 => ("ns", 1, 0),
                1_000..1_000_000 => ("µs", 1_000, 3),
                _ => ("ms", 1_000_000, 6),
            };
            return write!(f, "{}{}{unit}", size / scale, tail(size % scale, width));
        }
        let seconds = size / SECOND;
        if seconds >= 3600 {
            write!(f, "{}h", seconds / 3600)?;
        }
        if seconds >= 60 {
            write!(f, "{}m", seconds / 60 % 60)?;
        }
        write!(f, "{}{}s", seconds % 60, tail(size % SECOND, 9))
    }
}

/// `.digits` without trailing zeros; nothing for zero.
fn tail(fraction: u64, width: usize) -> String {
    if fraction == 0 {
        return String::new();
    }
    let digits = format!("{fraction:0width$}");
    format!(".{}", digits.trim_end_matches('0'))
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
