//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `lookback_seconds` | how far back errors and reboots count; at least 1 | 1,209,600 (14 days) |
//! | `reboot_threshold` | reboots after which a code that comes back asks for an inspection; at least 1 | 2 |
//! | `overrides` | the same for single codes: `{"‹code›": n}` or `{"‹code›": {"rebootThreshold": n}}` | `{"94": 1000}` |
//!
//! `overrides` is laid over the built-in one; a number below 1 in it means `reboot_threshold`.

use std::collections::BTreeMap;

use serde_json::Value;

/// Seconds of 14 days.
const LOOKBACK: u64 = 14 * 24 * 60 * 60;
/// Reboots before an inspection.
const THRESHOLD: u32 = 2;
/// Xid 94 is an error that was contained to one process; a reboot is not what mends the GPU, nor is it broken.
const CONTAINED: (u32, u32) = (94, 1000);

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "lookback_seconds": {"type": "integer", "minimum": 1},
    "reboot_threshold": {"type": "integer", "minimum": 1},
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
    reboot_threshold: u32,
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
            reboot_threshold: THRESHOLD,
            overrides: BTreeMap::from([CONTAINED]),
        };
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(config);
        }
        let document: Value = serde_json::from_str(document)?;
        let number = |key: &str| {
            document
                .get(key)
                .and_then(Value::as_u64)
                .filter(|number| *number > 0)
        };
        if let Some(seconds) = number("lookback_seconds") {
            config.lookback_seconds = seconds;
        }
        if let Some(reboots) = number("reboot_threshold") {
            config.reboot_threshold = u32::try_from(reboots).unwrap_or(u32::MAX);
        }
        let overrides = document.get("overrides").and_then(Value::as_object);
        for (code, value) in overrides.into_iter().flatten() {
            let reboots = value
                .as_i64()
                .or_else(|| value.get("rebootThreshold")?.as_i64());
            if let (Ok(code), Some(reboots)) = (code.parse(), reboots) {
                config
                    .overrides
                    .insert(code, u32::try_from(reboots.max(0)).unwrap_or(u32::MAX));
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
        self.overrides
            .get(&code)
            .copied()
            .filter(|reboots| *reboots > 0)
            .unwrap_or(self.reboot_threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_thresholds_and_the_window() {
        // Document, since for now = 2,000,000 s, thresholds of 79, 94 and 31.
        for (document, since, thresholds) in [
            ("{}", 790_400, [2, 1000, 2]),
            (r#"{"lookback_seconds": 60}"#, 1_999_940, [2, 1000, 2]),
            (
                r#"{"lookback_seconds": 99999999999999999999}"#,
                790_400,
                [2, 1000, 2],
            ),
            (
                r#"{"lookback_seconds": 18446744073709551615}"#,
                0,
                [2, 1000, 2],
            ),
            (
                r#"{"lookback_seconds": 0, "reboot_threshold": 0}"#,
                790_400,
                [2, 1000, 2],
            ),
            (
                r#"{"lookback_seconds": -5, "reboot_threshold": -5}"#,
                790_400,
                [2, 1000, 2],
            ),
            (r#"{"reboot_threshold": 3}"#, 790_400, [3, 1000, 3]),
            (r#"{"overrides": {"79": 5}}"#, 790_400, [5, 1000, 2]),
            (
                r#"{"overrides": {"79": {"rebootThreshold": 4}}}"#,
                790_400,
                [4, 1000, 2],
            ),
            (
                r#"{"overrides": {"94": 7}, "reboot_threshold": 3}"#,
                790_400,
                [3, 7, 3],
            ),
            (r#"{"overrides": {"94": 0}}"#, 790_400, [2, 2, 2]),
            (
                r#"{"overrides": {"x": 1, "31": "many", "79": -1}, "other": 1}"#,
                790_400,
                [2, 1000, 2],
            ),
            (r#"{"overrides": [79]}"#, 790_400, [2, 1000, 2]),
        ] {
            let config = Config::read(document).unwrap();
            assert_eq!(config.since(2_000_000_000), since * 1000, "{document}");
            assert_eq!(
                [79, 94, 31].map(|code| config.threshold(code)),
                thresholds,
                "{document}"
            );
        }
        assert!(Config::read("{").is_err());
    }

    #[test]
    fn the_schema_is_json() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        assert_eq!(schema["properties"]["reboot_threshold"]["type"], "integer");
    }
}
