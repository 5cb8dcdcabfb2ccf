//! Words of a sentence.

/// Where the part of a sentence ends.
const VERBS: [&str; 8] = [
    " is ",
    " are ",
    " was ",
    " has ",
    " have ",
    " failed",
    " reported ",
    " returned ",
];

/// The part that a sentence begins with, without its article, and what is said of it.
pub(super) fn split(lower: &str) -> Option<(&str, &str)> {
    let text = lower.strip_prefix("the ").unwrap_or(lower);
    let at = VERBS.iter().filter_map(|verb| text.find(verb)).min()?;
    Some((text.get(..at)?, text.get(at..)?.trim()))
}

/// The first words that the text has, and what they mean.
pub(super) fn first(text: &str, words: &[(&str, &'static str)]) -> Option<&'static str> {
    let found = words.iter().find(|(own, _)| text.contains(own));
    found.map(|(_, meaning)| *meaning)
}

/// The number after these words, such as `2` or `1a`.
pub(super) fn number_after<'a>(lower: &'a str, words: &str) -> Option<&'a str> {
    lower.match_indices(words).find_map(|(at, found)| {
        let rest = lower.get(at + found.len()..)?;
        let end = rest.find(|one: char| !one.is_ascii_alphanumeric());
        let number = rest.get(..end.unwrap_or(rest.len()))?;
        number
            .starts_with(|one: char| one.is_ascii_digit())
            .then_some(number)
    })
}

/// A part's name that begins with its type, by which the catalogue is asked.
pub(super) fn typed(kind: &str, subject: &str) -> String {
    match subject.starts_with(&kind.to_ascii_lowercase()) {
        true => subject.to_owned(),
        false => format!("{kind} {subject}"),
    }
}
