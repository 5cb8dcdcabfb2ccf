//! Counts how often an event happened, where its message reports several.

use std::collections::HashMap;

use super::CountedMessage;
use crate::model::{Event, Evidence, UnixMillis};

/// Returns how often each event happened. The message of an event is known by the event's evidence, or else by its time,
/// where the messages of that time and their events are equally many.
pub(super) fn of_events(events: &[Event], messages: &[CountedMessage]) -> Vec<u64> {
    let mut counts = vec![1; events.len()];
    if messages.iter().all(|(_, count)| *count == 1) {
        return counts;
    }
    let mut by_sequence: HashMap<u64, u64> = HashMap::new();
    let mut by_time: HashMap<UnixMillis, Vec<u64>> = HashMap::new();
    for (message, count) in messages {
        let known = by_sequence.entry(message.sequence).or_default();
        *known = (*known).max(*count);
        by_time.entry(message.time).or_default().push(*count);
    }
    let mut silent: HashMap<UnixMillis, Vec<usize>> = HashMap::new();
    for (at, (event, count)) in events.iter().zip(&mut counts).enumerate() {
        let sequences = event.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Kmsg(sequence) => by_sequence.get(sequence),
            _ => None,
        });
        match sequences.max() {
            Some(most) => *count = *most,
            None => silent.entry(event.time).or_default().push(at),
        }
    }
    for (time, places) in silent {
        let of_messages = by_time.get(&time).map_or(&[][..], Vec::as_slice);
        if of_messages.len() != places.len() {
            continue;
        }
        for (place, count) in places.into_iter().zip(of_messages) {
            if let Some(known) = counts.get_mut(place) {
                *known = *count;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::node::kmsg::KernelMessage;

    fn message(sequence: u64, time: u64, count: u64) -> CountedMessage {
        let message = KernelMessage {
            sequence,
            time,
            monotonic_micros: 0,
            level: 6,
            facility: 0,
            text: String::new(),
            dictionary: Vec::new(),
            fragment: false,
        };
        (Arc::new(message), count)
    }

    fn event(time: u64, sequences: &[u64]) -> Event {
        Event {
            time,
            evidence: sequences.iter().copied().map(Evidence::Kmsg).collect(),
            ..Event::default()
        }
    }

    #[test]
    fn the_message_is_known_by_evidence_or_by_time() {
        let messages = [message(1, 10, 1), message(2, 10, 50), message(3, 20, 7)];
        let events = [event(10, &[2]), event(10, &[1]), event(20, &[])];
        assert_eq!(of_events(&events, &messages), [50, 1, 7]);
        // Two messages and two events of a time, in order; one event of two is nobody's.
        let events = [event(10, &[]), event(10, &[])];
        assert_eq!(of_events(&events, &messages), [1, 50]);
        assert_eq!(of_events(&events[..1], &messages), [1]);
        assert_eq!(of_events(&[event(99, &[9])], &messages), [1]);
    }
}
