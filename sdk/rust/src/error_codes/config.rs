//! Configuration of a checker of coded errors:
//!
//! | key | meaning |
//! |---|---|
//! | `lookback_seconds` | how far back errors and reboots count; at least 1; 14 days if not given |
//! | `reboot_threshold` | reboots after which a code that comes back asks for an inspection; at least 1; 2 if not given; only where the checker [allows](Kind) it |
//! | `overrides` | the same for single codes: `{"‹code›": n}` or `{"‹code›": {"rebootThreshold": n}}`; a number below 1 means `reboot_threshold` |
//! | `xid_catalog` | whose view judges: `gpud` (if not given) or `nvidia` ([`super::vendor`]) |
//! | `saved_log` | true when the lines are of a saved log, so that nothing of this machine is asked; set by the host |
//! | `product` | name of the GPU product of a saved log; set by the host from `--product` |
//! | `policy` | the site's view of single errors: [`crate::policy::codes`]; wins over `overrides` |

use std::collections::BTreeMap;

use serde_json::Value;

use super::Key;
use super::vendor::{CATALOG, ErrorView};
use crate::policy::POLICY;
use crate::policy::codes::{self, CodePolicy, Codes};

/// Seconds of 14 days.
const LOOKBACK: u64 = 14 * 24 * 60 * 60;
/// Reboots before an inspection.
const THRESHOLD: u32 = 2;

/// The differences between checkers of coded errors.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Which errors a policy can name.
    pub codes: Codes,
    /// True when `reboot_threshold` is a key.
    pub has_threshold: bool,
    /// Regular expression of the errors that a policy can name, as a JSON string has it.
    pub key_pattern: &'static str,
    /// Thresholds of single codes where `overrides` does not say otherwise.
    pub overrides: &'static [(u32, u32)],
}

impl Kind {
    /// JSON Schema of the configuration.
    pub fn schema(&self) -> String {
        let mut schema = String::from(
            r#"{"type":"object","additionalProperties":false,"properties":{"lookback_seconds":{"type":"integer","minimum":1},"#,
        );
        if self.has_threshold {
            schema.push_str(r#""reboot_threshold":{"type":"integer","minimum":1},"#);
        }
        schema.push_str(
            r#""overrides":{"type":"object","patternProperties":{"^[0-9]+$":{"anyOf":[{"type":"integer"},{"type":"object","properties":{"rebootThreshold":{"type":"integer"}}}]}},"additionalProperties":false},"xid_catalog":{"enum":["gpud","nvidia"]},"saved_log":{"type":"boolean"},"product":{"type":"string"},"policy":"#,
        );
        schema.push_str(&codes::schema(self.key_pattern));
        schema.push_str("}}");
        schema
    }
}

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    lookback_seconds: u64,
    reboot_threshold: u32,
    overrides: BTreeMap<u32, u32>,
    policy: CodePolicy,
    catalog: ErrorView,
    is_saved_log: bool,
    product: Option<String>,
}

impl Config {
    /// Reads a document. Anything but the policy that is not of the right kind counts as not
    /// given: an operator's typing error in one key must not silence the check. A policy has to be right.
    ///
    /// # Errors
    /// In words: when the document is not JSON, or as [`Policy::read`].
    pub fn read(document: &str, kind: &Kind) -> Result<Self, String> {
        let mut config = Self {
            lookback_seconds: LOOKBACK,
            reboot_threshold: THRESHOLD,
            overrides: kind.overrides.iter().copied().collect(),
            policy: CodePolicy::default(),
            catalog: ErrorView::default(),
            is_saved_log: false,
            product: None,
        };
        // Most have none; this saves them the parser.
        if document == "{}" {
            return Ok(config);
        }
        let document: Value =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
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
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        config.catalog = word(CATALOG).and_then(ErrorView::of).unwrap_or_default();
        config.product = word("product").map(str::to_owned);
        config.is_saved_log = document.get("saved_log").and_then(Value::as_bool) == Some(true);
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

    /// Since when errors and reboots count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.lookback_seconds.saturating_mul(1000))
    }

    /// Returns the view that judges the errors.
    pub fn catalog(&self) -> ErrorView {
        self.catalog
    }

    /// True when the lines are of a saved log.
    pub fn is_saved_log(&self) -> bool {
        self.is_saved_log
    }

    /// Name of the GPU product of a saved log, where an operator gave it.
    pub fn product(&self) -> Option<&str> {
        self.product.as_deref()
    }

    /// The site's policy.
    pub fn policy(&self) -> &CodePolicy {
        &self.policy
    }

    /// Reboots after which an error asks for an inspection, the policy aside.
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
