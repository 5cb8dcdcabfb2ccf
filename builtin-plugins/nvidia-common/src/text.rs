//! Numbers and lists as text.

/// Longest list, bytes. The host refuses texts of more than 4 KiB.
const MAX_LIST: usize = 3_800;
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Items in a row. What would make the text too long is counted instead.
pub fn join<T: AsRef<str>>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut text = String::new();
    let mut left_out = 0usize;
    for item in items {
        let item = item.as_ref();
        if left_out > 0 || text.len() + separator.len() + item.len() > MAX_LIST {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(separator);
        }
        text.push_str(item);
    }
    if left_out > 0 {
        text.push_str(&format!("{separator}{left_out} more"));
    }
    text
}

/// `part` of `whole` in percent; `None` of nothing.
pub fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// A percentage with two decimals; `0.0` where there is none.
pub fn percent_text(percent: Option<f64>) -> String {
    percent.map_or_else(|| "0.0".to_owned(), |percent| format!("{percent:.2}"))
}

/// The number that [`percent_text`] shows.
pub fn percent_rounded(percent: Option<f64>) -> f64 {
    percent_text(percent).parse().unwrap_or(0.0)
}

/// A size in powers of 1024, `4.0 GiB`, `80 GiB`: one decimal below ten, none above; whole bytes below ten bytes.
pub fn bytes(size: u64) -> String {
    if size < 10 {
        return format!("{size} B");
    }
    let exponent = size.ilog2() / 10;
    let unit = UNITS.get(exponent as usize).copied().unwrap_or("EiB");
    let value = size as f64 / (1u64 << (10 * exponent)) as f64;
    let rounded = (value * 10.0 + 0.5).floor() / 10.0;
    match rounded < 10.0 {
        true => format!("{rounded:.1} {unit}"),
        false => format!("{rounded:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(join(["a"], ", "), "a");
        assert_eq!(join(["a", "b", "c"], ", "), "a, b, c");
        assert_eq!(join(Vec::<String>::new(), ", "), "");
        let long = "x".repeat(2_000);
        assert_eq!(join([&long, &long, &long], "; "), format!("{long}; 2 more"));
    }

    #[test]
    fn percentages() {
        for (part, whole, text, rounded) in [
            (1.0, 3.0, "33.33", 33.33),
            (2.0, 3.0, "66.67", 66.67),
            (700_000.0, 700_000.0, "100.00", 100.0),
            (0.0, 5.0, "0.00", 0.0),
            (5.0, 0.0, "0.0", 0.0),
        ] {
            let percent = percent(part, whole);
            assert_eq!(
                (percent_text(percent).as_str(), percent_rounded(percent)),
                (text, rounded)
            );
        }
    }

    #[test]
    fn sizes() {
        for (size, text) in [
            (0, "0 B"),
            (9, "9 B"),
            (10, "10 B"),
            (1023, "1023 B"),
            (1 << 30, "1.0 GiB"),
            (4 << 30, "4.0 GiB"),
            (80 << 30, "80 GiB"),
            (85_520_809_984, "80 GiB"),
            ((1 << 20) - 1, "1024 KiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(size), text, "{size}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn never_too_long(items in prop::collection::vec("\\PC{0,300}", 0..60)) {
            prop_assert!(join(&items, ", ").len() <= 4_096);
        }

        #[test]
        fn any_size_has_a_text(size in any::<u64>()) {
            prop_assert!(bytes(size).ends_with('B'));
        }
    }
}
