//! Errors of disks over time, and which disks ever reported their health.

use std::collections::BTreeMap;

use gpud_sdk::samples::Samples;
use serde::{Deserialize, Serialize};

/// Disks that are kept: some 40 bytes each while nothing happens, and the host takes 64 KiB of a value.
const MAX_DISKS: usize = 256;

/// Of one disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct DiskCounters {
    serial: String,
    errors: Option<Samples>,
    cable: Option<Samples>,
}

/// The state that is retained from check to check, by the disk's name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters(BTreeMap<String, DiskCounters>);

/// Growth within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Growth {
    /// Errors of the medium.
    pub errors: u64,
    /// Transfers that failed.
    pub cable: u64,
}

impl Counters {
    /// From what [`Counters::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a disk of this name reported its health before.
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The serial number of a disk that did.
    pub fn serial(&self, name: &str) -> Option<&str> {
        let serial = self.0.get(name)?.serial.as_str();
        (!serial.is_empty()).then_some(serial)
    }

    /// The names of all that did.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Forgets those of other names: somebody has taken them out.
    pub fn forget_all_but(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_there(name));
    }

    /// Takes the counters of a disk at a moment (seconds). Another serial number is another disk.
    pub fn take(
        &mut self,
        now: u64,
        window: u64,
        name: &str,
        serial: &str,
        errors: Option<u64>,
        cable: Option<u64>,
    ) -> Growth {
        if self.0.len() >= MAX_DISKS && !self.knows(name) {
            return Growth::default();
        }
        let disk = self.0.entry(name.to_owned()).or_default();
        if disk.serial != serial {
            *disk = DiskCounters {
                serial: serial.to_owned(),
                ..DiskCounters::default()
            };
        }
        let grown = |samples: &mut Option<Samples>, count: Option<u64>| {
            // Errors that were counted before the first check may be old.
            count.map_or(0, |count| {
                samples
                    .get_or_insert_with(|| Samples::starting_at(count))
                    .add(now, window, count)
            })
        };
        Growth {
            errors: grown(&mut disk.errors, errors),
            cable: grown(&mut disk.cable, cable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_new_of_the_same_disk() {
        let (now, day) = (1_800_000_000, 86_400);
        let mut counters = Counters::default();
        let mut take = |after, serial, errors| {
            counters = Counters::restore(Some(&counters.save()));
            let growth = counters.take(now + after, day, "nvme0", serial, Some(errors), None);
            (growth.errors, growth.cable)
        };
        assert_eq!(take(0, "A", 5), (0, 0));
        assert_eq!(take(60, "A", 8), (3, 0));
        assert_eq!(take(120, "B", 90), (0, 0));
        assert_eq!(take(180, "B", 91), (1, 0));
        assert_eq!(take(3 * day, "B", 91), (0, 0));
        assert!(counters.knows("nvme0") && !counters.knows("nvme1"));
        assert_eq!(counters.names().count(), 1);
    }

    #[test]
    fn all_fit_one_value() {
        let mut counters = Counters::default();
        for number in 0..300 {
            counters.take(
                1,
                86_400,
                &format!("bus/0 [megaraid,{number}]"),
                "S4XXNX0M123456",
                Some(7),
                Some(7),
            );
        }
        assert!(counters.save().len() < 60_000, "{}", counters.save().len());
    }

    proptest! {
        #[test]
        fn any_saved_text_is_survived(text in any::<String>()) {
            Counters::restore(Some(&text));
        }
    }
}
