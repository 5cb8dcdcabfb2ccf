//! How Go prints a 64-bit float, in JSON and in YAML.

/// As Go's `encoding/json`: the shortest digits that read back to the same value, an exponent only below 1e-6 or from
/// 1e21 on, no `.0` on whole numbers. `value` must be finite.
pub(super) fn json(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        with_exponent(value, 1)
    } else {
        format!("{value}")
    }
}

/// As Go's YAML encoder prints the number that [`json`] wrote: whole numbers that fit 64 bits as integers, others with
/// an exponent below 1e-4 or from 1e6 on (two exponent digits at least). `value` must be finite.
pub(super) fn yaml(value: f64) -> String {
    let size = value.abs();
    // Bounds of what a 64-bit signed or unsigned integer reads.
    let whole = value.fract() == 0.0
        && (-9.223_372_036_854_775e18..1.844_674_407_370_955_1e19).contains(&value);
    if whole || size == 0.0 {
        format!("{}", value + 0.0)
    } else if (1e-4..1e6).contains(&size) {
        format!("{value}")
    } else {
        with_exponent(value, 2)
    }
}

/// `d.ddde±xx` with at least `width` exponent digits.
fn with_exponent(value: f64, width: usize) -> String {
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>width$}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn as_go_prints_them() {
        // The right-hand sides were printed by Go 1.26 (`encoding/json`, `sigs.k8s.io/yaml`).
        for (value, json, yaml) in [
            (0.0, "0", "0"),
            (1.0, "1", "1"),
            (-3.0, "-3", "-3"),
            (1.5, "1.5", "1.5"),
            (0.1, "0.1", "0.1"),
            (1e20, "100000000000000000000", "1e+20"),
            (1e21, "1e+21", "1e+21"),
            (1.5e21, "1.5e+21", "1.5e+21"),
            (1e-6, "0.000001", "1e-06"),
            (9.99e-7, "9.99e-7", "9.99e-07"),
            (-1e-7, "-1e-7", "-1e-07"),
            (1e-10, "1e-10", "1e-10"),
            (123_456_789.123, "123456789.123", "1.23456789123e+08"),
            (12_345_678.5, "12345678.5", "1.23456785e+07"),
            (1.5e10, "15000000000", "15000000000"),
            (5e-324, "5e-324", "5e-324"),
            (
                f64::MAX,
                "1.7976931348623157e+308",
                "1.7976931348623157e+308",
            ),
            (
                123_456_789_012_345_678.0,
                "123456789012345680",
                "123456789012345680",
            ),
        ] {
            assert_eq!(super::json(value), json);
            assert_eq!(super::yaml(value), yaml);
        }
    }

    proptest! {
        #[test]
        fn both_forms_read_back_to_the_same_value(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(super::json(value).parse::<f64>().unwrap(), value);
            prop_assert_eq!(super::yaml(value).parse::<f64>().unwrap(), value);
        }

        #[test]
        fn json_has_an_exponent_only_outside_the_plain_range(value in proptest::num::f64::NORMAL) {
            let plain = (1e-6..1e21).contains(&value.abs());
            prop_assert_eq!(super::json(value).contains('e'), !plain);
        }
    }
}
