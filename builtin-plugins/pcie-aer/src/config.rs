//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `lookback_seconds` | how far back fatal errors count; at least 1 | 1,209,600 (14 days) |
//! | `reboot_threshold` | earlier boots with fatal errors of a device from which on an inspection is asked for; at least 1 | 2 |
//! | `corrected_threshold` | corrected errors of a device within the window that are too many; at least 1 | 1,000 |
//! | `uncorrected_threshold` | uncorrected errors of a device within the window, recovered from, that are too many; at least 1 | 10 |
//! | `window_seconds` | the window of both; at least 3,600 | 86,400 (one day) |

use gpud_sdk::settings::numbers;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "lookback_seconds": {"type": "integer", "minimum": 1, "default": 1209600},
    "reboot_threshold": {"type": "integer", "minimum": 1, "default": 2},
    "corrected_threshold": {"type": "integer", "minimum": 1, "default": 1000},
    "uncorrected_threshold": {"type": "integer", "minimum": 1, "default": 10},
    "window_seconds": {"type": "integer", "minimum": 3600, "default": 86400}
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How far back fatal errors count, seconds.
    pub lookback_seconds: u64,
    /// Earlier boots with fatal errors of a device from which on an inspection is asked for.
    pub reboot_threshold: u64,
    /// Corrected errors of a device within the window that are too many.
    pub corrected_threshold: u64,
    /// Uncorrected errors of a device within the window that are too many.
    pub uncorrected_threshold: u64,
    /// Window of both, seconds.
    pub window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lookback_seconds: 14 * 86_400,
            reboot_threshold: 2,
            corrected_threshold: 1_000,
            uncorrected_threshold: 10,
            window_seconds: 86_400,
        }
    }
}

impl Config {
    /// Reads a document. What is not of the right kind or too small counts as not given: an operator's typing error in
    /// one key must not silence the check.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn read(document: &str) -> Result<Self, serde_json::Error> {
        let mut config = Self::default();
        let keys = [
            (&mut config.lookback_seconds, "lookback_seconds", 1),
            (&mut config.reboot_threshold, "reboot_threshold", 1),
            (&mut config.corrected_threshold, "corrected_threshold", 1),
            (
                &mut config.uncorrected_threshold,
                "uncorrected_threshold",
                1,
            ),
            (&mut config.window_seconds, "window_seconds", 3_600),
        ];
        numbers::read(document, keys)?;
        Ok(config)
    }

    /// Since when errors count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.lookback_seconds.saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_within_the_bound_is_read() {
        let plain = Config::default();
        let read = |document| Config::read(document).unwrap();
        assert_eq!(read("{}"), plain);
        assert_eq!(
            read(
                r#"{"lookback_seconds":60,"reboot_threshold":5,"corrected_threshold":7,"uncorrected_threshold":8,"window_seconds":7200}"#
            ),
            Config {
                lookback_seconds: 60,
                reboot_threshold: 5,
                corrected_threshold: 7,
                uncorrected_threshold: 8,
                window_seconds: 7_200,
            }
        );
        for document in [
            r#"{"lookback_seconds":0,"reboot_threshold":"2","corrected_threshold":-1,"window_seconds":60}"#,
            "[]",
            r#"{"other":1}"#,
        ] {
            assert_eq!(read(document), plain, "{document}");
        }
        assert!(Config::read("{").is_err());
        assert_eq!(plain.since(1_300_000_000), 90_400_000);
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let defaults = Config {
            lookback_seconds: default("lookback_seconds"),
            reboot_threshold: default("reboot_threshold"),
            corrected_threshold: default("corrected_threshold"),
            uncorrected_threshold: default("uncorrected_threshold"),
            window_seconds: default("window_seconds"),
        };
        assert_eq!(defaults, Config::default());
    }
}
