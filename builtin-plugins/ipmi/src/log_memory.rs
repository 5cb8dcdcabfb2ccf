//! The state that is retained from check to check.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::log::{Entry, SeenEntries};
use crate::open::{Open, Trouble};

/// Which entries are no news, and which troubles are open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogMemory {
    #[serde(flatten)]
    seen: SeenEntries,
    /// The open troubles.
    #[serde(default)]
    pub open: Open,
    /// Troubles as earlier versions kept them: by sensor and what happened, the entry and when it was.
    #[serde(default, skip_serializing)]
    power: BTreeMap<String, (String, String)>,
}

impl LogMemory {
    /// From what [`LogMemory::save`] gave.
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
        for (key, (_, when)) in std::mem::take(&mut self.power) {
            let trouble = Trouble {
                since: now,
                when,
                critical: false,
                text: None,
            };
            self.open.0.entry(key).or_insert(trouble);
        }
        let new = self.seen.take(entries);
        self.open.take(now, keep_ms, entries, &new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log;
    use proptest::prelude::*;

    #[test]
    fn state_saved_by_an_earlier_version_is_not_forgotten() {
        let saved = r#"{"ids":["1 Power Supply #0x51 Failure detected"],"power":{"Power Supply #0x51 Failure detected":["1 Power Supply #0x51 Failure detected","04/12/2024 10:20:30"]}}"#;
        let mut log_memory = LogMemory::restore(Some(saved));
        let one = "1,04/12/2024,10:20:30,Power Supply #0x51,Failure detected,Asserted\n";
        assert!(log_memory.take(5, 100, &log::parse(one)).is_empty());
        assert_eq!(log_memory.open.power().count(), 1);
        let mut log_memory = LogMemory::restore(Some(&log_memory.save()));
        log_memory.take(104, 100, &log::parse(one));
        assert_eq!(log_memory.open.power().count(), 1);
        log_memory.take(105, 100, &log::parse(one));
        assert_eq!(log_memory.open.power().count(), 0);
    }

    proptest! {
        #[test]
        fn any_saved_text_is_survived(text in any::<String>()) {
            LogMemory::restore(Some(&text));
        }
    }
}
