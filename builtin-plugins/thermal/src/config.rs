//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_throttled_percent": {
      "description": "Share of the time between two checks that a processor may be throttled.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 10
    },
    "line_threshold": {
      "description": "Kernel lines about throttling within ten minutes, with no line about the end, that make the state Degraded.",
      "type": "integer", "minimum": 1, "default": 3
    },
    "shutdown_window_seconds": {
      "description": "How long a shutdown at critical temperature counts.",
      "type": "integer", "minimum": 60, "maximum": 1209600, "default": 86400
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of throttled time from which the state is Degraded, percent; 1 to 100.
    pub max_throttled_percent: u64,
    /// Lines from which it is; at least 1.
    pub line_threshold: u64,
    /// How long a shutdown for heat counts, seconds; 60 to 1,209,600.
    pub shutdown_window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_throttled_percent: 10,
            line_threshold: 3,
            shutdown_window_seconds: 86_400,
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
            max_throttled_percent: read.max_throttled_percent.clamp(1, 100),
            line_threshold: read.line_threshold.max(1),
            shutdown_window_seconds: read.shutdown_window_seconds.clamp(60, 1_209_600),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_defaults_and_bounds() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let document =
            r#"{"max_throttled_percent":500,"line_threshold":0,"shutdown_window_seconds":1}"#;
        let expected = Config {
            max_throttled_percent: 100,
            line_threshold: 1,
            shutdown_window_seconds: 60,
        };
        assert_eq!(Config::parse(document), Ok(expected));
        let error = Config::parse(r#"{"percent":1}"#).unwrap_err();
        assert!(error.contains("unknown field `percent`"), "{error}");
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
        assert_eq!(defaults.len(), 3);
        let document = serde_json::Value::Object(defaults).to_string();
        assert_eq!(Config::parse(&document), Ok(Config::default()));
    }
}
