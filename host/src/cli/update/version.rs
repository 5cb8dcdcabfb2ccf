//! The order of versions. No I/O.

/// A version by which others are sorted: `0.2.0-rc.1` is before `0.2.0`. What follows a `+` does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    numbers: [u64; 3],
    is_final: bool,
    before: Vec<Identifier>,
}

/// A part of what follows the dash; numbers are before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads `1.2.3`, `1.2.3-rc.1` and `1.2.3+build`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.split('+').next().unwrap_or_default();
        let (core, before) = match text.split_once('-') {
            Some((core, before)) => (core, Some(before)),
            None => (text, None),
        };
        let mut numbers = core.split('.').map(number);
        let found = [numbers.next()??, numbers.next()??, numbers.next()??];
        if numbers.next().is_some() {
            return None;
        }
        let identifier = |part: &str| match number(part) {
            Some(number) => Some(Identifier::Number(number)),
            None => is_word(part).then(|| Identifier::Word(part.to_owned())),
        };
        let identifiers: Vec<Identifier> = match before {
            Some(before) => before.split('.').map(identifier).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        Some(Self {
            numbers: found,
            is_final: before.is_none(),
            before: identifiers,
        })
    }
}

/// Reads digits and nothing else: `+1` is no number of a version.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_word(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_comes_before_a_version() {
        let sorted = [
            "0.9.9",
            "0.10.0-alpha",
            "0.10.0-rc.1",
            "0.10.0-rc.1.x",
            "0.10.0-rc.2",
            "0.10.0-rc.10",
            "0.10.0",
            "1.0.0",
        ];
        for pair in sorted.windows(2) {
            assert!(
                Version::parse(pair[0]) < Version::parse(pair[1]),
                "{pair:?}"
            );
        }
        assert_eq!(Version::parse("1.2.3+a"), Version::parse("1.2.3+b"));
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "1.2.3-",
            "1.2.3-a..b",
            "1.2.x",
            "+1.2.3",
            "-1.2.3",
            "1.2.3-a/b",
        ] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn versions_are_ordered_by_their_numbers(a in any::<[u32; 3]>(), b in any::<[u32; 3]>()) {
            let version = |n: [u32; 3]| Version::parse(&format!("{}.{}.{}", n[0], n[1], n[2])).unwrap();
            prop_assert_eq!(version(a).cmp(&version(b)), a.cmp(&b));
        }
    }
}
