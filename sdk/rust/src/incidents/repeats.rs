//! Repeats of one sighting, whichever way they fall within the windows of the clock.
//!
//! A merge rule alone counts by windows that begin at multiples of their length: two lines 41 s apart are two events when a
//! window ends between them. A checker that keeps its [`Repeats`] counts from the first line of a series instead.

use std::collections::BTreeMap;

use super::{Sighting, clip};
use crate::{AccessError, CheckContext, Event, Message, state};

/// The key of the stored series.
const KEY: &str = "repeats";
/// Series that are remembered; the oldest is forgotten first. Each has some 600 bytes at most, and the host takes 64 KiB.
const MAX_SERIES: usize = 96;

/// When each series of sightings began: those of one name and device, in this boot.
///
/// Saved as text: the boot id on the first line, then a line per series, its first time in unix milliseconds, a tab, and
/// what tells it apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repeats {
    boot_id: String,
    first: BTreeMap<String, u64>,
    changed: bool,
}

impl Repeats {
    /// Reads what [`Repeats::changed`] gave. Another boot starts without series; what cannot be read is left out.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let mut lines = saved.unwrap_or_default().lines();
        let same_boot = saved.is_some() && lines.next() == Some(boot_id);
        let series = lines.filter(|_| same_boot).filter_map(|line| {
            let (time, key) = line.split_once('\t')?;
            Some((key.to_owned(), time.parse().ok()?))
        });
        Self {
            first: series.take(MAX_SERIES).collect(),
            boot_id: boot_id.to_owned(),
            changed: false,
        }
    }

    /// Reads the component's own, from its state.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn load(context: &CheckContext) -> Result<Self, AccessError> {
        let saved = state::get_string(KEY)?;
        Ok(Self::restore(saved.as_deref(), &context.boot_id))
    }

    /// Writes them into the component's state, if there is anything new.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn save(&self) -> Result<(), AccessError> {
        match self.changed() {
            Some(text) => state::set(KEY, text.as_bytes()),
            None => Ok(()),
        }
    }

    /// What is to be saved, if a series began since [`Repeats::restore`].
    pub fn changed(&self) -> Option<String> {
        self.changed.then(|| {
            let series = self.first.iter();
            let lines: String = series
                .map(|(key, first)| format!("\n{first}\t{key}"))
                .collect();
            format!("{}{lines}", self.boot_id)
        })
    }

    /// Whether a sighting of this name and device was made in this boot, as far as series are remembered.
    pub fn remembers(&self, name: &str, device: &str) -> bool {
        self.first.contains_key(&series(name, device))
    }

    /// The event of a sighting. Those of one name and device within `window_seconds` after the first are counted.
    pub fn event(
        &mut self,
        sighting: Sighting,
        context: &CheckContext,
        message: &Message,
        window_seconds: u32,
    ) -> Event {
        let series = series(sighting.name, &sighting.device);
        // The window of the rule is all of time; the series' beginning tells its windows apart.
        let mut event = sighting.event(context, message, u32::MAX);
        let first = self.first(series, event.time, u64::from(window_seconds) * 1000);
        if let Some(rule) = &mut event.merge {
            rule.key.push_str(&format!(" since {first}"));
        }
        event
    }

    /// When the series began that a time belongs to.
    fn first(&mut self, series: String, time: u64, window_ms: u64) -> u64 {
        match self.first.get(&series) {
            Some(&first) if time.abs_diff(first) < window_ms => return first,
            _ => {}
        }
        self.changed = true;
        if !self.first.contains_key(&series) && self.first.len() >= MAX_SERIES {
            let oldest = self.first.iter().min_by_key(|(_, first)| **first);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.first.remove(&oldest);
            }
        }
        self.first.insert(series, time);
        time
    }
}

fn series(name: &str, device: &str) -> String {
    format!("{name} {}", clip(device)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventType, Trigger, incidents::as_stored};

    const NOW: u64 = 1_800_000_000_000;

    fn context() -> CheckContext {
        CheckContext {
            component: "c".to_owned(),
            now: NOW,
            trigger: Trigger::Event,
            boot_id: "b-1".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn event(repeats: &mut Repeats, device: &str, time: u64) -> Event {
        let message = Message {
            sequence: 1,
            time,
            level: 3,
            facility: 0,
            text: String::new(),
            dictionary: None,
        };
        let sighting = Sighting::new("lost", EventType::Fatal, "lost").of(device);
        repeats.event(sighting, &context(), &message, 300)
    }

    #[test]
    fn lines_around_the_edge_of_a_window_are_one_event() {
        // 300 s is a multiple of the window: a merge rule alone would count 41 s apart as two.
        let edge = NOW - NOW % 300_000 - 900_000;
        let mut repeats = Repeats::restore(None, "b-1");
        let times = [edge - 40_000, edge + 1_000, edge + 259_000, edge + 260_000];
        let events = times.map(|time| event(&mut repeats, "gpu", time));
        let counts: Vec<u64> = as_stored(events.to_vec())
            .iter()
            .map(|stored| stored.count)
            .collect();
        assert_eq!(counts, [1, 3], "newest first");
    }

    #[test]
    fn devices_boots_and_batches() {
        let mut repeats = Repeats::restore(None, "b-1");
        let first = event(&mut repeats, "a", NOW - 9_000);
        let saved = repeats.changed().unwrap();
        assert_eq!(saved, format!("b-1\n{}\tlost a", NOW - 9_000));
        let mut again = Repeats::restore(Some(&saved), "b-1");
        assert_eq!(event(&mut again, "a", NOW).merge, first.merge);
        assert_eq!(again.changed(), None, "nothing new");
        assert_ne!(event(&mut again, "b", NOW).merge, first.merge);
        assert!(again.remembers("lost", "a") && !again.remembers("lost", "c"));
        let mut next_boot = Repeats::restore(Some(&saved), "b-2");
        assert_ne!(event(&mut next_boot, "a", NOW).merge, first.merge);
    }

    #[test]
    fn is_bounded_and_reads_anything() {
        let mut repeats = Repeats::restore(Some("b-1\nx\ty\n1"), "b-1");
        assert_eq!(repeats.changed(), None);
        for n in 0..1_000 {
            event(
                &mut repeats,
                &format!("{n}\n{}", "é".repeat(5_000)),
                NOW - n,
            );
        }
        let saved = repeats.changed().unwrap();
        assert_eq!(saved.lines().count(), 1 + MAX_SERIES);
    }
}
