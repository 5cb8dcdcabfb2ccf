//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "modules_to_check": {
      "description": "Kernel modules that must be loaded or built in. Dash and underscore mean the same.",
      "type": "array", "maxItems": 256,
      "items": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" },
      "default": []
    }
  }
}"#;

/// Most modules that can be required.
const MAX_MODULES: usize = 256;
/// Longest name (`MODULE_NAME_LEN`, `include/linux/module.h`), bytes.
const MAX_NAME: usize = 64;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Modules that must be there, sorted and without repeats.
    pub modules_to_check: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(document: &str) -> Result<Self, String> {
        let mut config: Self =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let modules = &mut config.modules_to_check;
        if modules.len() > MAX_MODULES {
            return Err(format!(
                "configuration: modules_to_check has {} entries, at most {MAX_MODULES}",
                modules.len()
            ));
        }
        if let Some(bad) = modules.iter().find(|name| !is_name(name)) {
            return Err(format!(
                "configuration: modules_to_check: {bad:?} is no name of a module"
            ));
        }
        modules.sort_unstable();
        modules.dedup();
        Ok(config)
    }
}

fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_checked() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let config = Config::parse(r#"{"modules_to_check":["nvidia-uvm","nvidia","nvidia"]}"#);
        assert_eq!(config.unwrap().modules_to_check, ["nvidia", "nvidia-uvm"]);
        for (document, expected) in [
            (r#"{"modules":[]}"#, "unknown field `modules`"),
            (r#"{"modules_to_check":"nvidia"}"#, "expected a sequence"),
            (r#"{"modules_to_check":["a b"]}"#, "\"a b\" is no name"),
            (r#"{"modules_to_check":["../x"]}"#, "\"../x\" is no name"),
            (r#"{"modules_to_check":[""]}"#, "\"\" is no name"),
            ("[]x", "configuration: "),
        ] {
            let error = Config::parse(document).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let many = format!("{{\"modules_to_check\":[{}\"a\"]}}", "\"a\",".repeat(256));
        assert!(Config::parse(&many).unwrap_err().contains("257 entries"));
    }

    #[test]
    fn the_schema_knows_the_same_keys() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["modules_to_check"]);
    }
}
