//! Error counters of links: which there are, what is remembered of them, and by how much they rose since the last check.
//!
//! GPUs before Blackwell count replays, recoveries and CRC errors (`nvmlDeviceGetNvLinkErrorCounter`). Blackwell answers
//! fields of each link instead (`NVML_FI_DEV_NVLINK_COUNT_*` in `nvml.h`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// NVML field of [`Kind::Effective`], by which it is seen whether a GPU has the counters of Blackwell.
pub const EFFECTIVE_FIELD: u32 = 219;

/// The kinds of errors that a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Packets that were sent again.
    Replay,
    /// Trainings of the link after it failed.
    Recovery,
    /// Flow-control digits with a wrong checksum.
    Crc,
    /// Recoveries of the link, successful or not (Blackwell).
    LinkRecovery,
    /// Recoveries that failed (Blackwell).
    FailedRecovery,
    /// Errors of the link's integrity (Blackwell).
    Integrity,
    /// Errors that were left after forward error correction (Blackwell).
    Effective,
}

/// Number of [`Kind`]s.
pub const KINDS: usize = 7;

impl Kind {
    /// All, in the order of [`Values`].
    pub const ALL: [Self; KINDS] = [
        Self::Replay,
        Self::Recovery,
        Self::Crc,
        Self::LinkRecovery,
        Self::FailedRecovery,
        Self::Integrity,
        Self::Effective,
    ];

    /// Returns its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Replay => "replay errors",
            Self::Recovery => "recovery errors",
            Self::Crc => "CRC errors",
            Self::LinkRecovery => "link recoveries",
            Self::FailedRecovery => "failed link recoveries",
            Self::Integrity => "integrity errors",
            Self::Effective => "effective errors",
        }
    }

    /// Returns the NVML field of those that are read by field.
    pub fn field(self) -> Option<u32> {
        match self {
            Self::Replay | Self::Recovery | Self::Crc => None,
            Self::LinkRecovery => Some(215),
            Self::FailedRecovery => Some(214),
            Self::Integrity => Some(211),
            Self::Effective => Some(EFFECTIVE_FIELD),
        }
    }

    /// Returns whether any rise means that the link fails; a rise of the others is a warning.
    pub fn is_grave(self) -> bool {
        !matches!(self, Self::Crc | Self::Integrity | Self::Effective)
    }
}

/// Counters of one link, in the order of [`Kind::ALL`]; `None` where one cannot be read.
pub type Values = [Option<u64>; KINDS];

/// What is remembered from check to check: the counters of each GPU's links, by UUID and number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Counters begin again with the driver, and so with a boot.
    boot: String,
    links: BTreeMap<String, BTreeMap<u32, Values>>,
}

/// A counter that is larger than at the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rise {
    /// The link.
    pub link: u32,
    /// The counter.
    pub kind: Kind,
    /// By how much; at least 1.
    pub by: u64,
}

impl Memory {
    /// Takes what a GPU says of its links now, and returns what rose. Nothing rises at a first look, and a counter that is
    /// smaller than before has begun again.
    pub fn update(
        &mut self,
        boot: &str,
        uuid: &str,
        links: impl Iterator<Item = (u32, Values)>,
    ) -> Vec<Rise> {
        if self.boot != boot {
            self.boot = boot.to_owned();
            self.links.clear();
        }
        let known = self.links.entry(uuid.to_owned()).or_default();
        let mut rises = Vec::new();
        for (link, values) in links {
            let before = known.entry(link).or_default();
            for ((kind, now), before) in Kind::ALL.into_iter().zip(values).zip(before.iter_mut()) {
                let Some(now) = now else { continue };
                let by = before.map_or(0, |before| now.saturating_sub(before));
                if by > 0 {
                    rises.push(Rise { link, kind, by });
                }
                *before = Some(now);
            }
        }
        rises
    }

    /// Forgets GPUs that are not among these.
    pub fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.links.retain(|uuid, _| is_there(uuid));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(replay: u64, crc: Option<u64>) -> Values {
        [Some(replay), None, crc, None, None, None, None]
    }

    #[test]
    fn only_what_rose_since_the_last_look_counts() {
        let mut memory = Memory::default();
        let mut look = |boot: &str, link: Values| {
            let rises = memory.update(boot, "GPU-1", [(4, link)].into_iter());
            let rises = rises.iter().map(|rise| (rise.link, rise.kind, rise.by));
            rises.collect::<Vec<_>>()
        };
        assert_eq!(look("b0", values(5, Some(7))), [], "the first look");
        assert_eq!(look("b0", values(5, Some(7))), []);
        let both = [(4, Kind::Replay, 1), (4, Kind::Crc, 3)];
        assert_eq!(look("b0", values(6, Some(10))), both);
        assert_eq!(look("b0", values(6, None)), [], "not readable for once");
        assert_eq!(look("b0", values(6, Some(11))), [(4, Kind::Crc, 1)]);
        assert_eq!(
            look("b0", values(0, Some(11))),
            [],
            "the driver was loaded again"
        );
        assert_eq!(look("b0", values(2, Some(11))), [(4, Kind::Replay, 2)]);
        assert_eq!(look("b1", values(9, Some(90))), [], "another boot");
    }

    #[test]
    fn gpus_that_are_gone_are_forgotten() {
        let mut memory = Memory::default();
        memory.update("b0", "GPU-1", [(0, values(1, None))].into_iter());
        memory.retain(|uuid| uuid != "GPU-1");
        assert!(memory.links.is_empty());
    }

    #[test]
    fn seventy_two_gpus_fit_what_a_checker_may_store() {
        let mut memory = Memory::default();
        let full = [Some(u64::from(u32::MAX)); KINDS];
        for gpu in 0..72 {
            let uuid = format!("GPU-00000000-0000-0000-0000-{gpu:012}");
            memory.update("b0", &uuid, (0..18).map(|link| (link, full)));
        }
        let stored = serde_json::to_vec(&memory).unwrap();
        // Bound of the host on one value is 64 KiB; GPUs of Blackwell do not have the first three counters, older ones not
        // the last four.
        assert!(stored.len() / 2 < 64 << 10, "{}", stored.len());
    }

    proptest! {
        #[test]
        fn a_rise_is_never_more_than_the_counter(looks in prop::collection::vec(prop::option::of(any::<u64>()), 1..20)) {
            let mut memory = Memory::default();
            for now in looks {
                for rise in memory.update("b0", "GPU-1", [(0, [now; KINDS])].into_iter()) {
                    prop_assert!(rise.by >= 1 && Some(rise.by) <= now);
                }
            }
        }
    }
}
