//! Configuration of a checker of error codes:
//!
//! | key | meaning |
//! |---|---|
//! | `lookback_seconds` | how far back errors and reboots count; at least 1; 14 days if not given |
//! | `reboot_threshold` | reboots after which a code that comes back asks for an inspection; at least 1; 2 if not given; only where the checker [allows](CodeKind) it |
//! | `overrides` | the same for single codes: `{"‹code›": n}` or `{"‹code›": {"rebootThreshold": n}}`; a number below 1 means `reboot_threshold` |
//! | `policy` | the site's view of single errors: [`crate::policy::codes`]; wins over `overrides` |
//!
//! A checker reads further keys of its own from the same document ([`CodeKind::further_properties`],
//! [`CodeConfig::from_value`]).

use std::collections::BTreeMap;

use serde_json::Value;

use super::Key;
use crate::policy::POLICY;
use crate::policy::codes::{self, CodePolicy, Codes};

/// Seconds of 14 days.
const LOOKBACK: u64 = 14 * 24 * 60 * 60;
/// Reboots before an inspection.
const THRESHOLD: u32 = 2;

/// The differences between checkers of error codes.
#[derive(Debug, Clone, Copy)]
pub struct CodeKind {
    /// Which errors a policy can name.
    pub codes: Codes,
    /// True when `reboot_threshold` is a key.
    pub has_threshold: bool,
    /// Regular expression of the errors that a policy can name, as a JSON string has it.
    pub key_pattern: &'static str,
    /// Thresholds of single codes where `overrides` does not say otherwise.
    pub overrides: &'static [(u32, u32)],
    /// Schemas of further keys that the checker reads itself: JSON members, each with a comma after it; may be empty.
    pub further_properties: &'static str,
}

impl CodeKind {
    /// Returns the JSON Schema of the configuration.
    pub fn schema(&self) -> String {
        let mut schema = String::from(
            r#"{"type":"object","additionalProperties":false,"properties":{"lookback_seconds":{"type":"integer","minimum":1},"#,
        );
        if self.has_threshold {
            schema.push_str(r#""reboot_threshold":{"type":"integer","minimum":1},"#);
        }
        schema.push_str(
            r#""overrides":{"type":"object","patternProperties":{"^[0-9]+$":{"anyOf":[{"type":"integer"},{"type":"object","properties":{"rebootThreshold":{"type":"integer"}}}]}},"additionalProperties":false},"#,
        );
        schema.push_str(self.further_properties);
        schema.push_str(r#""policy":"#);
        schema.push_str(&codes::schema(self.key_pattern));
        schema.push_str("}}");
        schema
    }
}

/// The configuration of a checker of error codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeConfig {
    lookback_seconds: u64,
    reboot_threshold: u32,
    overrides: BTreeMap<u32, u32>,
    policy: CodePolicy,
}

impl CodeConfig {
    /// Returns the configuration of an empty document.
    pub fn new(kind: &CodeKind) -> Self {
        Self {
            lookback_seconds: LOOKBACK,
            reboot_threshold: THRESHOLD,
            overrides: kind.overrides.iter().copied().collect(),
            policy: CodePolicy::default(),
        }
    }

    /// Reads a document. Anything but the policy that is not of the right kind counts as not
    /// given: an operator's typing error in one key must not silence the check. A policy has to be right.
    ///
    /// # Errors
    /// In words: when the document is not JSON, or as [`CodePolicy::read`].
    pub fn read(document: &str, kind: &CodeKind) -> Result<Self, String> {
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(Self::new(kind));
        }
        let document: Value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        Self::from_value(&document, kind)
    }

    /// Reads a document that is parsed already, for a checker with further keys.
    ///
    /// # Errors
    /// As [`CodePolicy::read`].
    pub fn from_value(document: &Value, kind: &CodeKind) -> Result<Self, String> {
        let mut config = Self::new(kind);
        let number = |key: &str| {
            let given = document.get(key).and_then(Value::as_u64);
            given.filter(|number| *number > 0)
        };
        if let Some(seconds) = number("lookback_seconds") {
            config.lookback_seconds = seconds;
        }
        if let Some(reboots) = number("reboot_threshold").filter(|_| kind.has_threshold) {
            config.reboot_threshold = u32::try_from(reboots).unwrap_or(u32::MAX);
        }
        let overrides = document.get("overrides").and_then(Value::as_object);
        for (code, value) in overrides.into_iter().flatten() {
            let reboots = value
                .as_i64()
                .or_else(|| value.get("rebootThreshold")?.as_i64());
            if let (Ok(code), Some(reboots)) = (code.parse(), reboots) {
                let reboots = u32::try_from(reboots.max(0)).unwrap_or(u32::MAX);
                config.overrides.insert(code, reboots);
            }
        }
        if let Some(policy) = document.get(POLICY) {
            config.policy = CodePolicy::read(policy, kind.codes)?;
        }
        Ok(config)
    }

    /// Returns since when errors and reboots count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.lookback_seconds.saturating_mul(1000))
    }

    /// Returns the site's policy.
    pub fn policy(&self) -> &CodePolicy {
        &self.policy
    }

    /// Returns the reboots after which an error asks for an inspection, without the policy.
    pub fn threshold(&self, error: Key) -> u32 {
        self.overrides
            .get(&error.code)
            .copied()
            .filter(|reboots| *reboots > 0)
            .unwrap_or(self.reboot_threshold)
    }
}

#[cfg(test)]
mod tests;
