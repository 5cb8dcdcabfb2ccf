//! The operator's configuration.

use std::collections::BTreeMap;

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
  "warn": {"type": "number", "description": "Degraded from here on, degrees Celsius; 95 by default"},
  "critical": {"type": "number", "description": "Unhealthy from here on; 105 by default"},
  "sensors": {"type": "object", "maxProperties": 256,
    "description": "Limits of single sensors: {\"nvme/Composite\": {\"warn\": 70}}",
    "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
      "warn": {"type": "number"}, "critical": {"type": "number"}}}}}}"#;

/// Limits, degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// From here on Degraded.
    pub warn: f64,
    /// From here on Unhealthy.
    pub critical: f64,
}

/// Processors run at up to 100 degrees by design.
const USUAL: Limits = Limits {
    warn: 95.0,
    critical: 105.0,
};

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Of every sensor that has none of its own.
    pub all: Limits,
    /// Of single sensors, by key.
    pub sensors: BTreeMap<String, Limits>,
}

/// As it is written.
#[derive(Deserialize)]
struct Document {
    warn: Option<f64>,
    critical: Option<f64>,
    #[serde(default)]
    sensors: BTreeMap<String, GivenLimits>,
}

#[derive(Deserialize)]
struct GivenLimits {
    warn: Option<f64>,
    critical: Option<f64>,
}

impl GivenLimits {
    fn or(&self, otherwise: Limits, of: &str) -> Result<Limits, String> {
        let limits = Limits {
            warn: self.warn.unwrap_or(otherwise.warn),
            critical: self.critical.unwrap_or(otherwise.critical),
        };
        match limits.warn < limits.critical {
            true => Ok(limits),
            false => Err(format!("config: {of}warn has to be less than critical")),
        }
    }
}

impl Config {
    /// Of the whole document.
    ///
    /// # Errors
    /// In words.
    pub fn parse(document: &str) -> Result<Self, String> {
        let given: Document =
            serde_json::from_str(document).map_err(|error| format!("config: {error}"))?;
        let all = GivenLimits {
            warn: given.warn,
            critical: given.critical,
        }
        .or(USUAL, "")?;
        let sensors = given.sensors.into_iter().map(|(key, own)| {
            let shown: String = key.chars().take(100).collect();
            Ok((key, own.or(all, &format!("{shown}: "))?))
        });
        Ok(Self {
            all,
            sensors: sensors.collect::<Result<_, String>>()?,
        })
    }

    /// The limits of a sensor.
    pub fn of(&self, key: &str) -> Limits {
        self.sensors.get(key).copied().unwrap_or(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_the_usual() {
        let config =
            Config::parse(r#"{"warn": 40, "sensors": {"a/b": {"critical": 50.5}}}"#).unwrap();
        assert_eq!(
            config.of("x/y"),
            Limits {
                warn: 40.0,
                critical: 105.0
            }
        );
        assert_eq!(
            config.of("a/b"),
            Limits {
                warn: 40.0,
                critical: 50.5
            }
        );
        assert_eq!(Config::parse("{}").unwrap().of("x/y"), USUAL);
        assert!(serde_json::from_str::<serde_json::Value>(SCHEMA).is_ok());
    }

    #[test]
    fn nonsense_is_reported() {
        for (document, message) in [
            ("", "config: "),
            ("[]", "config: "),
            (r#"{"warn": "x"}"#, "config: "),
            (r#"{"sensors": 3}"#, "config: "),
            (
                r#"{"warn": 200}"#,
                "config: warn has to be less than critical",
            ),
            (
                r#"{"sensors": {"a/b": {"critical": 1}}}"#,
                "config: a/b: warn has to be less than critical",
            ),
        ] {
            let error = Config::parse(document).unwrap_err();
            assert!(error.starts_with(message), "{document}: {error}");
        }
    }
}
