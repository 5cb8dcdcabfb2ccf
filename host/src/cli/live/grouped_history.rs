//! Groups entries of the history with one cause: a lost GPU changes the health of a dozen checks at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::summary::HistoryEntry;

/// Milliseconds after which a change is of another trouble.
const TOGETHER: u64 = 120_000;

/// Entries of several checks that are shown as one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupedEntry<'l> {
    /// The entry that represents them.
    pub entry: &'l HistoryEntry,
    /// How many checks have such an entry.
    pub checks: usize,
}

impl<'l> GroupedEntry<'l> {
    /// Makes a row of one entry.
    pub fn single(entry: &'l HistoryEntry) -> Self {
        Self { entry, checks: 1 }
    }
}

/// Groups changes of health to the same health, of the same subject, at about the same time. The order is preserved.
pub fn grouped(entries: &[HistoryEntry]) -> Vec<GroupedEntry<'_>> {
    let mut groups: Vec<Vec<&HistoryEntry>> = Vec::new();
    // Where the newest group of each kind is.
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for entry in entries {
        let kind = kind(entry);
        let place = kind.and_then(|kind| places.get(&kind)).copied();
        let group = place.and_then(|place| groups.get_mut(place));
        let is_same = |group: &&mut Vec<&HistoryEntry>| {
            let newest = group.first().map_or(0, |first| time(first));
            newest.abs_diff(time(entry)) <= TOGETHER
        };
        match group.filter(is_same) {
            Some(group) => group.push(entry),
            None => {
                if let Some(kind) = kind {
                    places.insert(kind, groups.len());
                }
                groups.push(vec![entry]);
            }
        }
    }
    let shown = groups.iter().filter_map(|group| {
        let components: BTreeSet<&str> =
            group.iter().map(|entry| entry.component.as_str()).collect();
        Some(GroupedEntry {
            entry: commonest(group)?,
            checks: components.len(),
        })
    });
    shown.collect()
}

/// Returns the key by which entries are grouped: health and subject. `None` for entries that are shown by themselves.
fn kind(entry: &HistoryEntry) -> Option<(&str, &str)> {
    let subject = entry.subject.as_ref()?;
    let name = subject.uuid.as_deref().unwrap_or(&subject.label);
    Some((entry.to.as_deref()?, name))
}

fn time(entry: &HistoryEntry) -> u64 {
    entry.last_time.0.unwrap_or(0)
}

fn words(entry: &HistoryEntry) -> (&str, &str) {
    (&entry.means, &entry.message)
}

/// The newest of the entries whose words most of them have.
fn commonest<'l>(group: &[&'l HistoryEntry]) -> Option<&'l HistoryEntry> {
    let count = |entry: &HistoryEntry| {
        let same = group.iter().filter(|one| words(one) == words(entry));
        same.count()
    };
    // Of equal ones the last is found, and the newest comes first.
    group.iter().rev().max_by_key(|entry| count(entry)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{summary::SubjectView, wire::MetaTime};

    fn change(check: &str, second: u64, message: &str, gpu: &str) -> HistoryEntry {
        HistoryEntry {
            kind: "health".to_owned(),
            component: check.to_owned(),
            to: Some("Unhealthy".to_owned()),
            message: message.to_owned(),
            subject: (!gpu.is_empty()).then(|| SubjectView {
                uuid: Some(gpu.to_owned()),
                ..SubjectView::default()
            }),
            last_time: MetaTime(Some(second * 1000)),
            ..HistoryEntry::default()
        }
    }

    #[test]
    fn what_many_checks_say_of_one_gpu_is_one_row() {
        let event = HistoryEntry {
            to: None,
            ..change("xid", 990, "fell off the bus", "GPU-3")
        };
        let entries = [
            change("fabric", 1000, "the fabric is not up", "GPU-3"),
            change("ecc", 999, "lost", "GPU-3"),
            event.clone(),
            event,
            change("power", 940, "lost", "GPU-3"),
            change("power", 940, "lost", "GPU-4"),
            change("disk", 940, "full", ""),
            change("nfs", 940, "full", ""),
            change("power", 500, "lost", "GPU-3"),
        ];
        let shown: Vec<_> = grouped(&entries)
            .into_iter()
            .map(|found| (found.entry.component.as_str(), found.checks))
            .collect();
        let expected = [
            ("ecc", 3),
            ("xid", 1),
            ("xid", 1),
            ("power", 1),
            ("disk", 1),
            ("nfs", 1),
            ("power", 1),
        ];
        assert_eq!(shown, expected);
        assert!(grouped(&[]).is_empty());
    }
}
