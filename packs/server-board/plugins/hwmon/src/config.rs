//! The configuration.

use std::cmp::Reverse;

use gpud_pack_common::names;
use gpud_sdk::settings::Settings;
use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "limits": {
      "description": "Limits by chip and sensor, in °C, RPM, V or W; of several that fit, the longest name counts.",
      "type": "object", "maxProperties": 256, "default": {},
      "additionalProperties": {
        "type": "object", "additionalProperties": false,
        "properties": {
          "min": { "type": "number" }, "max": { "type": "number" },
          "critical_min": { "type": "number" }, "critical_max": { "type": "number" }
        }
      }
    },
    "inlet_sensors": {
      "description": "Sensors of the air that comes in, by chip and sensor.",
      "type": "array", "maxItems": 64, "items": { "type": "string" }, "default": ["*/*inlet*"]
    },
    "inlet_max_celsius": {
      "description": "Inlet temperature (°C) above which the state is Degraded; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 40
    },
    "min_fan_rpm": {
      "description": "Speed from which a fan counts as turning.",
      "type": "integer", "minimum": 1, "maximum": 100000, "default": 200
    },
    "fans_may_stop": {
      "description": "Fans that stop by design, by chip and sensor.",
      "type": "array", "maxItems": 64, "items": { "type": "string" },
      "default": ["thinkpad*", "dell_smm*", "applesmc*", "asus*", "hp*", "acpi_fan*", "amdgpu*", "nouveau*", "xe*", "i915*"]
    },
    "expected_fans": {
      "description": "Fans that have to turn; fewer are Degraded. 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 256, "default": 0
    },
    "ignored_sensors": {
      "description": "Sensors that are not judged, by chip and sensor.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }, "default": []
    }
  }
}"#;

const MAY_STOP: [&str; 10] = [
    "thinkpad*",
    "dell_smm*",
    "applesmc*",
    "asus*",
    "hp*",
    "acpi_fan*",
    "amdgpu*",
    "nouveau*",
    "xe*",
    "i915*",
];
/// Patterns with limits that are taken.
const MAX_LIMITS: usize = 256;

/// Limits of a sensor, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Below is Degraded.
    pub min: Option<f64>,
    /// Above is Degraded.
    pub max: Option<f64>,
    /// Below is Unhealthy.
    pub critical_min: Option<f64>,
    /// Above is Unhealthy.
    pub critical_max: Option<f64>,
}

/// Read configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    limits: Vec<(String, Limits)>,
    inlet: Vec<String>,
    /// Highest inlet temperature, °C; 0 is not judged.
    pub inlet_max: u64,
    /// Speed from which a fan counts as turning.
    pub min_rpm: u64,
    may_stop: Vec<String>,
    /// Fans that have to turn.
    pub fan_count: u64,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let value: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
        let words = |key: &str, default: &[&str]| {
            let default = || default.iter().map(|&word| word.to_owned()).collect();
            settings.words(key).unwrap_or_else(default)
        };
        let limits = value.get("limits").and_then(Value::as_object);
        let limits = limits
            .into_iter()
            .flatten()
            .take(MAX_LIMITS)
            .map(|(pattern, limits)| {
                let number = |key: &str| limits.get(key).and_then(Value::as_f64);
                let limits = Limits {
                    min: number("min"),
                    max: number("max"),
                    critical_min: number("critical_min"),
                    critical_max: number("critical_max"),
                };
                (pattern.clone(), limits)
            });
        let mut limits: Vec<(String, Limits)> = limits.collect();
        // The order in which they were written is lost on the way here.
        limits.sort_by_key(|(pattern, _)| (pattern.contains('*'), Reverse(pattern.len())));
        Ok(Self {
            limits,
            inlet: words("inlet_sensors", &["*/*inlet*"]),
            inlet_max: settings.number("inlet_max_celsius", 40, 0..=100),
            min_rpm: settings.number("min_fan_rpm", 200, 1..=100_000),
            may_stop: words("fans_may_stop", &MAY_STOP),
            fan_count: settings.number("expected_fans", 0, 0..=256),
            ignored: words("ignored_sensors", &[]),
        })
    }

    /// The limits of a sensor.
    pub fn limits(&self, key: &str) -> Limits {
        let mut fitting = self.limits.iter();
        fitting
            .find(|(pattern, _)| names::fits(pattern, key))
            .map_or_else(Limits::default, |(_, limits)| *limits)
    }

    /// Patterns with limits that mean none of these sensors.
    pub fn without_sensor<'a>(&'a self, keys: &[String]) -> Vec<&'a str> {
        let patterns = self.limits.iter().map(|(pattern, _)| pattern.as_str());
        patterns
            .filter(|pattern| !keys.iter().any(|key| names::fits(pattern, key)))
            .collect()
    }

    /// Whether a sensor is that of the air that comes in.
    pub fn is_inlet(&self, key: &str) -> bool {
        names::any_fits(&self.inlet, key)
    }

    /// Whether a fan stops by design.
    pub fn may_stop(&self, key: &str) -> bool {
        names::any_fits(&self.may_stop, key)
    }

    /// Whether a sensor is not judged.
    pub fn ignores(&self, key: &str) -> bool {
        names::any_fits(&self.ignored, key)
    }

    /// Whether something has to be there.
    pub fn expects(&self) -> bool {
        self.fan_count > 0 || !self.limits.is_empty()
    }
}

#[cfg(test)]
mod tests;
