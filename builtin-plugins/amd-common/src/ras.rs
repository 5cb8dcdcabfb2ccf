//! Error counters of the GPU's blocks (RAS), `ras/‹block›_err_count`, from `amdgpu_ras.c` (`amdgpu_ras_sysfs_read`):
//!
//! ```text
//! ue: 0
//! ce: 12
//! de: 0
//! ```
//!
//! Uncorrected, corrected and (in later kernels) deferred errors since the driver was loaded. While the GPU
//! is being reset the file says `Query currently inaccessible`.

use std::collections::BTreeMap;

use gpud_sdk::samples::Samples;
use gpud_sdk::{AccessError, CheckContext, log, state};
use serde_json::json;

/// Counters of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Uncorrected errors.
    pub uncorrected: u64,
    /// Corrected errors.
    pub corrected: u64,
    /// Deferred errors: bad data that was marked (poisoned) and not used so far.
    pub deferred: u64,
}

/// Reads a file; nothing if it has no counter.
pub fn counts(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut found = false;
    for line in text.lines().take(8) {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        let Ok(value) = value.trim().parse() else {
            continue;
        };
        match name {
            "ue" => counts.uncorrected = value,
            "ce" => counts.corrected = value,
            "de" => counts.deferred = value,
            _ => continue,
        }
        found = true;
    }
    found.then_some(counts)
}

/// Key of the growth within a component's values.
const KEY: &str = "growth";
/// Longest text that is kept, bytes; the host takes 64 KiB.
const MAX_BYTES: usize = 60 * 1024;

/// How counters grew, by any key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Growth(BTreeMap<String, Samples>);

impl Growth {
    /// Restores what [`Growth::save`] returned in this boot. The counters restart with each boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<(String, BTreeMap<String, Samples>)> =
            saved.and_then(|saved| serde_json::from_str(saved).ok());
        let of_this_boot = saved.filter(|(boot, _)| boot == boot_id);
        Self(of_this_boot.map(|(_, samples)| samples).unwrap_or_default())
    }

    /// As text.
    pub fn save(&self, boot_id: &str) -> String {
        json!([boot_id, self.0]).to_string()
    }

    /// Out of the component's values.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn load(boot_id: &str) -> Result<Self, AccessError> {
        Ok(Self::restore(state::get_string(KEY)?.as_deref(), boot_id))
    }

    /// Into the component's values, where it changed. More counters than fit are not kept: each check then counts all
    /// that happened since the driver was loaded.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn keep(&self, before: &Self, boot_id: &str) -> Result<(), AccessError> {
        if self == before {
            return Ok(());
        }
        let text = self.save(boot_id);
        if text.len() > MAX_BYTES {
            log!(warn, "{} bytes of counters are not kept", text.len());
            return Ok(());
        }
        state::set(KEY, text.as_bytes())
    }

    /// Growth of a counter within a window of seconds. What a counter that is seen for the first time holds came since
    /// the driver was loaded, so it counts. Counters that never moved are not kept.
    pub fn add(&mut self, context: &CheckContext, window: u64, key: String, value: u64) -> u64 {
        if value == 0 {
            self.0.remove(&key);
            return 0;
        }
        self.0
            .entry(key)
            .or_insert_with(|| Samples::starting_at(0))
            .add(context.now / 1000, window, value)
    }

    /// Forgets counters of other GPUs than these.
    pub fn retain(&mut self, is_here: impl Fn(&str) -> bool) {
        self.0.retain(|key, _| is_here(key));
    }
}

#[cfg(test)]
mod tests;
