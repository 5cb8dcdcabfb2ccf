//! "One, or a list": GPUs, calls and arguments in faults and timeline steps.

use serde::Deserialize;

/// One value or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// All of them.
    pub fn as_slice(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T: PartialEq> OneOrMany<T> {
    /// Is it one of them?
    pub fn has(&self, value: &T) -> bool {
        self.as_slice().contains(value)
    }
}

/// Does a call's name fit? The pattern is a name, or a beginning and `*`; version suffixes (`_v2`) may be left out.
#[must_use]
pub fn call_matches(pattern: &str, name: &str) -> bool {
    if let Some(beginning) = pattern.strip_suffix('*') {
        return name.starts_with(beginning);
    }
    if pattern == name {
        return true;
    }
    let suffix = name.strip_prefix(pattern);
    suffix
        .and_then(|rest| rest.strip_prefix("_v"))
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}
