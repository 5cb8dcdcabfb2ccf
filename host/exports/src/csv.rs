//! Comma-separated values as RFC 4180 has them.

/// Adds a line. A value with a comma, a quotation mark or a line break is quoted.
pub(crate) fn push_line<'a>(text: &mut String, values: impl IntoIterator<Item = &'a str>) {
    for (number, value) in values.into_iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        let is_plain = !value.contains([',', '"', '\r', '\n'])
            && !value.starts_with(' ')
            && !value.ends_with(' ');
        if is_plain {
            text.push_str(value);
        } else {
            text.push('"');
            text.push_str(&value.replace('"', "\"\""));
            text.push('"');
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(values: &[&str]) -> String {
        let mut text = String::new();
        push_line(&mut text, values.iter().copied());
        text
    }

    /// Reads one line, as RFC 4180 has it.
    fn read(line: &str) -> Vec<String> {
        let mut values = vec![String::new()];
        let mut chars = line.strip_suffix("\r\n").unwrap().chars().peekable();
        let mut is_quoted = false;
        while let Some(c) = chars.next() {
            match (c, is_quoted) {
                ('"', true) if chars.peek() == Some(&'"') => {
                    chars.next();
                    values.last_mut().unwrap().push('"');
                }
                ('"', _) => is_quoted = !is_quoted,
                (',', false) => values.push(String::new()),
                (c, _) => values.last_mut().unwrap().push(c),
            }
        }
        values
    }

    #[test]
    fn values_are_quoted_where_they_must_be() {
        for (values, expected) in [
            (vec!["a", "", "b"], "a,,b\r\n"),
            (
                vec!["a,b", "say \"no\"", "x\ny"],
                "\"a,b\",\"say \"\"no\"\"\",\"x\ny\"\r\n",
            ),
            (vec![" a", "a b"], "\" a\",a b\r\n"),
        ] {
            assert_eq!(line(&values), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(values in prop::collection::vec("[ -~\r\n\"é,]{0,12}", 1..6)) {
            let texts: Vec<&str> = values.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&line(&texts)), values);
        }
    }
}
