//! The events of one component and a whole log, in bounded memory: repeats are counted, and when there are too many
//! different ones, the worst and the newest stay.

use std::collections::HashMap;

use super::shape::Shapes;
use crate::{
    model::{Event, EventType},
    store::StoredEvent,
};

/// Events of one shape that are stored one by one; further ones are counted. More than any checker's threshold.
const SINGLE: usize = 16;
/// Most events that are stored.
const MAX_EVENTS: usize = 1000;
/// How many of the newest events stay whatever their severity is.
const NEWEST: usize = MAX_EVENTS / 4;
/// From this number on the least important events are removed.
const FULL: usize = 2 * MAX_EVENTS;

/// Counts events that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OmittedEvents {
    /// How many, repeats included.
    pub events: u64,
    /// The worst of them.
    pub worst: EventType,
}

/// Takes events in the order of the log.
#[derive(Debug, Default)]
pub(super) struct MergedEvents {
    shapes: Shapes,
    groups: HashMap<u64, Group>,
    /// Rows of all groups.
    rows: usize,
    left_out: OmittedEvents,
}

/// Events of one shape.
#[derive(Debug, Default)]
struct Group {
    /// The first, one by one.
    single: Vec<StoredEvent>,
    /// All that came after them.
    repeats: Option<StoredEvent>,
}

impl MergedEvents {
    /// Adds an event of the log's boot number `boot`, which happened `times` times.
    pub fn add(&mut self, event: Event, boot: usize, times: u64) {
        let shape = self.shapes.of(&event, boot);
        let group = self.groups.entry(shape).or_default();
        let time = event.time;
        let mut known = group.single.iter_mut().rev();
        if let Some(row) = known.find(|row| is_same(&row.event, &event)) {
            count(row, &event, times);
        } else if let Some(repeats) = &mut group.repeats {
            count(repeats, &event, times);
        } else {
            let row = StoredEvent {
                event,
                count: times,
                last_time: time,
            };
            match group.single.len() < SINGLE {
                true => group.single.push(row),
                false => group.repeats = Some(row),
            }
            self.rows += 1;
            if self.rows >= FULL {
                self.shrink();
            }
        }
    }

    /// Returns the events, newest first, and those that were left out.
    pub fn finish(mut self) -> (Vec<StoredEvent>, OmittedEvents) {
        if self.rows > MAX_EVENTS {
            self.shrink();
        }
        let groups = self.groups.into_values();
        let mut events: Vec<StoredEvent> = groups.flat_map(Group::into_rows).collect();
        events.sort_by_key(|row| std::cmp::Reverse((row.event.time, row.last_time)));
        (events, self.left_out)
    }

    /// Removes the least important events.
    fn shrink(&mut self) {
        let mut rows: Vec<(u64, StoredEvent)> = Vec::with_capacity(self.rows);
        for (shape, group) in self.groups.drain() {
            rows.extend(group.into_rows().map(|row| (shape, row)));
        }
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.last_time));
        let rest = rows.get_mut(NEWEST..).unwrap_or_default();
        rest.sort_by_key(|(_, row)| {
            std::cmp::Reverse((weight(&row.event.event_type), row.last_time))
        });
        for (_, row) in rows.drain(MAX_EVENTS.min(rows.len())..) {
            self.left_out.events += row.count;
            if weight(&row.event.event_type) > weight(&self.left_out.worst) {
                self.left_out.worst = row.event.event_type;
            }
        }
        self.rows = rows.len();
        rows.sort_by_key(|(_, row)| row.event.time);
        for (shape, row) in rows {
            let group = self.groups.entry(shape).or_default();
            match group.single.len() < SINGLE {
                true => group.single.push(row),
                false => group.repeats = Some(row),
            }
        }
    }
}

impl Group {
    fn into_rows(self) -> impl Iterator<Item = StoredEvent> {
        self.single.into_iter().chain(self.repeats)
    }
}

fn count(row: &mut StoredEvent, repeat: &Event, times: u64) {
    row.count = row.count.saturating_add(times);
    row.last_time = row.last_time.max(repeat.time);
    row.event.add_repeat(repeat);
}

/// Whether two events of one shape are the same, as the database sees it.
fn is_same(one: &Event, other: &Event) -> bool {
    let second = |event: &Event| event.time / 1000;
    match (&one.merge, &other.merge) {
        (Some(one_merge), Some(_)) => {
            let window = u64::from(one_merge.window_seconds.max(1));
            second(one) / window == second(other) / window
        }
        _ => {
            second(one) == second(other)
                && one.message == other.message
                && one.extra_info == other.extra_info
        }
    }
}

/// Returns the rank of an event's severity.
fn weight(event_type: &EventType) -> u8 {
    match event_type {
        EventType::Unknown => 0,
        EventType::Info => 1,
        EventType::Warning | EventType::Other(_) => 2,
        EventType::Critical => 3,
        EventType::Fatal => 4,
    }
}

#[cfg(test)]
mod tests;
