//! The configuration that an operator can set.

use gpud_sdk::settings::Settings;
use serde_json::Value;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "endpoints": {
      "description": "Where to connect to, host:port by a name for it.",
      "type": "object", "maxProperties": 32,
      "propertyNames": { "minLength": 1, "maxLength": 64 },
      "additionalProperties": { "type": "string", "maxLength": 300, "pattern": "^[^:\\s]+:[1-9][0-9]{0,4}$" }
    },
    "threshold_ms": {
      "description": "Milliseconds above which the state is Degraded.",
      "type": "integer", "minimum": 1, "maximum": 20000, "default": 7000
    }
  }
}"#;

/// Endpoints that are measured.
const MAX_ENDPOINTS: usize = 32;
/// Longest name of one, bytes: a label.
const MAX_NAME: usize = 128;

/// A place to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The operator's name for it.
    pub name: String,
    /// Name or IPv4 address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// By name.
    pub endpoints: Vec<Endpoint>,
    /// Latency above which the state is Degraded, milliseconds.
    pub threshold_ms: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words: what is not JSON, and an endpoint that is none.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let value: Value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        let given = value.get("endpoints").and_then(Value::as_object);
        let mut endpoints = Vec::new();
        for (name, address) in given.into_iter().flatten() {
            if endpoints.len() >= MAX_ENDPOINTS {
                return Err(format!(
                    "configuration: more than {MAX_ENDPOINTS} endpoints"
                ));
            }
            let endpoint = address.as_str().and_then(|text| endpoint(name, text));
            endpoints.push(endpoint.ok_or_else(|| {
                format!("configuration: endpoints: {name:?} is no name with a host:port")
            })?);
        }
        Ok(Self {
            endpoints,
            threshold_ms: settings.number("threshold_ms", 7_000, 1..=20_000),
        })
    }
}

/// Host and port as they stand: what is asked for must be what was granted, letter by letter.
fn endpoint(name: &str, address: &str) -> Option<Endpoint> {
    let (host, digits) = address.split_once(':')?;
    let port: u16 = digits.parse().ok().filter(|port| *port != 0)?;
    let is_plain = port.to_string() == digits && !host.is_empty() && host.len() <= 255;
    let is_name = !name.trim().is_empty() && name.len() <= MAX_NAME;
    let is_host = !host.contains(|c: char| c.is_whitespace() || c.is_control());
    (is_plain && is_name && is_host).then(|| Endpoint {
        name: name.to_owned(),
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn endpoints() {
        let document =
            r#"{"endpoints":{"b":"example.com:443","a":"10.0.0.1:2049"},"threshold_ms":50}"#;
        let config = Config::parse(document).unwrap();
        let found: Vec<_> = config
            .endpoints
            .iter()
            .map(|e| (e.name.as_str(), e.host.as_str(), e.port))
            .collect();
        assert_eq!(found, [("a", "10.0.0.1", 2049), ("b", "example.com", 443)]);
        assert_eq!(config.threshold_ms, 50);
        let empty = Config {
            endpoints: Vec::new(),
            threshold_ms: 7_000,
        };
        assert_eq!(Config::parse("{}"), Ok(empty));
        assert!(Config::parse("{").is_err());
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }

    #[test]
    fn what_is_no_endpoint() {
        for bad in [
            "",
            "host",
            "host:",
            ":443",
            "host:0",
            "host:70000",
            "host:0443",
            "host:+443",
            "ho st:443",
            "::1:443",
            "a:b:443",
        ] {
            let error = Config::parse(&format!(r#"{{"endpoints":{{"a":"{bad}"}}}}"#)).unwrap_err();
            assert!(
                error.contains("\"a\" is no name with a host:port"),
                "{bad}: {error}"
            );
        }
        assert!(Config::parse(r#"{"endpoints":{"a":5}}"#).is_err());
        assert!(Config::parse(r#"{"endpoints":{" ":"a:1"}}"#).is_err());
        let many: serde_json::Map<String, Value> =
            (0..33).map(|n| (n.to_string(), "a:1".into())).collect();
        assert!(Config::parse(&serde_json::json!({"endpoints": many}).to_string()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[{}\":,a-z0-9 é]{0,60}") {
            let _ = Config::parse(&text);
            if let Some(endpoint) = endpoint("a", &text) {
                prop_assert_eq!(format!("{}:{}", endpoint.host, endpoint.port), text);
            }
        }
    }
}
