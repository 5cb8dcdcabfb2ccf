//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "count": {
      "description": "GPUs that the amdgpu driver must have; 0 is no demand.",
      "type": "integer", "minimum": 0, "maximum": 1024, "default": 0
    },
    "device_ids": {
      "description": "PCI ids of the GPUs that count, such as 1002:74a1; all of AMD's if it is not given.",
      "type": "array", "maxItems": 256,
      "items": { "type": "string", "pattern": "^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}$" }
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How many GPUs there should be, if anybody says so.
    pub count: Option<u64>,
    /// Which count; upper case. Nothing means all.
    pub device_ids: Option<Vec<String>>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let ids = settings.words("device_ids").map(|ids| {
            let ids = ids.iter();
            ids.map(|id| id.to_ascii_uppercase()).collect()
        });
        Ok(Self {
            count: Some(settings.number("count", 0, 0..=1_024)).filter(|count| *count > 0),
            device_ids: ids,
        })
    }

    /// Does a GPU with this PCI id count?
    pub fn counts(&self, device_id: &str) -> bool {
        let ids = self.device_ids.as_ref();
        ids.is_none_or(|ids| ids.iter().any(|id| id == device_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let config = Config::parse(r#"{"count":8,"device_ids":["1002:74a1"]}"#).unwrap();
        assert_eq!(config.count, Some(8));
        assert!(config.counts("1002:74A1") && !config.counts("1002:164E"));
        for document in ["{}", r#"{"count":0}"#, r#"{"count":"8"}"#] {
            let config = Config::parse(document).unwrap();
            assert!(
                config.count.is_none() && config.counts("1002:164E"),
                "{document}"
            );
        }
        assert!(Config::parse("{").is_err());
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
