//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "checks": {
      "description": "Checks in a row that must find a link below what it can do.",
      "type": "integer", "minimum": 1, "maximum": 60, "default": 3
    },
    "busy_percent": {
      "description": "Utilization from which on a GPU is busy enough for its link to run at full speed.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 10
    },
    "min_width": {
      "description": "Lanes that GPU and slot must be able to do; 0 is no demand.",
      "type": "integer", "minimum": 0, "maximum": 32, "default": 0
    },
    "min_generation": {
      "description": "PCIe generation that GPU and slot must be able to do; 0 is no demand.",
      "type": "integer", "minimum": 0, "maximum": 8, "default": 0
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Checks in a row; 1 to 60.
    pub checks: u32,
    /// Percent; 1 to 100.
    pub busy_percent: u64,
    /// Lanes; 0 is no demand.
    pub min_width: u64,
    /// PCIe generation; 0 is no demand.
    pub min_generation: u64,
}

impl Config {
    /// Reads the document. Numbers beyond their bounds are taken as the bound.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let checks = settings.number("checks", 3, 1..=60);
        Ok(Self {
            checks: u32::try_from(checks).unwrap_or(3),
            busy_percent: settings.number("busy_percent", 10, 1..=100),
            min_width: settings.number("min_width", 0, 0..=32),
            min_generation: settings.number("min_generation", 0, 0..=8),
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
            ("checks", u64::from(config.checks)),
            ("busy_percent", config.busy_percent),
            ("min_width", config.min_width),
            ("min_generation", config.min_generation),
        ] {
            assert_eq!(default(key), value, "{key}");
        }
        assert!(Config::parse("{").is_err());
    }
}
