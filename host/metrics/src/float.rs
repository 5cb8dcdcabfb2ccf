//! Numbers as Go prints them, because today's dashboards and tests compare texts that a Go program wrote.

/// The decimal exponent from which Go's `g` format with shortest digits writes an exponent: one million is `1e+06`.
/// (21, the other number that one meets, belongs to `fmt`'s `%v`.)
const EXPONENT_FROM: i32 = 6;

/// Go's `strconv.FormatFloat(v, 'g', -1, 64)`: the shortest digits that read back as the same number, with an exponent
/// of at least two digits when it is below -4 or not below [`EXPONENT_FROM`].
pub(super) fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        // Prometheus' writer drops the sign of zero.
        return "0".to_owned();
    }
    // Rust's `e` form has the same shortest digits, but an exponent without sign and padding.
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..EXPONENT_FROM).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
