//! The state that is retained from check to check: what was seen to work in this boot, and what was wrong at the last
//! check. One reading alone may be a glitch of the chip's bus.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The retained state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watch {
    boot: String,
    /// Fans that turned.
    pub turned: BTreeSet<String>,
    /// Sensors that their chip called good.
    pub good: BTreeSet<String>,
    /// Findings of the last check, reported or not.
    pub suspects: BTreeSet<String>,
}

impl Watch {
    /// From what [`Watch::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<Self> = saved.and_then(|saved| serde_json::from_str(saved).ok());
        saved
            .filter(|saved| saved.boot == boot_id)
            .unwrap_or_else(|| Self {
                boot: boot_id.to_owned(),
                ..Self::default()
            })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn belongs_to_a_boot() {
        let mut watch = Watch::restore(None, "a");
        watch.turned.insert("fan1".to_owned());
        assert_eq!(Watch::restore(Some(&watch.save()), "a"), watch);
        assert!(Watch::restore(Some(&watch.save()), "b").turned.is_empty());
    }

    proptest! {
        #[test]
        fn any_saved_text_is_survived(text in any::<String>()) {
            prop_assert!(Watch::restore(Some(&text), "a").turned.is_empty());
        }
    }
}
