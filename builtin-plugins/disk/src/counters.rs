//! The counts that are retained from check to check.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Consecutive failures; a success takes the entry away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Of lsblk.
    pub lsblk: u32,
    /// Of df, where it is asked.
    pub df: u32,
    /// Network mounts that did not answer, by mount point.
    pub silent: BTreeMap<String, u32>,
}

impl Counters {
    /// From what [`Counters::save`] gave; anything else counts as nothing.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_survive() {
        let counters = Counters {
            lsblk: 3,
            df: 1,
            silent: [("/mnt/a \"b\"".to_owned(), 2)].into(),
        };
        assert_eq!(Counters::restore(Some(&counters.save())), counters);
        for nothing in [None, Some(""), Some("[]x")] {
            assert_eq!(Counters::restore(nothing), Counters::default());
        }
    }
}
