//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `lookback_seconds` | how far back errors and reboots count; at least 1 | 1,209,600 (14 days) |
//! | `overrides` | reboots after which a code that comes back asks for an inspection: `{"‹code›": n}` or `{"‹code›": {"rebootThreshold": n}}`; below 1 means the default | 2 for every code |

use std::collections::BTreeMap;

use serde_json::Value;

/// Seconds of 14 days.
const LOOKBACK: u64 = 14 * 24 * 60 * 60;
/// Reboots before an inspection.
const THRESHOLD: u32 = 2;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "lookback_seconds": {"type": "integer", "minimum": 1},
    "overrides": {
      "type": "object",
      "patternProperties": {
        "^[0-9]+$": {
          "anyOf": [
            {"type": "integer"},
            {"type": "object", "properties": {"rebootThreshold": {"type": "integer"}}}
          ]
        }
      },
      "additionalProperties": false
    }
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    lookback_seconds: u64,
    overrides: BTreeMap<u32, u32>,
}

impl Config {
    /// Reads a document. What is not of the right kind counts as not given: an operator's typing error in one key must
    /// not silence the check.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn read(document: &str) -> Result<Self, serde_json::Error> {
        let mut config = Self {
            lookback_seconds: LOOKBACK,
            overrides: BTreeMap::new(),
        };
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(config);
        }
        let document: Value = serde_json::from_str(document)?;
        let seconds = document.get("lookback_seconds").and_then(Value::as_u64);
        if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
            config.lookback_seconds = seconds;
        }
        let overrides = document.get("overrides").and_then(Value::as_object);
        for (code, value) in overrides.into_iter().flatten() {
            let reboots = value
                .as_i64()
                .or_else(|| value.get("rebootThreshold")?.as_i64())
                .filter(|reboots| *reboots > 0);
            if let (Ok(code), Some(reboots)) = (code.parse(), reboots) {
                let reboots = u32::try_from(reboots).unwrap_or(u32::MAX);
                config.overrides.insert(code, reboots);
            }
        }
        Ok(config)
    }

    /// Since when errors and reboots count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.lookback_seconds.saturating_mul(1000))
    }

    /// Reboots after which this code asks for an inspection.
    pub fn threshold(&self, code: u32) -> u32 {
        self.overrides.get(&code).copied().unwrap_or(THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_thresholds_and_the_window() {
        // Document, since for now = 2,000,000 s, thresholds of 20034 and 12028.
        for (document, since, thresholds) in [
            ("{}", 790_400, [2, 2]),
            (r#"{"lookback_seconds": 60}"#, 1_999_940, [2, 2]),
            (r#"{"lookback_seconds": 18446744073709551615}"#, 0, [2, 2]),
            (r#"{"lookback_seconds": 0}"#, 790_400, [2, 2]),
            (r#"{"lookback_seconds": "60"}"#, 790_400, [2, 2]),
            // The Xids' threshold is not ours.
            (r#"{"reboot_threshold": 9}"#, 790_400, [2, 2]),
            (r#"{"overrides": {"20034": 5}}"#, 790_400, [5, 2]),
            (
                r#"{"overrides": {"12028": {"rebootThreshold": 4}}}"#,
                790_400,
                [2, 4],
            ),
            (
                r#"{"overrides": {"20034": 0, "12028": -1, "x": 1}}"#,
                790_400,
                [2, 2],
            ),
            (
                r#"{"overrides": {"20034": "many", "12028": 99999999999}}"#,
                790_400,
                [2, u32::MAX],
            ),
            (r#"{"overrides": [20034]}"#, 790_400, [2, 2]),
        ] {
            let config = Config::read(document).unwrap();
            assert_eq!(config.since(2_000_000_000), since * 1000, "{document}");
            assert_eq!(
                [20_034, 12_028].map(|code| config.threshold(code)),
                thresholds,
                "{document}"
            );
        }
        assert!(Config::read("{").is_err());
    }

    #[test]
    fn the_schema_is_json() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        assert_eq!(schema["properties"]["overrides"]["type"], "object");
    }
}
