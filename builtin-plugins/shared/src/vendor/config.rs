//! Configuration of the checkers of Xids and SXids: that of [`error_codes`](gpud_sdk::error_codes::config), and
//!
//! | key | meaning |
//! |---|---|
//! | `xid_catalog` | whose view judges: `gpud` (if not given) or `nvidia` ([`ErrorView`]) |
//! | `saved_log` | true when the lines are of a saved log, so that nothing of this machine is asked; set by the host |
//! | `product` | name of the GPU product of a saved log; set by the host from `--product` |

use gpud_sdk::error_codes::config::{CodeConfig, CodeKind};
use gpud_sdk::policy::codes::CodePolicy;
use serde_json::Value;

use super::{CATALOG, ErrorView};

/// Schemas of these keys, for [`CodeKind::further_properties`].
pub const PROPERTIES: &str = r#""xid_catalog":{"enum":["gpud","nvidia"]},"saved_log":{"type":"boolean"},"product":{"type":"string"},"#;

/// Read configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    codes: CodeConfig,
    catalog: ErrorView,
    is_saved_log: bool,
    product: Option<String>,
}

impl Config {
    /// Reads a document. Anything but the policy that is not of the right kind counts as not given.
    ///
    /// # Errors
    /// As [`CodeConfig::read`].
    pub fn read(document: &str, kind: &CodeKind) -> Result<Self, String> {
        let mut config = Self {
            codes: CodeConfig::new(kind),
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
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        config.catalog = word(CATALOG).and_then(ErrorView::of).unwrap_or_default();
        config.product = word("product").map(str::to_owned);
        config.is_saved_log = document.get("saved_log").and_then(Value::as_bool) == Some(true);
        config.codes = CodeConfig::from_value(&document, kind)?;
        Ok(config)
    }

    /// Returns the part that all checkers of error codes have.
    pub fn codes(&self) -> &CodeConfig {
        &self.codes
    }

    /// Returns since when errors and reboots count, unix milliseconds.
    pub fn since(&self, now: u64) -> u64 {
        self.codes.since(now)
    }

    /// Returns the view that judges the errors.
    pub fn catalog(&self) -> ErrorView {
        self.catalog
    }

    /// True when the lines are of a saved log.
    pub fn is_saved_log(&self) -> bool {
        self.is_saved_log
    }

    /// Returns the name of the GPU product of a saved log, where an operator gave it.
    pub fn product(&self) -> Option<&str> {
        self.product.as_deref()
    }

    /// Returns the site's policy.
    pub fn policy(&self) -> &CodePolicy {
        self.codes.policy()
    }
}

#[cfg(test)]
mod tests {
    use gpud_sdk::policy::codes::Codes;

    use super::*;

    const KIND: CodeKind = CodeKind {
        codes: Codes {
            family: "Xid",
            version: 1,
            possible: |_| true,
            listed: |_| true,
        },
        has_threshold: true,
        key_pattern: "^[0-9]+$",
        overrides: &[],
        further_properties: PROPERTIES,
    };

    #[test]
    fn the_catalogue_is_gpud_s_unless_the_vendor_s_is_named() {
        for (document, catalog) in [
            ("{}", ErrorView::Gpud),
            (r#"{"xid_catalog": "gpud"}"#, ErrorView::Gpud),
            (r#"{"xid_catalog": "nvidia"}"#, ErrorView::Nvidia),
            (r#"{"xid_catalog": "other"}"#, ErrorView::Gpud),
            (r#"{"xid_catalog": 1}"#, ErrorView::Gpud),
        ] {
            let config = Config::read(document, &KIND).unwrap();
            assert_eq!(config.catalog(), catalog, "{document}");
            assert!(!config.is_saved_log() && config.product().is_none());
        }
        let saved = r#"{"saved_log": true, "product": "NVIDIA H100"}"#;
        let saved = Config::read(saved, &KIND).unwrap();
        assert!(saved.is_saved_log());
        assert_eq!(saved.product(), Some("NVIDIA H100"));
    }

    #[test]
    fn the_schema_has_all_keys() {
        let schema: Value = serde_json::from_str(&KIND.schema()).unwrap();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "lookback_seconds",
                "overrides",
                "policy",
                "product",
                "reboot_threshold",
                "saved_log",
                "xid_catalog"
            ]
        );
        let words = ErrorView::ALL.map(ErrorView::word);
        assert_eq!(
            schema["properties"][CATALOG]["enum"],
            serde_json::json!(words)
        );
    }

    #[test]
    fn the_shared_part_is_read_too() {
        let document = r#"{"lookback_seconds": 60, "policy": {"79": {"severity": "info"}}}"#;
        let config = Config::read(document, &KIND).unwrap();
        assert_eq!(config.since(100_000), 40_000);
        assert!(!config.policy().is_empty() && config.codes().policy() == config.policy());
        let error = |document| Config::read(document, &KIND).unwrap_err();
        assert!(error("{").starts_with("configuration: "));
        assert_eq!(
            error(r#"{"product": "x", "policy": 5}"#),
            "configuration: policy is no object of Xids"
        );
    }
}
