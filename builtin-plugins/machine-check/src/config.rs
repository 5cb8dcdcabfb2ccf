//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `lookback_seconds` | how far back errors count; at least 1 | 1,209,600 (14 days) |
//! | `reboot_threshold` | earlier boots with uncorrected errors from which on an inspection is asked for; at least 1 | 2 |
//! | `corrected_threshold` | corrected errors of one place within the window that are too many; at least 1 | 100 |
//! | `corrected_window_seconds` | the window of corrected errors and storms; at least 3,600 | 86,400 (one day) |

use gpud_builtin_shared::numbers;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "lookback_seconds": {"type": "integer", "minimum": 1, "default": 1209600},
    "reboot_threshold": {"type": "integer", "minimum": 1, "default": 2},
    "corrected_threshold": {"type": "integer", "minimum": 1, "default": 100},
    "corrected_window_seconds": {"type": "integer", "minimum": 3600, "default": 86400}
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How far back errors count, seconds.
    pub lookback_seconds: u64,
    /// Earlier boots with uncorrected errors from which on an inspection is asked for.
    pub reboot_threshold: u64,
    /// Corrected errors of one place within the window that are too many.
    pub corrected_threshold: u64,
    /// Window of corrected errors and storms, seconds.
    pub corrected_window_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lookback_seconds: 14 * 86_400,
            reboot_threshold: 2,
            corrected_threshold: 100,
            corrected_window_seconds: 86_400,
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
                &mut config.corrected_window_seconds,
                "corrected_window_seconds",
                3_600,
            ),
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
    fn reads_what_fits() {
        let plain = Config::default();
        let read = |document| Config::read(document).unwrap();
        assert_eq!(read("{}"), plain);
        assert_eq!(
            read(
                r#"{"lookback_seconds":60,"reboot_threshold":1,"corrected_threshold":7,"corrected_window_seconds":7200}"#
            ),
            Config {
                lookback_seconds: 60,
                reboot_threshold: 1,
                corrected_threshold: 7,
                corrected_window_seconds: 7_200,
            }
        );
        for document in [
            r#"{"lookback_seconds":0,"reboot_threshold":"2","corrected_threshold":-1,"corrected_window_seconds":60}"#,
            "[]",
            r#"{"other":1}"#,
        ] {
            assert_eq!(read(document), plain, "{document}");
        }
        assert!(Config::read("{").is_err());
        assert_eq!(plain.since(1_300_000_000), 90_400_000);
        assert_eq!(plain.since(5), 0);
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].as_u64().unwrap();
        let plain = Config::default();
        assert_eq!(default("lookback_seconds"), plain.lookback_seconds);
        assert_eq!(default("reboot_threshold"), plain.reboot_threshold);
        assert_eq!(default("corrected_threshold"), plain.corrected_threshold);
        assert_eq!(
            default("corrected_window_seconds"),
            plain.corrected_window_seconds
        );
    }
}
