//! The configuration that an operator can set.

use std::collections::BTreeMap;

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected": {
      "description": "Interfaces that must be there and have a link, and the least speed of each in Mbit/s; 0 means any speed.",
      "type": "object", "maxProperties": 256, "additionalProperties": { "type": "number", "minimum": 0 }
    },
    "max_errors_per_hour": {
      "description": "Receive and transmit errors of a wired interface within an hour from which the state is Degraded.",
      "type": "integer", "minimum": 1, "default": 1000
    },
    "max_link_losses_per_hour": {
      "description": "Times that a wired interface may lose its link within an hour.",
      "type": "integer", "minimum": 1, "default": 10
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Least speed in Mbit/s by interface.
    pub expected: BTreeMap<String, f64>,
    /// Errors within an hour that count; at least 1.
    pub max_errors: u64,
    /// Link losses within an hour that count; at least 1.
    pub max_losses: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            expected: settings.numbers("expected"),
            max_errors: settings.number("max_errors_per_hour", 1_000, 1..=u64::MAX),
            max_losses: settings.number("max_link_losses_per_hour", 10, 1..=u64::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_schema() {
        let config = Config::parse("{}").unwrap();
        assert_eq!((config.max_errors, config.max_losses), (1_000, 10));
        let config = Config::parse(r#"{"expected":{"eth0":25000}}"#).unwrap();
        assert_eq!(config.expected, [("eth0".to_owned(), 25_000.0)].into());
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
