//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "mount_points": {
      "description": "Mount points whose space becomes metrics and which are looked up with findmnt.",
      "type": "array", "maxItems": 32, "items": { "type": "string", "pattern": "^/" },
      "default": ["/", "/var/lib/kubelet"]
    },
    "nfs_mounts": {
      "description": "Watch network mounts (nfs, wekafs, virtiofs, lustre) as well.",
      "type": "boolean", "default": false
    },
    "usage_from_df": {
      "description": "Take the space of filesystems from df, or the command that replaces it, instead of statvfs.",
      "type": "boolean", "default": false
    },
    "degraded_percent": {
      "description": "Share of used space from which a filesystem is Degraded.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 95
    },
    "unhealthy_percent": {
      "description": "Share of used space from which a filesystem is Unhealthy.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 99
    },
    "enough_free_mib": {
      "description": "A filesystem with so much free space is not short of it, whatever its share.",
      "type": "integer", "minimum": 1, "maximum": 1073741824, "default": 20480
    },
    "ignored_mounts": {
      "description": "Mount points whose space is not judged.",
      "type": "array", "maxItems": 256, "items": { "type": "string" }
    }
  }
}"#;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Mount points with metrics and findmnt lookups.
    pub mount_points: Vec<String>,
    /// Whether network mounts are asked.
    pub nfs_mounts: bool,
    /// Whether df is asked for space.
    pub usage_from_df: bool,
    /// Share of used space from which a filesystem is Degraded.
    pub degraded_percent: u8,
    /// Share of used space from which a filesystem is Unhealthy.
    pub unhealthy_percent: u8,
    /// Free space, MiB, from which on a filesystem is not short of it.
    pub enough_free_mib: u64,
    /// Mount points whose space is not judged.
    pub ignored_mounts: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mount_points: vec!["/".to_owned(), "/var/lib/kubelet".to_owned()],
            nfs_mounts: false,
            usage_from_df: false,
            degraded_percent: 95,
            unhealthy_percent: 99,
            enough_free_mib: 20 << 10,
            ignored_mounts: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(document: &str) -> Result<Self, String> {
        serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_defaults() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let config =
            Config::parse(r#"{"mount_points":["/data"],"nfs_mounts":true,"usage_from_df":true}"#)
                .unwrap();
        assert_eq!(
            config,
            Config {
                mount_points: vec!["/data".into()],
                nfs_mounts: true,
                usage_from_df: true,
                ..Config::default()
            }
        );
        let error = Config::parse(r#"{"mount_point":[]}"#).unwrap_err();
        assert!(error.contains("unknown field `mount_point`"), "{error}");
    }

    #[test]
    fn the_schema_knows_the_same_keys() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "degraded_percent",
                "enough_free_mib",
                "ignored_mounts",
                "mount_points",
                "nfs_mounts",
                "unhealthy_percent",
                "usage_from_df"
            ]
        );
        let default = |key: &str| schema["properties"][key]["default"].clone();
        let config = Config::default();
        assert_eq!(
            default("mount_points"),
            serde_json::json!(config.mount_points)
        );
        assert_eq!(default("degraded_percent"), config.degraded_percent);
        assert_eq!(default("unhealthy_percent"), config.unhealthy_percent);
        assert_eq!(default("enough_free_mib"), config.enough_free_mib);
    }
}
