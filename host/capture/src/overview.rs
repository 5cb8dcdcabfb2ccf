//! The content of a file, without its messages.

use super::{Clock, Unparsable, file::Counts, file_tracker::Logs, format::Format};
use crate::model::UnixMillis;

/// What a file holds, its messages aside. Fields that [`super::Capture`] has too mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The format that most lines have; `None` if no line has any.
    pub format: Option<Format>,
    /// The hosts, in the order in which they appear.
    pub logs: Vec<LogOverview>,
    /// Lines that other programs than the kernel logged.
    pub skipped: u64,
    /// Lines that fit no format.
    pub unparsable: u64,
    /// The first of them.
    pub first_unparsable: Option<Unparsable>,
    /// Lines of which only the beginning was read.
    pub cut: u64,
    /// The missing part of a compressed file, in words.
    pub damaged: Option<String>,
    /// Stamps had no year.
    pub years_guessed: bool,
    /// Stamps had no zone that is known.
    pub zone_assumed: bool,
    /// There were more boots than are distinguished; the later ones are judged as one.
    pub boots_merged: bool,
}

/// The content of one host's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOverview {
    /// The host's name, where lines have it.
    pub host: Option<String>,
    /// How many messages there are.
    pub messages: u64,
    /// The clock of the messages' `time`.
    pub clock: Clock,
    /// How many boots there are.
    pub boots: usize,
    /// When each boot but the first began, Unix milliseconds: no later than what came after it.
    pub boot_times: Vec<UnixMillis>,
    /// The latest time of any message, Unix milliseconds.
    pub end: UnixMillis,
}

impl Overview {
    /// Makes the overview of a file that was read to its end.
    pub(super) fn new(counts: Counts, logs: &Logs) -> Self {
        let of_log = |(host, timeline): &(Option<String>, super::timeline::Timeline)| LogOverview {
            host: host.clone(),
            messages: timeline.count,
            clock: timeline.clock,
            boots: timeline.boots.len(),
            boot_times: timeline.boot_times(),
            end: timeline.end(),
        };
        Self {
            format: counts.format,
            logs: logs.logs.iter().map(of_log).collect(),
            skipped: counts.skipped,
            unparsable: counts.unparsable,
            first_unparsable: counts.first_unparsable,
            cut: counts.cut,
            damaged: counts.damaged,
            years_guessed: counts.years_guessed,
            zone_assumed: counts.zone_assumed,
            boots_merged: logs.boots_merged,
        }
    }

    /// How many messages there are, of all hosts.
    pub fn message_count(&self) -> u64 {
        self.logs.iter().map(|log| log.messages).sum()
    }
}
