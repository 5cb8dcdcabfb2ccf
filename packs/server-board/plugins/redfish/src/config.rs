//! The configuration.

use gpud_pack_common::names;
use gpud_sdk::settings::Settings;

use crate::parts::Kind;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected_gpus": {
      "description": "GPUs that have to be there; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_processors": {
      "description": "Processors that have to be there, GPUs aside.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_memory_modules": {
      "description": "Memory modules that have to be there.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_drives": {
      "description": "Drives that have to be there.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_power_supplies": {
      "description": "Power supplies that have to be there.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_fans": {
      "description": "Fans that have to be there.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_leak_detectors": {
      "description": "Leak detectors that have to be there.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "program": {
      "description": "The program that reads resources, as the grant names it.",
      "type": "string", "default": "/usr/local/lib/gpud/redfish-get"
    },
    "ignored_parts": {
      "description": "Names of parts that are not judged; * stands for any text.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }, "default": []
    }
  }
}"#;

/// Where the operator puts the program.
const PROGRAM: &str = "/usr/local/lib/gpud/redfish-get";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Parts that have to be there, by kind.
    pub expected: Vec<(Kind, u64)>,
    /// The program that reads resources.
    pub program: String,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let expected = [
            (Kind::Gpu, "expected_gpus"),
            (Kind::Processor, "expected_processors"),
            (Kind::Memory, "expected_memory_modules"),
            (Kind::Drive, "expected_drives"),
            (Kind::PowerSupply, "expected_power_supplies"),
            (Kind::Fan, "expected_fans"),
            (Kind::LeakDetector, "expected_leak_detectors"),
        ];
        let expected = expected.map(|(kind, key)| (kind, settings.number(key, 0, 0..=256)));
        Ok(Self {
            expected: expected
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
            program: settings.word("program").unwrap_or(PROGRAM).to_owned(),
            ignored: settings.words("ignored_parts").unwrap_or_default(),
        })
    }

    /// Whether a part is not judged.
    pub fn ignores(&self, name: &str) -> bool {
        names::any_fits(&self.ignored, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let defaults = schema["properties"].as_object().unwrap().iter();
        let defaults: serde_json::Map<_, _> = defaults
            .map(|(key, value)| (key.clone(), value["default"].clone()))
            .collect();
        let written = Config::parse(&serde_json::Value::Object(defaults).to_string());
        assert_eq!(written, Config::parse("{}"));
        let own = Config::parse(r#"{"expected_gpus":8,"ignored_parts":["fan*"]}"#).unwrap();
        assert_eq!(own.expected, [(Kind::Gpu, 8)]);
        assert!(own.ignores("Fan 1") && !own.ignores("PSU 1"));
        assert!(Config::parse("{").is_err());
    }
}
