//! Names that Prometheus' text format allows.

/// Replaces what a metric name may not hold (and a leading digit) by `_`.
pub(super) fn metric_name(name: &str) -> String {
    escape(name, true)
}

/// Replaces what a label name may not hold by `_`.
pub(super) fn label_name(name: &str) -> String {
    escape(name, false)
}

fn escape(name: &str, colon: bool) -> String {
    name.chars()
        .enumerate()
        .map(|(position, letter)| {
            let legal = letter == '_'
                || letter.is_ascii_alphabetic()
                || (letter.is_ascii_digit() && position > 0)
                || (letter == ':' && colon);
            if legal { letter } else { '_' }
        })
        .collect()
}
