//! Byte counts for people: `1.5 GiB`.

/// Steps of 1024, each with one decimal below 10 and none above.
pub fn iec(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Exact enough: one decimal is shown.
    let mut value = bytes as f64 / 1024.0;
    let mut name = "KiB";
    for unit in UNITS {
        name = unit;
        if value < 1024.0 {
            break;
        }
        if unit != "EiB" {
            value /= 1024.0;
        }
    }
    let rounded = (value * 10.0).round() / 10.0;
    if rounded < 10.0 {
        format!("{rounded:.1} {name}")
    } else {
        format!("{rounded:.0} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::iec;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 * 1024, "10 KiB"),
            (1024 * 1024, "1.0 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (85_899_345_920, "80 GiB"),
            (2_199_023_255_552, "2.0 TiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(iec(bytes), text);
        }
    }
}
