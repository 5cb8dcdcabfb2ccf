//! The component's configuration: `{"expected_link_states": {"at_least_gpus_with_all_links_feature_enabled": 8}}`.

use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "expected_link_states": {
      "type": ["object", "null"],
      "properties": {"at_least_gpus_with_all_links_feature_enabled": {"type": "integer", "default": 0}},
      "additionalProperties": false
    }
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// GPUs of which all links must be up; 0 leaves it to what the product should have.
    pub at_least_gpus: u64,
}

impl Config {
    /// Reads it. What is not of the right kind, or negative, counts as not given.
    ///
    /// # Errors
    /// When the document is not JSON; says so.
    pub fn parse(document: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let path = "/expected_link_states/at_least_gpus_with_all_links_feature_enabled";
        Ok(Self {
            at_least_gpus: document.pointer(path).and_then(Value::as_u64).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let at_least = |number: &str| {
            format!(
                r#"{{"expected_link_states":{{"at_least_gpus_with_all_links_feature_enabled":{number}}}}}"#
            )
        };
        for (document, expected) in [
            ("{}".to_owned(), Some(0)),
            (at_least("8"), Some(8)),
            (at_least("-8"), Some(0)),
            (at_least("\"8\""), Some(0)),
            (r#"{"expected_link_states":null}"#.to_owned(), Some(0)),
            ("{".to_owned(), None),
        ] {
            let config = Config::parse(&document).ok();
            assert_eq!(
                config.map(|config| config.at_least_gpus),
                expected,
                "{document}"
            );
        }
    }
}
