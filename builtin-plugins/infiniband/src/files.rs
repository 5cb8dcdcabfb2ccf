//! Parses single files of `/sys/class/infiniband` (`drivers/infiniband/core/sysfs.c`).

/// State of a port: the word behind the number of `4: ACTIVE` or `5: LinkUp`.
///
/// # Errors
/// The problem, when it is not `‹number›: ‹word›`.
pub fn state(text: &str) -> Result<String, String> {
    let text = text.trim();
    let wrong = || format!("{:?} is not ‹number›: ‹word›", clip(text));
    let (number, word) = text.split_once(':').ok_or_else(wrong)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || number.parse::<u32>().is_err() || word.contains(':') {
        return Err(wrong());
    }
    Ok(clip(word.trim()).to_owned())
}

/// Rate of a port in whole Gbit/s, rounded down: 400 of `400 Gb/sec (4X NDR)`, 2 of `2.5 Gb/sec (1X SDR)`.
///
/// # Errors
/// The problem, when it does not begin with a number and a space.
pub fn rate(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, _) = text.split_once(' ').unwrap_or_default();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // What begins with a sign is parsed, too.
    match whole.parse::<u32>() {
        Ok(rate) if is_digits(whole) && is_digits(fraction) => Ok(u64::from(rate)),
        _ => Err(format!("{:?} is not ‹number› Gb/sec", clip(text))),
    }
}

/// A counter: decimal, or in another base with the prefix `0x`, `0o`, `0b` or `0`. None for `N/A (no PMA)`, which the
/// kernel writes where the card does not answer.
///
/// # Errors
/// The problem, when it is no unsigned 64-bit number.
pub fn counter(text: &str) -> Result<Option<u64>, String> {
    let text = text.trim();
    if text.contains("N/A (no PMA)") {
        return Ok(None);
    }
    let lower = text.to_ascii_lowercase();
    let (digits, base) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (digits, 8)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else if let Some(digits) = lower.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        (digits, 8)
    } else {
        (lower.as_str(), 10)
    };
    match u64::from_str_radix(digits, base) {
        Ok(value) if !digits.starts_with('+') => Ok(Some(value)),
        _ => Err(format!("{:?} is not a number", clip(text))),
    }
}

/// Texts of a file that are repeated are cut: a file can hold anything.
pub fn clip(text: &str) -> &str {
    const MAX_TEXT: usize = 64;
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn states() {
        for (text, word) in [
            ("4: ACTIVE\n", "ACTIVE"),
            ("1: DOWN", "DOWN"),
            ("5: ACTIVE_DEFER\n", "ACTIVE_DEFER"),
            ("5: LinkUp\n", "LinkUp"),
            ("2: Polling\n", "Polling"),
            ("7: Phy Test\n", "Phy Test"),
            (" 4:ACTIVE ", "ACTIVE"),
            ("0: <unknown>\n", "<unknown>"),
            ("4:", ""),
        ] {
            assert_eq!(state(text).as_deref(), Ok(word), "{text}");
        }
        for text in [
            "",
            "\n",
            "ACTIVE",
            ": ACTIVE",
            "x: ACTIVE",
            "-4: ACTIVE",
            "+4: ACTIVE",
            "4: ACTIVE: 5",
            "4 : ACTIVE",
            "99999999999: ACTIVE",
            "4; ACTIVE",
        ] {
            assert!(state(text).is_err(), "{text}");
        }
        assert_eq!(
            state("garbage\n"),
            Err(r#""garbage" is not ‹number›: ‹word›"#.into())
        );
        assert_eq!(state(&format!("4: {}", "x".repeat(900))).unwrap().len(), 64);
    }

    #[test]
    fn rates() {
        for (text, gigabits) in [
            ("400 Gb/sec (4X NDR)\n", 400),
            ("200 Gb/sec (4X HDR)\n", 200),
            ("100 Gb/sec (4X EDR)\n", 100),
            ("10 Gb/sec (4X SDR)\n", 10),
            ("2.5 Gb/sec (1X SDR)\n", 2),
            ("399.99 Gb/sec", 399),
            ("0 Gb/sec", 0),
        ] {
            assert_eq!(rate(text), Ok(gigabits), "{text}");
        }
        for text in [
            "",
            "400",
            "400\n",
            "Gb/sec 400",
            " ",
            "NaN Gb/sec",
            "+4 Gb/sec",
            ".5 Gb/sec",
            "4.x Gb/sec",
            "4e2 Gb/sec",
            "99999999999 Gb/sec",
            "inf Gb/sec",
            "-1 Gb/sec",
            "4OO Gb/sec",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counters() {
        for (text, value) in [
            ("0\n", Some(0)),
            ("7\n", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("0x10", Some(16)),
            ("0X1f", Some(31)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("N/A (no PMA)\n", None),
        ] {
            assert_eq!(counter(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            "0x",
            "0x+1",
            "1 2",
            "18446744073709551616",
            "089",
            "seven",
        ] {
            assert!(counter(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([0-9]|: |0x|Gb/sec| |[.+-]|inf|\\PC){0,40}") {
            if let Ok(word) = state(&text) {
                prop_assert!(!word.contains(':'));
            }
            let _ = rate(&text);
            let _ = counter(&text);
        }

        #[test]
        fn numbers_are_read_as_written(value: u64, gigabits in 0u64..100_000) {
            prop_assert_eq!(counter(&format!("{value}\n")), Ok(Some(value)));
            prop_assert_eq!(counter(&format!("{value:#x}\n")), Ok(Some(value)));
            prop_assert_eq!(rate(&format!("{gigabits} Gb/sec (4X NDR)\n")), Ok(gigabits));
        }
    }
}
