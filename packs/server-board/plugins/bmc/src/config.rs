//! The configuration.

use gpud_pack_common::names;
use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "inlet_sensors": {
      "description": "Names of the sensors of the air that comes in; * stands for any text.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": ["*inlet*", "*ambient*"]
    },
    "inlet_max_celsius": {
      "description": "Inlet temperature (°C) above which the state is Degraded; 0: only the controller's own thresholds.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 40
    },
    "leak_sensors": {
      "description": "Names of the leak sensors of the liquid cooling.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": ["*leak*"]
    },
    "leak_states": {
      "description": "Begins of a leak sensor's states that mean a leak on this board, before those that gpud knows.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": []
    },
    "dry_states": {
      "description": "Begins of a leak sensor's states that mean that all is dry on this board.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": []
    },
    "expected_leak_sensors": {
      "description": "Leak sensors that have to give a reading; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "expected_power_supplies": {
      "description": "Power supplies that have to be there; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 64, "default": 0
    },
    "ignored_sensors": {
      "description": "Names of sensors that are not judged.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }, "default": []
    }
  }
}"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Names of inlet sensors.
    pub inlet: Vec<String>,
    /// Highest inlet temperature, °C; 0 is not judged.
    pub inlet_max: u64,
    /// Names of leak sensors.
    pub leak: Vec<String>,
    /// States that mean a leak, before all others.
    pub leak_states: Vec<String>,
    /// States that mean that all is dry.
    pub dry_states: Vec<String>,
    /// Leak sensors that have to give a reading.
    pub leak_count: u64,
    /// Power supplies that have to be there.
    pub supply_count: u64,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let words = |key: &str, default: &[&str]| {
            let default = || default.iter().map(|&word| word.to_owned()).collect();
            settings.words(key).unwrap_or_else(default)
        };
        Ok(Self {
            inlet: words("inlet_sensors", &["*inlet*", "*ambient*"]),
            inlet_max: settings.number("inlet_max_celsius", 40, 0..=100),
            leak: words("leak_sensors", &["*leak*"]),
            leak_states: words("leak_states", &[]),
            dry_states: words("dry_states", &[]),
            leak_count: settings.number("expected_leak_sensors", 0, 0..=256),
            supply_count: settings.number("expected_power_supplies", 0, 0..=64),
            ignored: words("ignored_sensors", &[]),
        })
    }

    /// Whether a sensor is not judged.
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
        let own = Config::parse(r#"{"ignored_sensors":["fan*"],"inlet_max_celsius":500}"#).unwrap();
        assert!(own.ignores("FAN1") && !own.ignores("Temp"));
        assert_eq!(own.inlet_max, 100);
        assert!(Config::parse("{").is_err());
    }
}
