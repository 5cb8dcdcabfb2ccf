//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "stall_threshold": {
      "description": "RCU stalls or work queue lockups within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 3
    },
    "blocked_threshold": {
      "description": "Times that a task of one name is reported blocked within the window before it is named.",
      "type": "integer", "minimum": 1, "default": 3
    },
    "stall_window_seconds": {
      "description": "How long a stall, a lockup of a work queue or a blocked task counts.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 3600
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Stalls that make the state Degraded; at least 1.
    pub stall_threshold: u64,
    /// Reports of blocked tasks of one name that make news; at least 1.
    pub blocked_threshold: u64,
    /// How long they count, seconds; 60 to 1,209,600.
    pub stall_window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stall_threshold: 3,
            blocked_threshold: 3,
            stall_window_seconds: 3_600,
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
            stall_threshold: read.stall_threshold.max(1),
            blocked_threshold: read.blocked_threshold.max(1),
            stall_window_seconds: read.stall_window_seconds.clamp(60, 1_209_600),
        })
    }

    /// The window in milliseconds.
    pub fn window_ms(&self) -> u64 {
        self.stall_window_seconds * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_defaults_and_bounds() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let document = r#"{"stall_threshold":0,"blocked_threshold":5,"stall_window_seconds":1}"#;
        let config = Config::parse(document).unwrap();
        assert_eq!(
            (
                config.stall_threshold,
                config.blocked_threshold,
                config.window_ms()
            ),
            (1, 5, 60_000)
        );
        let error = Config::parse(r#"{"threshold":1}"#).unwrap_err();
        assert!(error.contains("unknown field `threshold`"), "{error}");
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let config = Config::default();
        assert_eq!(default("stall_threshold"), config.stall_threshold);
        assert_eq!(default("blocked_threshold"), config.blocked_threshold);
        assert_eq!(default("stall_window_seconds"), config.stall_window_seconds);
        assert_eq!(schema["properties"].as_object().unwrap().len(), 3);
    }
}
