//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "repeat_threshold": {
      "description": "Command time-outs, transmit time-outs and locked GPUs of one device within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 3
    },
    "repeat_window_seconds": {
      "description": "How long they count, and how long a version mismatch does.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 3600
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many of what a device can recover from make the state Degraded; at least 1.
    pub repeat_threshold: u64,
    /// How long they count, seconds; 60 to 1,209,600.
    pub repeat_window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            repeat_threshold: 3,
            repeat_window_seconds: 3_600,
        }
    }
}

impl Config {
    /// Reads the document. Numbers beyond their bounds are taken as the bound.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(document: &str) -> Result<Self, String> {
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(Self::default());
        }
        let read: Self =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        Ok(Self {
            repeat_threshold: read.repeat_threshold.max(1),
            repeat_window_seconds: read.repeat_window_seconds.clamp(60, 1_209_600),
        })
    }

    /// The window in milliseconds.
    pub fn window_ms(&self) -> u64 {
        self.repeat_window_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_defaults_and_bounds() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let config = Config::parse(r#"{"repeat_threshold":0,"repeat_window_seconds":1}"#).unwrap();
        assert_eq!((config.repeat_threshold, config.window_ms()), (1, 60_000));
        let error = Config::parse(r#"{"threshold":1}"#).unwrap_err();
        assert!(error.contains("unknown field `threshold`"), "{error}");
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let config = Config::default();
        assert_eq!(default("repeat_threshold"), config.repeat_threshold);
        assert_eq!(
            default("repeat_window_seconds"),
            config.repeat_window_seconds
        );
        assert_eq!(schema["properties"].as_object().unwrap().len(), 2);
    }
}
