//! Lists such as `name=value,name=value`, as OpenTelemetry's variables have them, and percent-encoding.

/// Reads a list. Values are percent-encoded; white space around names and values does not count.
///
/// # Errors
/// An entry that is none. Its value is not repeated: it may be a secret.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let entries = text.split(',').map(str::trim);
    let entries = entries.filter(|entry| !entry.is_empty());
    entries
        .enumerate()
        .map(|(position, entry)| {
            let number = position + 1;
            let (name, value) = entry
                .split_once('=')
                .ok_or_else(|| format!("entry {number} is not NAME=VALUE"))?;
            let name = decode(name.trim());
            let value = decode(value.trim());
            match (name, value) {
                (Some(name), Some(value)) if !name.is_empty() => Ok((name, value)),
                _ => Err(format!(
                    "entry {number} is not NAME=VALUE with percent-encoded UTF-8"
                )),
            }
        })
        .collect()
}

/// Replaces `%41` and the like by the bytes that they mean. A `%` that nothing fitting follows stays. `None` if that is
/// no UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match byte {
            Some((high, low)) => {
                bytes.push((high << 4) | low);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_read() {
        let of = |list: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            Ok::<_, String>(list.iter().map(pair).collect::<Vec<_>>())
        };
        for (text, pairs) in [
            ("", vec![]),
            (" , ", vec![]),
            ("a=b", vec![("a", "b")]),
            (" a = b , c=d=e", vec![("a", "b"), ("c", "d=e")]),
            (
                "authorization=Basic%20dXNlcjpwdw==",
                vec![("authorization", "Basic dXNlcjpwdw==")],
            ),
            ("a=%C3%BC%2C100%", vec![("a", "ü,100%")]),
            ("a=", vec![("a", "")]),
        ] {
            assert_eq!(parse(text), of(&pairs), "{text}");
        }
        for text in ["hunter2", "a=b,hunter2", "=hunter2", "a=%FFhunter2"] {
            let problem = parse(text).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}") {
            let _ = parse(&text);
            let _ = decode(&text);
        }

        #[test]
        fn what_was_encoded_comes_back(text in "\\PC{0,40}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(decode(&encoded), Some(text));
        }
    }
}
