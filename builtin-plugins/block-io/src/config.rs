//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "io_error_threshold": {
      "description": "Failed requests, NVMe time-outs or link errors of one disk within the window that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 5
    },
    "io_error_window_seconds": {
      "description": "How long they count.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 3600
    },
    "medium_error_threshold": {
      "description": "Medium errors of one disk within their window that make the state Unhealthy; a single one makes it Degraded.",
      "type": "integer", "minimum": 1, "default": 10
    },
    "medium_error_window_seconds": {
      "description": "How long medium and hardware errors count.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 604800
    }
  }
}"#;

/// Bounds of the windows, seconds.
const WINDOW: std::ops::RangeInclusive<u64> = 60..=1_209_600;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Failed requests of one disk that make the state Degraded; at least 1.
    pub io_error_threshold: u64,
    /// How long they count, seconds; 60 to 1,209,600.
    pub io_error_window_seconds: u64,
    /// Medium errors of one disk that make the state Unhealthy; at least 1.
    pub medium_error_threshold: u64,
    /// How long they count, seconds; 60 to 1,209,600.
    pub medium_error_window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            io_error_threshold: 5,
            io_error_window_seconds: 3_600,
            medium_error_threshold: 10,
            medium_error_window_seconds: 604_800,
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
        let window = |seconds: u64| seconds.clamp(*WINDOW.start(), *WINDOW.end());
        Ok(Self {
            io_error_threshold: read.io_error_threshold.max(1),
            io_error_window_seconds: window(read.io_error_window_seconds),
            medium_error_threshold: read.medium_error_threshold.max(1),
            medium_error_window_seconds: window(read.medium_error_window_seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_defaults_and_bounds() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let config = Config::parse(
            r#"{"io_error_threshold":0,"io_error_window_seconds":1,"medium_error_threshold":3,"medium_error_window_seconds":99999999}"#,
        );
        let expected = Config {
            io_error_threshold: 1,
            io_error_window_seconds: 60,
            medium_error_threshold: 3,
            medium_error_window_seconds: 1_209_600,
        };
        assert_eq!(config, Ok(expected));
        let error = Config::parse(r#"{"threshold":1}"#).unwrap_err();
        assert!(error.contains("unknown field `threshold`"), "{error}");
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let defaults: serde_json::Map<_, _> = schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| (key.clone(), value["default"].clone()))
            .collect();
        assert_eq!(defaults.len(), 4);
        let document = serde_json::Value::Object(defaults).to_string();
        assert_eq!(Config::parse(&document), Ok(Config::default()));
    }
}
