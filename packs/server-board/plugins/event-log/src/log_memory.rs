//! The state that is retained from check to check.

use gpud_builtin_ipmi::log::{Entry, SeenEntries};
use gpud_builtin_ipmi::open::Open;
use serde::{Deserialize, Serialize};

/// Which entries are no news, and which troubles are open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogMemory {
    /// Which entries are no news.
    pub seen: SeenEntries,
    /// Which entries of Dell's Lifecycle log are no news.
    #[serde(default)]
    pub lifecycle: SeenEntries,
    /// The open troubles.
    pub open: Open,
    /// The program that the event log was read with.
    #[serde(default)]
    program: String,
}

impl LogMemory {
    /// From what [`LogMemory::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// Notes which program the event log was read with: another one has other words for the same entries, which are no
    /// news.
    pub fn read_by(&mut self, program: &str) {
        if !self.program.is_empty() && self.program != program {
            self.seen = SeenEntries::default();
        }
        program.clone_into(&mut self.program);
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes a reading at a moment (Unix milliseconds); gives the entries that are new.
    pub fn take<'a>(&mut self, now: u64, keep_ms: u64, entries: &'a [Entry]) -> Vec<&'a Entry> {
        let new = self.seen.take(entries);
        self.open.take(now, keep_ms, entries, &new);
        new
    }

    /// Takes a reading of Dell's Lifecycle log, which nobody clears; gives the entries that are new.
    pub fn take_lifecycle<'a>(
        &mut self,
        now: u64,
        keep_ms: u64,
        entries: &'a [Entry],
    ) -> Vec<&'a Entry> {
        let new = self.lifecycle.take(entries);
        if !entries.is_empty() {
            self.open.take(now, keep_ms, entries, &new);
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
        let mut log_memory = LogMemory::default();
        assert_eq!(log_memory.take(1, 100, &all[..1]).len(), 0);
        let mut log_memory = LogMemory::default();
        log_memory.take(1, 100, &[]);
        assert_eq!(log_memory.take(2, 100, &all[..2]).len(), 2);
        assert_eq!(log_memory.open.0.len(), 2);
        let mut log_memory = LogMemory::restore(Some(&log_memory.save()));
        assert_eq!(log_memory.take(3, 100, &all).len(), 1);
        let open = log_memory.open.0.iter();
        let left: Vec<_> = open
            .map(|(key, one)| (key.as_str(), one.critical))
            .collect();
        assert_eq!(left, [("Memory #0x01 Uncorrectable ECC", true)]);
    }

    #[test]
    fn another_program_has_no_news() {
        let all = log::parse(LOG);
        let other = log::parse(&LOG.replace("#0x30", "1A"));
        let mut log_memory = LogMemory::default();
        log_memory.take(1, 100, &[]);
        log_memory.read_by("racadm");
        assert_eq!(log_memory.take(2, 100, &other[..1]).len(), 1);
        let mut log_memory = LogMemory::restore(Some(&log_memory.save()));
        log_memory.read_by("racadm");
        assert_eq!(log_memory.take(3, 100, &other[..2]).len(), 1);
        log_memory.read_by("ipmitool");
        assert_eq!(log_memory.take(4, 100, &all[..2]).len(), 0);
        assert_eq!(log_memory.take(5, 100, &all).len(), 1);
    }

    /// What earlier versions kept.
    #[test]
    fn an_upgrade_forgets_nothing() {
        let saved = r#"{"seen":{"ids":[],"power":{}},"open":{"Fan #0x30 Lower Critical going low":{"since":1,"when":"x","critical":false}}}"#;
        assert_eq!(LogMemory::restore(Some(saved)).open.0.len(), 1);
    }

    proptest! {
        #[test]
        fn any_saved_text_is_survived(text in any::<String>()) {
            LogMemory::restore(Some(&text));
        }
    }
}
