//! Troubles of the log that are not over.

use std::collections::BTreeMap;

use gpud_builtin_ipmi::log::{Entry, Seen};
use gpud_sdk::EventType;
use serde::{Deserialize, Serialize};

/// Troubles that are kept; the oldest go first.
const MAX_OPEN: usize = 64;

/// One.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When it was first seen here, Unix milliseconds: the controller's own clock may be anything.
    pub since: u64,
    /// When it was, by the controller's clock.
    pub when: String,
    /// Whether it is one of the grave ones.
    pub critical: bool,
}

/// What is kept from check to check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kept {
    /// Which entries are no news.
    pub seen: Seen,
    /// By sensor and what happened.
    pub open: BTreeMap<String, Trouble>,
}

impl Kept {
    /// From what [`Kept::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes a reading at a moment (Unix milliseconds); gives the entries that are new.
    pub fn take<'a>(&mut self, now: u64, keep_ms: u64, entries: &'a [Entry]) -> Vec<&'a Entry> {
        let new = self.seen.take(entries);
        if entries.is_empty() {
            // Someone cleared the log, and has seen what was in it.
            self.open.clear();
        }
        for entry in &new {
            let event_type = entry.event_type();
            if !entry.asserted {
                self.open.remove(&entry.key());
            } else if event_type != EventType::Info {
                let trouble = Trouble {
                    since: now,
                    when: entry.when.clone(),
                    critical: event_type == EventType::Critical,
                };
                self.open.insert(entry.key(), trouble);
            }
        }
        self.open
            .retain(|_, trouble| trouble.since.saturating_add(keep_ms) > now);
        while self.open.len() > MAX_OPEN {
            let oldest = self.open.iter().min_by_key(|(_, one)| one.since);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.open.remove(&key);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_ipmi::log;
    use proptest::prelude::*;

    const LOG: &str = "1,04/12/2024,10:20:30,Fan #0x30,Lower Critical going low,Asserted\n\
        2,04/12/2024,10:21:30,Memory #0x01,Uncorrectable ECC,Asserted\n\
        3,04/12/2024,10:22:30,Fan #0x30,Lower Critical going low,Deasserted\n";

    #[test]
    fn from_its_beginning_to_its_end() {
        let all = log::parse(LOG);
        let mut kept = Kept::default();
        assert_eq!(kept.take(1, 100, &all[..1]).len(), 0);
        let mut kept = Kept::default();
        kept.take(1, 100, &[]);
        assert_eq!(kept.take(2, 100, &all[..2]).len(), 2);
        assert_eq!(kept.open.len(), 2);
        let mut kept = Kept::restore(Some(&kept.save()));
        assert_eq!(kept.take(3, 100, &all).len(), 1);
        let left: Vec<_> = kept
            .open
            .iter()
            .map(|(key, one)| (key.as_str(), one.critical))
            .collect();
        assert_eq!(left, [("Memory #0x01 Uncorrectable ECC", true)]);
        kept.take(102, 100, &all);
        assert!(kept.open.is_empty());
        kept.open.insert(
            "x".to_owned(),
            Trouble {
                since: 102,
                when: String::new(),
                critical: false,
            },
        );
        kept.take(103, 100, &[]);
        assert!(kept.open.is_empty());
    }

    proptest! {
        #[test]
        fn bounded_whatever_the_log_says(numbers in prop::collection::vec(any::<u16>(), 0..200), now in any::<u64>()) {
            let mut kept = Kept::default();
            kept.take(now, 1, &[]);
            let line = |number: &u16| format!("{number:x},04/12/2024,10:20:30,Memory #{number:#x},Uncorrectable ECC,Asserted\n");
            let entries = log::parse(&numbers.iter().map(line).collect::<String>());
            kept.take(now, u64::MAX, &entries);
            prop_assert!(kept.open.len() <= MAX_OPEN);
        }

        #[test]
        fn any_saved_text_is_survived(text in any::<String>()) {
            Kept::restore(Some(&text));
        }
    }
}
