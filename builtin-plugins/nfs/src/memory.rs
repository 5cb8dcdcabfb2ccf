//! Which volumes did not let a program end in time, so that they are asked less often: a program that hangs in the
//! kernel cannot be killed, and one more every minute would fill the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Pause after the first time, milliseconds: the next check.
const FIRST_PAUSE_MS: u64 = 50_000;
/// Longest pause.
const LONGEST_PAUSE_MS: u64 = 60 * 60 * 1000;

/// A volume that hung when it was last probed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HungVolume {
    /// How many times in a row.
    pub times: u32,
    /// Not to be asked before, Unix milliseconds.
    pub next: u64,
    /// The reason then.
    pub reason: String,
    /// The error then.
    pub error: String,
}

/// By volume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Volumes that hung the last time.
    pub hung: BTreeMap<String, HungVolume>,
}

impl Memory {
    /// From what [`Memory::save`] gave; anything else is nothing.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text; nothing where there is nothing to remember.
    pub fn save(&self) -> Option<String> {
        if self.hung.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }

    /// Whether a volume is better left alone now.
    pub fn rests(&self, volume: &str, now: u64) -> Option<&HungVolume> {
        // A clock that was set back must not make it rest for ever.
        self.hung
            .get(volume)
            .filter(|hung| (now..=now.saturating_add(LONGEST_PAUSE_MS)).contains(&hung.next))
    }

    /// Remembers that it hung.
    pub fn hangs(&mut self, volume: &str, now: u64, reason: &str, error: &str) {
        let times = self
            .hung
            .get(volume)
            .map_or(0, |hung| hung.times)
            .saturating_add(1);
        let pause = FIRST_PAUSE_MS.saturating_mul(1 << (times - 1).min(20));
        let hung = HungVolume {
            times,
            next: now.saturating_add(pause.min(LONGEST_PAUSE_MS)),
            reason: reason.to_owned(),
            error: error.to_owned(),
        };
        self.hung.insert(volume.to_owned(), hung);
    }

    /// Forgets it: the volume worked.
    pub fn works(&mut self, volume: &str) {
        self.hung.remove(volume);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let mut memory = Memory::default();
        assert_eq!(memory.rests("/a", 0), None);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            memory.hangs("/a", 1_000_000, "r", "e");
            pauses.push((memory.hung["/a"].next - 1_000_000) / 1000);
        }
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 3600, 3600]);
        let next = memory.hung["/a"].next;
        assert!(memory.rests("/a", next).is_some() && memory.rests("/b", next).is_none());
        assert_eq!(memory.rests("/a", next + 1), None);
        assert_eq!(memory.rests("/a", 0), None, "the clock was set back");
        assert_eq!(Memory::restore(memory.save().as_deref()), memory);
        memory.works("/a");
        assert_eq!(
            (memory.save(), Memory::restore(Some("[]x"))),
            (None, Memory::default())
        );
        for _ in 0..100 {
            memory.hangs("/a", u64::MAX, "r", "e");
        }
    }
}
