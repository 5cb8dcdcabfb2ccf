//! The component's configuration:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `expected_port_states` | `{"at_least_ports": 8, "at_least_rate": 400}`: ports that must be up at this rate (Gbit/s); 0 or less switches the check off | by product, see [`crate::product`] |
//! | `exclude_devices` | names of devices to leave alone: none of their files is read | none |
//! | `class_root` | folder of the devices; the grant for files must name it, too | `/sys/class/infiniband` |
//! | `drop_after_seconds` | how long a port must be down to be a drop | 240 |
//! | `drop_shown_seconds` | how long a drop is shown after the port came back | 600 |
//! | `flap_down_seconds` | how long a port must be down to count as an outage of a flap | 25 |
//! | `flap_outages` | outages with a return to ACTIVE within the look-back that make a flap | 3 |
//! | `flap_auto_clear_seconds` | how long after its last outage a flap is forgotten; 0 is only by set-healthy | 0 |
//! | `lookback_seconds` | how far back outages count | 432,000 (5 days) |

use serde_json::Value;

use crate::product::Expected;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "expected_port_states": {
      "type": ["object", "null"],
      "properties": {
        "at_least_ports": {"type": "integer"},
        "at_least_rate": {"type": "integer"}
      },
      "additionalProperties": false
    },
    "exclude_devices": {"type": "array", "items": {"type": "string"}},
    "class_root": {"type": "string", "pattern": "^/", "default": "/sys/class/infiniband"},
    "drop_after_seconds": {"type": "integer", "minimum": 1, "default": 240},
    "drop_shown_seconds": {"type": "integer", "minimum": 0, "default": 600},
    "flap_down_seconds": {"type": "integer", "minimum": 1, "default": 25},
    "flap_outages": {"type": "integer", "minimum": 1, "maximum": 8, "default": 3},
    "flap_auto_clear_seconds": {"type": "integer", "minimum": 0, "default": 0},
    "lookback_seconds": {"type": "integer", "minimum": 1, "default": 432000}
  },
  "additionalProperties": false
}"#;

/// Where the kernel has its devices.
pub const CLASS_ROOT: &str = "/sys/class/infiniband";
/// Most outages that a flap can ask for: as many as are kept of a port.
pub const MAX_OUTAGES: u64 = 8;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What was asked for; `None` leaves it to the product.
    pub expected: Option<Expected>,
    /// Devices to leave alone.
    pub exclude_devices: Vec<String>,
    /// Folder of the devices, without a final slash.
    pub class_root: String,
    /// See the table above, as for all that follow.
    pub drop_after_seconds: u64,
    /// After the port came back.
    pub drop_shown_seconds: u64,
    /// Of one outage.
    pub flap_down_seconds: u64,
    /// That make a flap.
    pub flap_outages: u64,
    /// 0 is never.
    pub flap_auto_clear_seconds: u64,
    /// Of outages.
    pub lookback_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            expected: None,
            exclude_devices: Vec::new(),
            class_root: CLASS_ROOT.to_owned(),
            drop_after_seconds: 240,
            drop_shown_seconds: 600,
            flap_down_seconds: 25,
            flap_outages: 3,
            flap_auto_clear_seconds: 0,
            lookback_seconds: 5 * 86_400,
        }
    }
}

impl Config {
    /// Reads a document. A key that is not there, or `null`, has its default.
    ///
    /// # Errors
    /// A text that names the key and says what is expected: a wrong expectation must not pass for none.
    pub fn read(document: &str) -> Result<Self, String> {
        let mut config = Self::default();
        if document == "{}" {
            return Ok(config);
        }
        let document: Value = serde_json::from_str(document)
            .map_err(|error| format!("configuration: not JSON: {error}"))?;
        let get = |key: &str| document.get(key).filter(|value| !value.is_null());
        if let Some(value) = get("expected_port_states") {
            config.expected = Some(expected(value)?);
        }
        if let Some(value) = get("exclude_devices") {
            config.exclude_devices = names(value)?;
        }
        if let Some(value) = get("class_root") {
            let path = value.as_str().map(|path| path.trim_end_matches('/'));
            config.class_root = path
                .filter(|path| path.starts_with('/'))
                .ok_or_else(|| wrong("class_root", "an absolute path", value))?
                .to_owned();
        }
        for (target, key, least, most) in [
            (
                &mut config.drop_after_seconds,
                "drop_after_seconds",
                1,
                u64::MAX,
            ),
            (
                &mut config.drop_shown_seconds,
                "drop_shown_seconds",
                0,
                u64::MAX,
            ),
            (
                &mut config.flap_down_seconds,
                "flap_down_seconds",
                1,
                u64::MAX,
            ),
            (&mut config.flap_outages, "flap_outages", 1, MAX_OUTAGES),
            (
                &mut config.flap_auto_clear_seconds,
                "flap_auto_clear_seconds",
                0,
                u64::MAX,
            ),
            (
                &mut config.lookback_seconds,
                "lookback_seconds",
                1,
                u64::MAX,
            ),
        ] {
            let Some(value) = get(key) else { continue };
            *target = value
                .as_u64()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| match most {
                    u64::MAX => wrong(key, &format!("a whole number from {least} on"), value),
                    most => wrong(
                        key,
                        &format!("a whole number from {least} to {most}"),
                        value,
                    ),
                })?;
        }
        Ok(config)
    }
}

fn expected(value: &Value) -> Result<Expected, String> {
    const KEY: &str = "expected_port_states";
    if !value.is_object() {
        return Err(wrong(
            KEY,
            r#"{"at_least_ports": 8, "at_least_rate": 400}"#,
            value,
        ));
    }
    // As in GPUd: what is missing or negative counts as 0, which is off.
    let number = |key: &str| match value.get(key).filter(|value| !value.is_null()) {
        None => Ok(0),
        Some(value) => match (value.as_u64(), value.as_i64()) {
            (Some(number), _) => Ok(number),
            (None, Some(_)) => Ok(0),
            (None, None) => Err(wrong(&format!("{KEY}.{key}"), "a whole number", value)),
        },
    };
    Ok(Expected {
        ports: number("at_least_ports")?,
        rate: number("at_least_rate")?,
    })
}

fn names(value: &Value) -> Result<Vec<String>, String> {
    const KEY: &str = "exclude_devices";
    let list = value.as_array();
    let list = list.ok_or_else(|| wrong(KEY, "a list of device names", value))?;
    let mut names = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let name = value.as_str().map(str::trim);
        let name = name.ok_or_else(|| wrong(&format!("{KEY}[{index}]"), "a device name", value))?;
        if !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn wrong(key: &str, wanted: &str, found: &Value) -> String {
    let found = found.to_string();
    let found = crate::files::clip(&found);
    format!("configuration: {key}: expected {wanted}, found {found}")
}

#[cfg(test)]
mod tests;
