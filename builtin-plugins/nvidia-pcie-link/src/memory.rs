//! Counts the checks in a row with the same result, by GPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Streak {
    /// Checks that found fewer lanes than there could be.
    pub narrow: u64,
    /// Checks that found a lower generation than there could be, while it was busy.
    pub slow: u64,
}

/// The retained state; GPUs without trouble are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// In which boot.
    pub boot_id: String,
    /// By UUID.
    pub streaks: BTreeMap<String, Streak>,
}

impl Memory {
    /// Of a GPU, if it is of this boot.
    pub fn of(&self, boot_id: &str, uuid: &str) -> Streak {
        let streak = self.streaks.get(uuid).copied();
        streak
            .filter(|_| self.boot_id == boot_id)
            .unwrap_or_default()
    }
}
