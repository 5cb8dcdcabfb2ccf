//! A configuration document, read with care: a value of the wrong kind counts as not given, and one beyond its bounds as
//! the bound. The host has held the document against the schema; a mistake that gets past it must not silence a check.
//!
//! [`numbers`] is smaller, for a configuration that is nothing but numbers. [`error_limits`] has the keys of checkers that
//! count errors of hardware. A site's policy is read by [`policy`](crate::policy).
//!
//! ```
//! use gpud_sdk::settings::Settings;
//!
//! let settings = Settings::parse(r#"{"most_errors": 500, "devices": ["eth0"]}"#)?;
//! assert_eq!(settings.number("most_errors", 10, 1..=100), 100);
//! assert_eq!(settings.number("window_seconds", 60, 1..=3_600), 60);
//! assert_eq!(settings.words("devices").unwrap_or_default(), ["eth0"]);
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;

use serde_json::Value;

pub mod error_limits;
pub mod numbers;

/// Longest list or map that is taken.
const MAX_ITEMS: usize = 256;
/// Longest name in one, bytes.
const MAX_NAME_BYTES: usize = 256;

/// A configuration document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings(Value);

impl Settings {
    /// Reads a document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(Self::default());
        }
        let value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        Ok(Self(value))
    }

    /// Returns a whole number within bounds.
    pub fn number(&self, key: &str, default: u64, bounds: std::ops::RangeInclusive<u64>) -> u64 {
        let given = self.0.get(key).and_then(Value::as_u64);
        given.map_or(default, |given| given.clamp(*bounds.start(), *bounds.end()))
    }

    /// Returns a flag.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    /// Returns a word; `None` if it is empty or was not given.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str().filter(|word| !word.is_empty())
    }

    /// Returns a list of words; `None` if it was not given.
    pub fn words(&self, key: &str) -> Option<Vec<String>> {
        let list = self.0.get(key)?.as_array()?;
        let words = list.iter().filter_map(Value::as_str);
        Some(
            words
                .filter(|word| fits(word))
                .take(MAX_ITEMS)
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Returns numbers by name.
    pub fn numbers(&self, key: &str) -> BTreeMap<String, f64> {
        let map = self.0.get(key).and_then(Value::as_object);
        let numbers = map.into_iter().flatten().filter_map(|(name, value)| {
            Some((name.clone(), value.as_f64().filter(|_| fits(name))?))
        });
        numbers.take(MAX_ITEMS).collect()
    }
}

fn fits(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_within_the_bound_is_read() {
        let document =
            r#"{"n":500,"s":"x","l":["a",1,"b",""],"m":{"a":1.5,"b":"x"},"f":true,"e":""}"#;
        let settings = Settings::parse(document).unwrap();
        assert_eq!(settings.number("n", 1, 0..=100), 100);
        assert_eq!(settings.number("s", 1, 0..=100), 1);
        assert_eq!(settings.words("l").unwrap(), ["a", "b"]);
        assert_eq!(settings.words("n"), None);
        assert_eq!(settings.numbers("m"), [("a".to_owned(), 1.5)].into());
        assert_eq!(settings.word("s"), Some("x"));
        assert_eq!(settings.word("e"), None);
        assert!(settings.flag("f", false) && settings.flag("n", true));
        assert!(Settings::parse("{").is_err());
        assert_eq!(Settings::parse("{}").unwrap().number("n", 7, 0..=100), 7);
    }
}
