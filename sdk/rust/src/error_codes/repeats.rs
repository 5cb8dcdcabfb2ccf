//! Repeats of one error that are delivered together: the store has one event with the facts of the first line, so the
//! others add theirs.

use std::collections::BTreeMap;

use crate::Event;
use crate::incidents::fact;

/// Longest list of values of one fact, bytes.
const MAX_LIST: usize = 256;

/// Adds facts with these keys to the first of the events that the store merges.
pub fn fold(events: &mut [Event], keys: &[&str]) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for at in 0..events.len() {
        let Some(rule) = events.get(at).and_then(|event| event.merge.as_ref()) else {
            continue;
        };
        let Some(&to) = first.get(&rule.key) else {
            first.insert(rule.key.clone(), at);
            continue;
        };
        let Ok([target, repeat]) = events.get_disjoint_mut([to, at]) else {
            continue;
        };
        for key in keys {
            if let Some(value) = fact(repeat, key) {
                add(&mut target.extra_info, key, value);
            }
        }
    }
}

/// Adds a value to a list with commas, unless it is there.
fn add(facts: &mut Vec<(String, String)>, key: &str, value: &str) {
    match facts.iter_mut().find(|(known, _)| known == key) {
        None => facts.push((key.to_owned(), value.to_owned())),
        Some((_, list)) => {
            let is_there = list.split(", ").any(|known| known == value);
            if !is_there && list.len() + value.len() < MAX_LIST {
                list.push_str(", ");
                list.push_str(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::EventType;

    use super::*;

    fn event(key: &str, facts: &[(&str, &str)]) -> Event {
        let mut event = Event::new(1, "x", EventType::Info, "").merged_by(key.to_owned(), 60);
        let facts = facts.iter();
        event.extra_info = facts
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        event
    }

    #[test]
    fn the_first_has_the_facts_of_all() {
        let mut events = [
            event("a", &[("pid", "1")]),
            event("b", &[("pid", "9")]),
            event("a", &[("pid", "2"), ("link", "3"), ("other", "x")]),
            event("a", &[("pid", "1")]),
        ];
        fold(&mut events, &["pid", "link"]);
        assert_eq!(fact(&events[0], "pid"), Some("1, 2"));
        assert_eq!(fact(&events[0], "link"), Some("3"));
        assert_eq!(fact(&events[0], "other"), None);
        assert_eq!(fact(&events[1], "pid"), Some("9"));
    }

    #[test]
    fn a_flood_of_processes_is_bounded() {
        let mut events: Vec<Event> = (0..1000)
            .map(|pid| event("a", &[("pid", &pid.to_string())]))
            .collect();
        fold(&mut events, &["pid"]);
        assert!(fact(&events[0], "pid").unwrap().len() <= MAX_LIST + 2);
    }
}
