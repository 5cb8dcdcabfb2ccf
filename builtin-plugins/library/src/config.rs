//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "search_directories": {
      "description": "Further folders in which the libraries may be; they are looked at first.",
      "type": "array", "maxItems": 32, "items": { "type": "string", "pattern": "^/" },
      "default": []
    }
  }
}"#;

/// Most folders.
const MAX_DIRECTORIES: usize = 32;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Absolute paths, without `..`.
    pub search_directories: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(document: &str) -> Result<Self, String> {
        let config: Self =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let folders = &config.search_directories;
        if folders.len() > MAX_DIRECTORIES {
            return Err(format!(
                "configuration: search_directories has {} entries, at most {MAX_DIRECTORIES}",
                folders.len()
            ));
        }
        let is_plain =
            |path: &str| path.starts_with('/') && !path.split('/').any(|part| part == "..");
        match folders.iter().find(|path| !is_plain(path)) {
            None => Ok(config),
            Some(bad) => Err(format!(
                "configuration: search_directories: {bad:?} is not an absolute path without `..`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_checked() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let config = Config::parse(r#"{"search_directories":["/opt/lib"]}"#).unwrap();
        assert_eq!(config.search_directories, ["/opt/lib"]);
        for (document, expected) in [
            (r#"{"directories":[]}"#, "unknown field `directories`"),
            (
                r#"{"search_directories":["lib"]}"#,
                "\"lib\" is not an absolute path",
            ),
            (r#"{"search_directories":["/a/../b"]}"#, "without `..`"),
            (
                r#"{"search_directories":[""]}"#,
                "\"\" is not an absolute path",
            ),
            (r#"{"search_directories":[1]}"#, "configuration: "),
        ] {
            let error = Config::parse(document).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_schema_knows_the_same_keys() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["search_directories"]);
    }
}
