//! The component's configuration: `{"assume_nvswitch": true}`, for tests in which a product is pretended
//! (`--gpu-product-name`): the fabric's state is judged even where the PCI bus has no GPUs and no switches.

use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {"assume_nvswitch": {"type": "boolean", "default": false}},
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// Judge without looking for switches.
    pub assume_nvswitch: bool,
}

impl Config {
    /// Reads it.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn parse(document: &str) -> Result<Self, serde_json::Error> {
        let document: Value = serde_json::from_str(document)?;
        let assume = document.get("assume_nvswitch").and_then(Value::as_bool);
        Ok(Self {
            assume_nvswitch: assume.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        for (document, expected) in [
            ("{}", Some(false)),
            (r#"{"assume_nvswitch":true}"#, Some(true)),
            (r#"{"assume_nvswitch":"true"}"#, Some(false)),
            ("{", None),
        ] {
            let config = Config::parse(document).ok();
            assert_eq!(config.map(|config| config.assume_nvswitch), expected);
        }
    }
}
