//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "window_seconds": {
      "description": "How long errors count.",
      "type": "integer", "minimum": 3600, "maximum": 1209600, "default": 86400
    },
    "uncorrected_threshold": {
      "description": "Uncorrected errors of a GPU's links within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 1
    },
    "corrected_threshold": {
      "description": "Corrected errors of a GPU's links within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 10000
    },
    "hive_size": {
      "description": "GPUs that every hive must have; 0 is no demand.",
      "type": "integer", "minimum": 0, "maximum": 64, "default": 0
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How long errors count, seconds; 3,600 to 1,209,600.
    pub window_seconds: u64,
    /// Uncorrected errors of a GPU; at least 1.
    pub uncorrected_threshold: u64,
    /// Corrected errors of a GPU; at least 1.
    pub corrected_threshold: u64,
    /// GPUs of a hive; 0 is no demand.
    pub hive_size: u64,
}

impl Config {
    /// Reads the document. Numbers beyond their bounds are taken as the bound.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            window_seconds: settings.number("window_seconds", 86_400, 3_600..=1_209_600),
            uncorrected_threshold: settings.number("uncorrected_threshold", 1, 1..=u64::MAX),
            corrected_threshold: settings.number("corrected_threshold", 10_000, 1..=u64::MAX),
            hive_size: settings.number("hive_size", 0, 0..=64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let config = Config::parse("{}").unwrap();
        for (key, value) in [
            ("window_seconds", config.window_seconds),
            ("uncorrected_threshold", config.uncorrected_threshold),
            ("corrected_threshold", config.corrected_threshold),
            ("hive_size", config.hive_size),
        ] {
            assert_eq!(default(key), value, "{key}");
        }
        assert!(Config::parse("{").is_err());
    }
}
