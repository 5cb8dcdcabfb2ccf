//! The component's configuration: `{"expected_link_states": {"at_least_gpus_with_all_links_feature_enabled": 8},
//! "link_errors": {"recoveries": true, "checksums": true, "fail_per_second": 100}}`.

use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "expected_link_states": {
      "type": ["object", "null"],
      "properties": {"at_least_gpus_with_all_links_feature_enabled": {"type": "integer", "default": 0}},
      "additionalProperties": false
    },
    "link_errors": {
      "type": ["object", "null"],
      "properties": {
        "recoveries": {"type": "boolean", "default": true, "description": "Any rise of replays or recoveries is Unhealthy"},
        "checksums": {"type": "boolean", "default": true, "description": "Any rise of CRC, integrity or effective errors is Degraded"},
        "fail_per_second": {"type": "integer", "minimum": 0, "default": 100, "description": "A counter of a link that rises by so many a second is Unhealthy; 0: no rate is judged"}
      },
      "additionalProperties": false
    }
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// GPUs of which all links must be up; 0 leaves it to what the product should have.
    pub at_least_gpus: u64,
    /// Whether a rise of replays and recoveries is judged.
    pub judge_recoveries: bool,
    /// Whether a rise of errors that the link corrects by itself is judged.
    pub judge_checksums: bool,
    /// How fast a counter of one link may rise, per second; 0 is any rate.
    pub fail_per_second: u64,
}

impl Default for Config {
    /// The policy of NVIDIA's DCGM for the health of NVLink.
    fn default() -> Self {
        Self {
            at_least_gpus: 0,
            judge_recoveries: true,
            judge_checksums: true,
            fail_per_second: 100,
        }
    }
}

impl Config {
    /// Reads it. What is not of the right kind, or negative, counts as not given.
    ///
    /// # Errors
    /// When the document is not JSON; says so.
    pub fn parse(document: &str) -> Result<Self, String> {
        let document: Value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let path = "/expected_link_states/at_least_gpus_with_all_links_feature_enabled";
        let default = Self::default();
        let errors = |key: &str| document.pointer("/link_errors")?.get(key);
        let flag = |key, default| errors(key).and_then(Value::as_bool).unwrap_or(default);
        let rate = errors("fail_per_second").and_then(Value::as_u64);
        Ok(Self {
            at_least_gpus: document.pointer(path).and_then(Value::as_u64).unwrap_or(0),
            judge_recoveries: flag("recoveries", default.judge_recoveries),
            judge_checksums: flag("checksums", default.judge_checksums),
            fail_per_second: rate.unwrap_or(default.fail_per_second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let at_least = |number: &str| {
            format!(
                r#"{{"expected_link_states":{{"at_least_gpus_with_all_links_feature_enabled":{number}}}}}"#
            )
        };
        for (document, expected) in [
            ("{}".to_owned(), Some(0)),
            (at_least("8"), Some(8)),
            (at_least("-8"), Some(0)),
            (at_least("\"8\""), Some(0)),
            (r#"{"expected_link_states":null}"#.to_owned(), Some(0)),
            ("{".to_owned(), None),
        ] {
            let config = Config::parse(&document).ok();
            assert_eq!(
                config.map(|config| config.at_least_gpus),
                expected,
                "{document}"
            );
        }
    }

    #[test]
    fn limits_of_errors() {
        let parse = |document: &str| Config::parse(document).unwrap();
        assert_eq!(parse("{}"), Config::default());
        assert_eq!(parse(r#"{"link_errors": null}"#), Config::default());
        let document =
            r#"{"link_errors": {"recoveries": false, "checksums": false, "fail_per_second": 7}}"#;
        let expected = Config {
            at_least_gpus: 0,
            judge_recoveries: false,
            judge_checksums: false,
            fail_per_second: 7,
        };
        assert_eq!(parse(document), expected);
    }
}
