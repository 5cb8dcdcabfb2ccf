//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `checks` | checks in a row that must find a link below what it can do | 3 |
//! | `busy_percent` | utilization from which on a GPU is busy enough for its link to run at full speed | 10 |
//! | `min_width` | lanes that every GPU must have, whatever its slot can do; 0 is no demand | 0 |
//! | `min_generation` | generation that every GPU's slot must be able to do; 0 is no demand | 0 |

use gpud_sdk::settings::numbers;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "checks": {"type": "integer", "minimum": 1, "default": 3},
    "busy_percent": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
    "min_width": {"type": "integer", "minimum": 0, "default": 0},
    "min_generation": {"type": "integer", "minimum": 0, "default": 0}
  },
  "additionalProperties": false
}"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// See the table above, as for all that follow.
    pub checks: u64,
    /// Percent.
    pub busy_percent: u64,
    /// Lanes.
    pub min_width: u64,
    /// PCIe generation.
    pub min_generation: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            checks: 3,
            busy_percent: 10,
            min_width: 0,
            min_generation: 0,
        }
    }
}

impl Config {
    /// Reads it.
    ///
    /// # Errors
    /// When the document is not JSON.
    pub fn parse(document: &str) -> Result<Self, serde_json::Error> {
        let mut config = Self::default();
        numbers::read(
            document,
            [
                (&mut config.checks, "checks", 1),
                (&mut config.busy_percent, "busy_percent", 1),
                (&mut config.min_width, "min_width", 0),
                (&mut config.min_generation, "min_generation", 0),
            ],
        )?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let default = Config::default;
        let strict = Config {
            checks: 1,
            min_width: 16,
            min_generation: 5,
            ..default()
        };
        for (document, expected) in [
            ("{}", Some(default())),
            (
                r#"{"checks":1,"min_width":16,"min_generation":5}"#,
                Some(strict),
            ),
            (r#"{"checks":0,"busy_percent":"all"}"#, Some(default())),
            ("{", None),
        ] {
            assert_eq!(Config::parse(document).ok(), expected, "{document}");
        }
    }
}
