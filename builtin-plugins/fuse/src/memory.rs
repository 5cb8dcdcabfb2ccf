//! Which connections were over a threshold at the last check, so that an event tells of a change and not of a state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The thresholds that a connection exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExceededThresholds {
    /// The congestion threshold's share.
    pub congested: bool,
    /// The background limit's share.
    pub background: bool,
}

impl ExceededThresholds {
    /// Whether any is exceeded.
    pub fn any(self) -> bool {
        self.congested || self.background
    }

    /// Whether one is exceeded that was not exceeded before.
    pub fn is_news_after(self, before: Self) -> bool {
        (self.congested && !before.congested) || (self.background && !before.background)
    }
}

/// By device number; connections that are over nothing are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory(pub BTreeMap<u32, ExceededThresholds>);

#[derive(Serialize, Deserialize)]
struct SavedThresholds<T> {
    boot_id: String,
    over: T,
}

impl Memory {
    /// From what [`Memory::save`] gave in this boot; anything else is nothing.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<SavedThresholds<_>> =
            saved.and_then(|saved| serde_json::from_str(saved).ok());
        let of_this_boot = saved.filter(|saved| saved.boot_id == boot_id);
        Self(of_this_boot.map(|saved| saved.over).unwrap_or_default())
    }

    /// As text; nothing where there is nothing to remember.
    pub fn save(&self, boot_id: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let saved = SavedThresholds {
            boot_id: boot_id.to_owned(),
            over: &self.0,
        };
        serde_json::to_string(&saved).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_restarts_and_ends_with_the_boot() {
        let over = ExceededThresholds {
            congested: true,
            background: false,
        };
        let memory = Memory([(42, over)].into());
        let saved = memory.save("b-1").unwrap();
        assert_eq!(Memory::restore(Some(&saved), "b-1"), memory);
        for (saved, boot) in [
            (Some(saved.as_str()), "b-2"),
            (None, "b-1"),
            (Some("[]x"), "b-1"),
        ] {
            assert_eq!(Memory::restore(saved, boot), Memory::default());
        }
        assert_eq!(Memory::default().save("b-1"), None);
    }

    #[test]
    fn news() {
        let over = |congested, background| ExceededThresholds {
            congested,
            background,
        };
        for (before, after, news) in [
            (over(false, false), over(false, false), false),
            (over(false, false), over(true, false), true),
            (over(true, false), over(true, false), false),
            (over(true, false), over(true, true), true),
            (over(true, true), over(true, false), false),
        ] {
            assert_eq!(after.is_news_after(before), news, "{before:?} {after:?}");
        }
    }
}
