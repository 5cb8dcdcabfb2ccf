//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "min_cap_watts": {
      "description": "Least limit that every GPU must have; 0 is no demand.",
      "type": "integer", "minimum": 0, "maximum": 100000, "default": 0
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Watts; 0 is no demand.
    pub min_cap_watts: u32,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let watts = Settings::parse(document)?.number("min_cap_watts", 0, 0..=100_000);
        Ok(Self {
            min_cap_watts: u32::try_from(watts).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        for (document, expected) in [
            ("{}", Some(0)),
            (r#"{"min_cap_watts":750}"#, Some(750)),
            (r#"{"min_cap_watts":99999999999}"#, Some(100_000)),
            (r#"{"min_cap_watts":"750"}"#, Some(0)),
            ("{", None),
        ] {
            let read = Config::parse(document).ok();
            assert_eq!(
                read.map(|config| config.min_cap_watts),
                expected,
                "{document}"
            );
        }
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
