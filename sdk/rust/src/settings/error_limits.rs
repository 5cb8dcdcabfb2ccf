//! Limits of checkers that count errors of hardware, corrected ones and others:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `lookback_seconds` | how far back uncorrected errors count; at least 1 | 1,209,600 (14 days) |
//! | `reboot_threshold` | earlier boots with uncorrected errors from which on an inspection is asked for; at least 1 | the checker's |
//! | `corrected_threshold` | corrected errors of one place within the window that are too many; at least 1 | 100 |
//! | `corrected_window_seconds` | the window of corrected errors; at least 3,600 | 86,400 (one day) |

use super::numbers;

/// Counters are read by the hour.
const MIN_WINDOW_SECONDS: u64 = 3_600;

/// Limits as an operator set them; `REBOOTS` is the reboot threshold where nobody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits<const REBOOTS: u64> {
    /// How far back errors count, seconds.
    pub lookback_seconds: u64,
    /// Earlier boots with uncorrected errors from which on an inspection is asked for.
    pub reboot_threshold: u64,
    /// Corrected errors of one place within the window that are too many.
    pub corrected_threshold: u64,
    /// Window of corrected errors, seconds.
    pub corrected_window_seconds: u64,
}

impl<const REBOOTS: u64> Default for Limits<REBOOTS> {
    fn default() -> Self {
        Self {
            lookback_seconds: 14 * 86_400,
            reboot_threshold: REBOOTS,
            corrected_threshold: 100,
            corrected_window_seconds: 86_400,
        }
    }
}

impl<const REBOOTS: u64> Limits<REBOOTS> {
    /// Returns the JSON Schema of the configuration.
    pub fn schema() -> String {
        let plain = Self::default();
        let key = |minimum: u64, default: u64| serde_json::json!({"type": "integer", "minimum": minimum, "default": default});
        serde_json::json!({
            "type": "object",
            "properties": {
                "lookback_seconds": key(1, plain.lookback_seconds),
                "reboot_threshold": key(1, plain.reboot_threshold),
                "corrected_threshold": key(1, plain.corrected_threshold),
                "corrected_window_seconds": key(MIN_WINDOW_SECONDS, plain.corrected_window_seconds),
            },
            "additionalProperties": false,
        })
        .to_string()
    }

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
                MIN_WINDOW_SECONDS,
            ),
        ];
        numbers::read(document, keys)?;
        Ok(config)
    }

    /// Returns since when errors count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.lookback_seconds.saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Config = Limits<2>;

    #[test]
    fn input_within_the_bound_is_read() {
        let plain = Config::default();
        let read = |document| Config::read(document).unwrap();
        assert_eq!(read("{}"), plain);
        assert_eq!(
            read(
                r#"{"lookback_seconds":60,"reboot_threshold":5,"corrected_threshold":7,"corrected_window_seconds":7200}"#
            ),
            Config {
                lookback_seconds: 60,
                reboot_threshold: 5,
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
}
