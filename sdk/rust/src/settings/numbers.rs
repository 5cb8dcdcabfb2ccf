//! Configuration that is nothing but numbers.

use serde_json::Value;

/// Reads numbers out of a configuration document: where to, under which key, and the least that is taken. What is not of
/// the right kind or too small counts as not given: an operator's typing error in one key must not silence the check.
///
/// # Errors
/// When the document is not JSON.
pub fn read<'a>(
    document: &str,
    into: impl IntoIterator<Item = (&'a mut u64, &'a str, u64)>,
) -> Result<(), serde_json::Error> {
    // Most have none; this saves them the parser.
    if document == "{}" {
        return Ok(());
    }
    let document: Value = serde_json::from_str(document)?;
    for (number, key, least) in into {
        let given = document.get(key).and_then(Value::as_u64);
        if let Some(given) = given.filter(|given| *given >= least) {
            *number = given;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_within_the_bound_is_read() {
        for (document, expected) in [
            ("{}", Some((1, 2))),
            (r#"{"one":5,"two":60}"#, Some((5, 60))),
            (r#"{"one":0,"two":59}"#, Some((1, 2))),
            (r#"{"one":"5","two":-60,"three":7}"#, Some((1, 2))),
            ("[]", Some((1, 2))),
            ("{", None),
        ] {
            let (mut one, mut two) = (1, 2);
            let read = read(document, [(&mut one, "one", 1), (&mut two, "two", 60)]);
            assert_eq!(read.ok().map(|()| (one, two)), expected, "{document}");
        }
    }
}
