//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "pairs": {
      "description": "GPU=card, by PCI id, UUID or name, that must be behind one switch: 0000:18:00.0=mlx5_0.",
      "type": "array", "maxItems": 256,
      "items": { "type": "string", "pattern": "^[^=]+=[^=]+$" }
    },
    "numa": {
      "description": "Whether to report when a machine of several NUMA nodes does not know the node of a GPU.",
      "type": "boolean", "default": true
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// GPU and network card.
    pub pairs: Vec<(String, String)>,
    /// Whether an unknown NUMA node is reported.
    pub numa: bool,
}

impl Config {
    /// Reads the document. A pair of another form is left out.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let words = settings.words("pairs").unwrap_or_default();
        let pairs = words.iter().filter_map(|pair| pair.split_once('='));
        let named = pairs.filter(|(gpu, nic)| !gpu.is_empty() && !nic.is_empty());
        Ok(Self {
            pairs: named
                .map(|(gpu, nic)| (gpu.to_owned(), nic.to_owned()))
                .collect(),
            numa: settings.flag("numa", true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let config = Config::parse(r#"{"pairs":["a=b","c","=d",1],"numa":false}"#).unwrap();
        assert_eq!(config.pairs, [("a".to_owned(), "b".to_owned())]);
        assert!(!config.numa);
        let config = Config::parse("{}").unwrap();
        assert!(config.numa && config.pairs.is_empty());
        assert!(Config::parse("{").is_err());
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
