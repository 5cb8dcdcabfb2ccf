//! The component's configuration: `{"count": 8}`; nothing, 0 or less switches the check off.

use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {"count": {"type": ["integer", "null"], "default": 0}},
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// How many GPUs there should be, if anybody says so.
    pub count: Option<u64>,
}

impl Config {
    /// Reads it.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn parse(document: &str) -> Result<Self, serde_json::Error> {
        let document: Value = serde_json::from_str(document)?;
        let count = document.get("count").and_then(Value::as_u64);
        Ok(Self {
            count: count.filter(|count| *count > 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        for (document, count) in [
            ("{}", Some(None)),
            (r#"{"count":8}"#, Some(Some(8))),
            (r#"{"count":0}"#, Some(None)),
            (r#"{"count":-1}"#, Some(None)),
            (r#"{"count":null}"#, Some(None)),
            (r#"{"count":"8"}"#, Some(None)),
            ("[]", Some(None)),
            ("{", None),
        ] {
            let config = Config::parse(document).ok();
            assert_eq!(config.map(|config| config.count), count, "{document}");
        }
    }
}
