//! The configuration that an operator can set.

use std::collections::BTreeMap;

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "checks": {
      "description": "Checks in a row that must find a GPU too hot.",
      "type": "integer", "minimum": 1, "maximum": 60, "default": 2
    },
    "max": {
      "description": "Most degrees Celsius that a sensor may show, by its name: {\"junction\": 95, \"mem\": 90}.",
      "type": "object", "maxProperties": 16, "additionalProperties": { "type": "number" }
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Checks in a row; 1 to 60.
    pub checks: u32,
    /// Degrees Celsius by sensor.
    pub max: BTreeMap<String, f64>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let checks = settings.number("checks", 2, 1..=60);
        Ok(Self {
            checks: u32::try_from(checks).unwrap_or(2),
            max: settings.numbers("max"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let config = Config::parse("{}").unwrap();
        let default = schema["properties"]["checks"]["default"].as_u64();
        assert_eq!(default, Some(u64::from(config.checks)));
        let config = Config::parse(r#"{"checks":0,"max":{"mem":90,"edge":"x"}}"#).unwrap();
        assert_eq!((config.checks, config.max.len()), (1, 1));
        assert!(Config::parse("{").is_err());
    }
}
