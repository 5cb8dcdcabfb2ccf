//! Errors that a driver reports with a number (Xids of GPUs, SXids of NVSwitches): which error it is ([`Key`]), what an
//! operator can configure ([`config`]), and the verdict on a history of them ([`timeline`]), by the checker's catalogue and
//! by the site's own policy ([`policy::codes`](crate::policy::codes)).
//!
//! The state follows from the stored events and the reboots alone. An error that asks for a reboot is over after one; an
//! error that comes back after enough reboots asks for an inspection of the hardware instead.
//!
//! ```
//! use gpud_sdk::Health;
//! use gpud_sdk::catalog::Severity;
//! use gpud_sdk::error_codes::Key;
//! use gpud_sdk::error_codes::config::{CodeConfig, CodeKind};
//! use gpud_sdk::error_codes::timeline::{self, Fault};
//! use gpud_sdk::policy::codes::Codes;
//!
//! /// The driver of a network card reports errors 1 to 99.
//! const KIND: CodeKind = CodeKind {
//!     codes: Codes {
//!         family: "NIC error",
//!         version: 1,
//!         possible: |key| (1..100).contains(&key.code),
//!         listed: |key| matches!(key.code, 7 | 12),
//!     },
//!     has_threshold: true,
//!     key_pattern: "^[0-9]+$",
//!     overrides: &[],
//!     further_properties: "",
//! };
//!
//! let fault = Fault {
//!     index: 0,
//!     second: 1_000,
//!     key: Key::of(7),
//!     severity: Severity::Fatal,
//!     action: Some("REBOOT_SYSTEM".into()),
//! };
//! let judge = |document: &str, reboots: &[u64]| {
//!     let config = CodeConfig::read(document, &KIND).unwrap();
//!     let (verdict, by_policy) =
//!         timeline::judge(|| [fault.clone()], || reboots.iter().copied(), &config);
//!     (verdict.health, by_policy.is_some())
//! };
//! assert_eq!(judge("{}", &[]), (Health::Unhealthy, false));
//! assert_eq!(judge("{}", &[2_000]), (Health::Healthy, false));
//! let policy = r#"{"policy":{"7":{"severity":"warning"}}}"#;
//! assert_eq!(judge(policy, &[]), (Health::Healthy, true));
//! ```

pub mod config;
pub mod repeats;
pub mod timeline;

use std::fmt::{self, Display};

/// The identity of an error, as exact as the catalogue is. The order is that of a list for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its number.
    pub code: u32,
    /// Its sub-code, where the code has such.
    pub sub_code: Option<u32>,
    /// Its error status, where the code has such.
    pub status: Option<u32>,
}

impl Key {
    /// Returns the key of a code that has no parts, or of all its parts.
    pub const fn of(code: u32) -> Self {
        Self {
            code,
            sub_code: None,
            status: None,
        }
    }

    /// Returns itself and the keys that it is a part of, the most exact first.
    pub fn widening(self) -> impl Iterator<Item = Self> {
        let Self { code, sub_code, .. } = self;
        let without_status = Self {
            status: None,
            ..self
        };
        [
            self.status.map(|_| self),
            sub_code.map(|_| without_status),
            Some(Self::of(code)),
        ]
        .into_iter()
        .flatten()
    }
}

/// As reasons have it: `79`, `145.3`, `145.3 (err status 0x00000004)`.
impl Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(sub_code) = self.sub_code {
            write!(f, ".{sub_code}")?;
        }
        if let Some(status) = self.status {
            write!(f, " (err status 0x{status:08x})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_from_the_most_to_the_least_exact() {
        let exact = Key {
            code: 145,
            sub_code: Some(3),
            status: Some(4),
        };
        let texts = |key: Key| {
            key.widening()
                .map(|key| key.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(exact),
            ["145.3 (err status 0x00000004)", "145.3", "145"]
        );
        assert_eq!(texts(Key::of(79)), ["79"]);
    }
}
