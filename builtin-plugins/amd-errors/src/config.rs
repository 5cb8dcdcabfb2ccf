//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "repeat_threshold": {
      "description": "Resets, hangs and time-outs of one GPU within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 3
    },
    "repeat_window_seconds": {
      "description": "How long they count.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 3600
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How many of what a GPU can recover from make the state Degraded; at least 1.
    pub repeat_threshold: u64,
    /// How long they count, seconds; 60 to 1,209,600.
    pub repeat_window_seconds: u64,
}

impl Config {
    /// Reads the document. Numbers beyond their bounds are taken as the bound.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            repeat_threshold: settings.number("repeat_threshold", 3, 1..=u64::MAX),
            repeat_window_seconds: settings.number("repeat_window_seconds", 3_600, 60..=1_209_600),
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
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let config = Config::parse("{}").unwrap();
        assert_eq!(default("repeat_threshold"), config.repeat_threshold);
        assert_eq!(
            default("repeat_window_seconds"),
            config.repeat_window_seconds
        );
        let config = Config::parse(r#"{"repeat_threshold":0,"repeat_window_seconds":1}"#).unwrap();
        assert_eq!((config.repeat_threshold, config.window_ms()), (1, 60_000));
    }
}
