//! The configuration that an operator can set.

use std::collections::BTreeSet;

use gpud_sdk::settings::Settings;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "required": {
      "description": "Units that must be active.",
      "type": "array", "maxItems": 128, "items": { "type": "string", "pattern": "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]*$" }
    },
    "important": {
      "description": "Units that must not have failed or be restarted over and over, where they are installed. Default: container runtimes, kubelet, slurmd, nvidia-persistenced.",
      "type": "array", "maxItems": 128, "items": { "type": "string", "pattern": "^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]*$" }
    },
    "any_failed_unit": {
      "description": "Whether every failed unit makes the state Degraded.",
      "type": "boolean", "default": false
    },
    "max_restarts_per_hour": {
      "description": "Automatic restarts of a required or important unit within an hour from which the state is Degraded.",
      "type": "integer", "minimum": 1, "default": 5
    }
  }
}"#;

/// What work on a GPU machine depends on. The fabric manager is another component's: it ends with an error where there
/// is nothing for it to do.
const IMPORTANT: [&str; 6] = [
    "containerd.service",
    "crio.service",
    "docker.service",
    "kubelet.service",
    "nvidia-persistenced.service",
    "slurmd.service",
];
const MAX_WATCHED: usize = 128;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Must be active.
    pub required: Vec<String>,
    /// Must not have failed.
    pub important: Vec<String>,
    /// Any failed unit counts.
    pub any: bool,
    /// Restarts within an hour that count; at least 1.
    pub max_restarts: u64,
}

impl Config {
    /// Reads the document. A name without a type is a service's.
    ///
    /// # Errors
    /// In words: what is not JSON, or no name of a unit.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let units = |key: &str| -> Result<Option<Vec<String>>, String> {
            let Some(names) = settings.words(key) else {
                return Ok(None);
            };
            let full = names.into_iter().map(|name| full(key, name));
            full.collect::<Result<_, _>>().map(Some)
        };
        Ok(Self {
            required: units("required")?.unwrap_or_default(),
            important: units("important")?.unwrap_or_else(|| IMPORTANT.map(str::to_owned).to_vec()),
            any: settings.flag("any_failed_unit", false),
            max_restarts: settings.number("max_restarts_per_hour", 5, 1..=u64::MAX),
        })
    }

    /// All units that are asked for by name.
    pub fn watched(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.required.iter().chain(&self.important).collect();
        names.into_iter().take(MAX_WATCHED).cloned().collect()
    }
}

/// Names become arguments of `systemctl`, which takes patterns too.
fn full(key: &str, name: String) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":_.@\\-".contains(c);
    if name.starts_with('-') || !name.chars().all(plain) {
        return Err(format!(
            "configuration: {key}: {name:?} is no name of a unit"
        ));
    }
    Ok(if name.contains('.') {
        name
    } else {
        format!("{name}.service")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let config = Config::parse(r#"{"required":["sshd","a@b.timer"],"important":[]}"#).unwrap();
        assert_eq!(config.watched(), ["a@b.timer", "sshd.service"]);
        assert_eq!(Config::parse("{}").unwrap().watched().len(), 6);
        for bad in ["-H", "a*", "a b", "a/b", "a;b"] {
            let error = Config::parse(&format!(r#"{{"required":["{bad}"]}}"#)).unwrap_err();
            assert!(error.contains("is no name of a unit"), "{error}");
        }
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
