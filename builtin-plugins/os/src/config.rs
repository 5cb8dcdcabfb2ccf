//! The configuration that an operator can set.

use serde::Deserialize;

use crate::names::Names;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "blocked_process_name_regexes": {
      "description": "Processes that need a reboot when they stay in uninterruptible sleep, by name: literal text, ^ and $ at the ends, .* and | between. An empty list switches the watch off. Default: [\"^nvidia\"] on machines with NVIDIA GPUs, else off.",
      "type": "array", "maxItems": 64, "items": { "type": "string", "maxLength": 256 }
    },
    "persistence_threshold": {
      "description": "Checks in a row, about a minute each, after which a process counts as stuck; 0 or less means 5.",
      "type": "integer", "default": 5
    }
  }
}"#;

const DEFAULT_THRESHOLD: u32 = 5;
const NVIDIA: &str = "^nvidia";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    blocked_process_name_regexes: Option<Vec<String>>,
    persistence_threshold: Option<i64>,
}

/// The configuration, with what was not set filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Names that escalate; empty means that stuck processes are not watched.
    pub names: Names,
    /// Checks in a row that make a process stuck; at least 1.
    pub threshold: u32,
}

impl Config {
    /// Reads the document. On machines with NVIDIA GPUs the driver's own processes are watched unless something was
    /// set; a look without a history (`gpud scan`) cannot wait five checks for them.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(document: &str, nvidia_gpus: bool, with_history: bool) -> Result<Self, String> {
        let document: Document =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let automatic = document.blocked_process_name_regexes.is_none() && nvidia_gpus;
        let names = document.blocked_process_name_regexes.unwrap_or_else(|| {
            if automatic {
                vec![NVIDIA.to_owned()]
            } else {
                Vec::new()
            }
        });
        let threshold = match document.persistence_threshold {
            None if nvidia_gpus && !with_history => 1,
            set => set
                .and_then(|set| u32::try_from(set).ok())
                .filter(|&set| set > 0)
                .unwrap_or(DEFAULT_THRESHOLD),
        };
        Ok(Self {
            names: Names::parse(&names)?,
            threshold,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_defaults() {
        let cases = [
            ("{}", false, true, "", 5),
            ("{}", true, true, "^nvidia", 5),
            ("{}", true, false, "^nvidia", 1),
            (r#"{"blocked_process_name_regexes":[]}"#, true, true, "", 5),
            (
                r#"{"blocked_process_name_regexes":["^nv"," ","x"],"persistence_threshold":3}"#,
                true,
                false,
                "^nv,x",
                3,
            ),
            (r#"{"persistence_threshold":0}"#, false, true, "", 5),
            (r#"{"persistence_threshold":-1}"#, false, false, "", 5),
        ];
        for (document, gpus, history, names, threshold) in cases {
            let config = Config::parse(document, gpus, history).unwrap();
            assert_eq!(
                (config.names.joined().as_str(), config.threshold),
                (names, threshold),
                "{document}"
            );
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            (r#"{"x":1}"#, "unknown field `x`"),
            (
                r#"{"blocked_process_name_regexes":["a+"]}"#,
                "invalid blocked process name regex \"a+\": ",
            ),
        ];
        for (document, expected) in cases {
            let error = Config::parse(document, true, true).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
