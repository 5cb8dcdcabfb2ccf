//! Moments and numbers as text. Inlined: the Xids' crate does this for every line, natively without link-time
//! optimisation in the benchmark.

/// A moment in unix seconds as RFC 3339 in UTC, `2025-03-01T10:20:30Z`. Days to dates as in the Gregorian calendar with
/// years that begin in March, so that the leap day comes last.
#[inline]
pub fn rfc3339(second: u64) -> String {
    let (days, of_day) = (second / 86_400, second % 86_400);
    let shifted = days + 719_468; // days since 0000-03-01
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    // By hand: in the sandbox the standard formatter takes longer for this than all else takes for a line.
    let mut text = String::with_capacity(20);
    for (number, width, after) in [
        (year, 4, '-'),
        (month, 2, '-'),
        (of_month, 2, 'T'),
        (hour, 2, ':'),
        (minute, 2, ':'),
        (second, 2, 'Z'),
    ] {
        push_padded(&mut text, number, 10, width);
        text.push(after);
    }
    text
}

/// Appends a number in base 10 or 16 with at least `width` digits.
#[inline]
pub fn push_padded(text: &mut String, number: u64, base: u64, width: u32) {
    let mut place = base.pow(width.saturating_sub(1));
    while number / place >= base {
        place *= base;
    }
    while place > 0 {
        // Below the base, which fits; and a digit of it is a character.
        let digit = (number / place % base) as u32;
        text.push(char::from_digit(digit, base as u32).unwrap_or('0'));
        place /= base;
    }
}

#[cfg(test)]
mod tests {
    use super::{push_padded, rfc3339};

    #[test]
    fn writes_numbers() {
        for (number, width) in [
            (0, 1),
            (0, 4),
            (9, 2),
            (0xabcd, 4),
            (0x1_0000, 4),
            (u64::from(u32::MAX), 8),
        ] {
            let (mut decimal, mut hexadecimal) = (String::new(), String::new());
            push_padded(&mut decimal, number, 10, width);
            push_padded(&mut hexadecimal, number, 16, width);
            let width = width as usize;
            assert_eq!(decimal, format!("{number:0width$}"));
            assert_eq!(hexadecimal, format!("{number:0width$x}"));
        }
    }

    #[test]
    fn writes_moments() {
        for (second, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_740_824_430, "2025-03-01T10:20:30Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (253_402_300_800, "10000-01-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(second), text);
        }
    }
}
