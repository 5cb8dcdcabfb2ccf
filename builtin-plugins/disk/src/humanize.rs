//! Sizes for people, in powers of 1024.

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// `500 MiB`, `1.5 GiB`: one decimal below ten, none above; whole bytes below ten bytes.
pub fn bytes(size: u64) -> String {
    if size < 10 {
        return format!("{size} B");
    }
    let exponent = (size.ilog2() / 10) as usize;
    let unit = UNITS.get(exponent).copied().unwrap_or("EiB");
    let value = size as f64 / (1u64 << (10 * exponent)) as f64;
    let rounded = (value * 10.0 + 0.5).floor() / 10.0;
    if rounded < 10.0 {
        format!("{rounded:.1} {unit}")
    } else {
        format!("{rounded:.0} {unit}")
    }
}

/// Reads a size with a unit letter, each a power of `base`: `1.8T`, `512`, `63.9M`, `4 KiB`.
pub fn parse(text: &str, base: f64) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(split)?;
    let number: f64 = number.parse().ok()?;
    let unit = unit
        .trim_start()
        .chars()
        .next()
        .map_or('B', |c| c.to_ascii_uppercase());
    let power = "BKMGTPE".find(unit)?;
    Some((number * base.powi(i32::try_from(power).ok()?)).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        let cases = [
            (0, "0 B"),
            (9, "9 B"),
            (10, "10 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (524_288_000, "500 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (104_857_600, "100 MiB"),
            (1 << 30, "1.0 GiB"),
            (10 * 1024 - 1, "10 KiB"),
            (12 * 1024 + 512, "12 KiB"),
            (13 * 1024 + 512, "14 KiB"),
            ((1 << 20) - 1, "1024 KiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (size, text) in cases {
            assert_eq!(bytes(size), text, "{size}");
        }
    }

    #[test]
    fn sizes_with_units() {
        let cases = [
            ("512", 1024.0, Some(512)),
            ("1.5K", 1024.0, Some(1536)),
            ("63.9M", 1000.0, Some(63_900_000)),
            ("2T", 1024.0, Some(2 << 40)),
            ("4 KiB", 1024.0, Some(4096)),
            ("", 1024.0, None),
            ("x", 1024.0, None),
            ("1.2.3", 1024.0, None),
            ("5Q", 1024.0, None),
        ];
        for (text, base, expected) in cases {
            assert_eq!(parse(text, base), expected, "{text}");
        }
    }
}
