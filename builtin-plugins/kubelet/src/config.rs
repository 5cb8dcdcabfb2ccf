//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "health_port": {
      "description": "Port of the kubelet's health check on this machine (healthzPort); 0 is none.",
      "type": "integer", "minimum": 0, "maximum": 65535, "default": 10248
    },
    "read_only_port": {
      "description": "The kubelet's read-only port (readOnlyPort), for the list of pods; 0 is none.",
      "type": "integer", "minimum": 0, "maximum": 65535, "default": 10255
    }
  }
}"#;

/// The configuration. Defaults are those of the kubelet (KubeletConfiguration v1beta1; `--read-only-port`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it says whether it is well, if it does.
    pub health_port: Option<u16>,
    /// Where it lists its pods to everybody, if it does.
    pub read_only_port: Option<u16>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let port = |key: &str, default: u16| {
            let given = settings.number(key, default.into(), 0..=65_535);
            u16::try_from(given).ok().filter(|port| *port != 0)
        };
        Ok(Self {
            health_port: port("health_port", 10_248),
            read_only_port: port("read_only_port", 10_255),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        for (document, health_port, read_only_port) in [
            ("{}", Some(10_248), Some(10_255)),
            (r#"{"health_port":0,"read_only_port":0}"#, None, None),
            (
                r#"{"health_port":9000,"read_only_port":"x"}"#,
                Some(9000),
                Some(10_255),
            ),
            (r#"{"health_port":70000}"#, Some(65_535), Some(10_255)),
        ] {
            let expected = Config {
                health_port,
                read_only_port,
            };
            assert_eq!(Config::parse(document), Ok(expected), "{document}");
        }
        assert!(Config::parse("{").is_err());
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
