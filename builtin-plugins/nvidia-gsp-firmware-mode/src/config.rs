//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected": {
      "description": "What every GPU that can tell must have.",
      "enum": ["any", "enabled", "disabled"], "default": "any"
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// On or off; nothing is no demand.
    pub expected: Option<bool>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let expected = match settings.word("expected") {
            Some("enabled") => Some(true),
            Some("disabled") => Some(false),
            _ => None,
        };
        Ok(Self { expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        for (document, expected) in [
            ("{}", Some(None)),
            (r#"{"expected":"enabled"}"#, Some(Some(true))),
            (r#"{"expected":"disabled"}"#, Some(Some(false))),
            (r#"{"expected":1}"#, Some(None)),
            ("{", None),
        ] {
            let read = Config::parse(document).ok();
            assert_eq!(read.map(|config| config.expected), expected, "{document}");
        }
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
