//! Kubernetes Events: repeats are counted in one Event, and no more than a few are sent in a minute.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    plan::{Change, timestamp},
    verdicts::shorten,
    view::NodeView,
};
use crate::{UnixMillis, record::new_id};

/// Where Events about nodes are.
pub const NAMESPACE: &str = "default";
/// Most requests at once.
const BURST: u32 = 10;
/// One more request is allowed after this time, milliseconds.
const REFILL_MS: u64 = 30_000;
/// A repeat within this time is counted in the Event that is there. The API server forgets an Event after an hour.
const SAME_EVENT_MS: u64 = 2_700_000;
/// Longest message, bytes; the API refuses a longer one.
const MAX_MESSAGE: usize = 1000;
/// Most bytes of the node's name in an Event's name.
const MAX_NAME: usize = 200;

/// The identity of an Event, by which repeats are recognised: condition, reason, and whether it is a fault.
type Key = (String, String, bool);

/// Events that wait, and those that were sent.
#[derive(Debug, Default)]
pub struct Events {
    waiting: BTreeMap<Key, PendingEvent>,
    sent: BTreeMap<Key, SentEvent>,
    used: u32,
    refilled: UnixMillis,
}

#[derive(Debug, Clone, PartialEq)]
struct PendingEvent {
    count: u64,
    first: UnixMillis,
    last: UnixMillis,
    message: String,
    /// Chosen once, so that a request that is sent again makes no second Event.
    name: String,
}

#[derive(Debug, Clone, PartialEq)]
struct SentEvent {
    name: String,
    count: u64,
    last: UnixMillis,
}

/// A request to make.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRequest {
    key: Key,
    /// Name of the Event.
    pub name: String,
    /// True if the Event is there and gets a count, false if it is new.
    pub is_repeat: bool,
    /// The Event, or the merge patch.
    pub body: Value,
    count: u64,
    /// How many of those that wait it includes.
    included: u64,
    last: UnixMillis,
}

impl Events {
    /// Takes a change, which is sent as soon as the limit allows.
    pub fn add(&mut self, change: &Change, node: &str, now: UnixMillis) {
        let mut message = change.message.clone();
        shorten(&mut message, MAX_MESSAGE);
        let key = (
            change.condition.clone(),
            change.reason.clone(),
            change.is_fault,
        );
        let waiting = self.waiting.entry(key).or_insert_with(|| PendingEvent {
            count: 0,
            first: now,
            last: now,
            message: String::new(),
            name: event_name(node, now),
        });
        waiting.count += 1;
        waiting.last = now;
        waiting.message = message;
    }

    /// Returns true if something waits.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the next request, if one waits and the limit allows it; the one that has waited longest is first.
    pub fn next(&mut self, view: &NodeView, now: UnixMillis) -> Option<EventRequest> {
        self.refill(now);
        if self.used >= BURST {
            return None;
        }
        let (key, waiting) = self.waiting.iter().min_by_key(|(_, w)| w.first)?;
        self.sent
            .retain(|_, sent| now.abs_diff(sent.last) < SAME_EVENT_MS);
        let known = self.sent.get(key);
        let (condition, reason, is_fault) = key;
        let count = waiting.count + known.map_or(0, |sent| sent.count);
        let body = match known {
            Some(_) => json!({
                "count": count,
                "lastTimestamp": timestamp(waiting.last),
                "message": waiting.message,
            }),
            None => json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": waiting.name,
                    "namespace": NAMESPACE,
                    "annotations": {"gpud.dev/condition": condition},
                },
                "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": view.name, "uid": view.uid},
                "reason": reason,
                "message": waiting.message,
                "type": if *is_fault { "Warning" } else { "Normal" },
                "source": {"component": "gpud", "host": view.name},
                "firstTimestamp": timestamp(waiting.first),
                "lastTimestamp": timestamp(waiting.last),
                "count": count,
                "reportingComponent": "gpud",
                "reportingInstance": view.name,
            }),
        };
        Some(EventRequest {
            key: key.clone(),
            name: known.map_or(&waiting.name, |sent| &sent.name).clone(),
            is_repeat: known.is_some(),
            body,
            count,
            included: waiting.count,
            last: waiting.last,
        })
    }

    /// Notes that a request was answered with success.
    pub fn done(&mut self, outgoing: EventRequest) {
        self.used += 1;
        self.forget_waiting(&outgoing);
        let EventRequest {
            key,
            name,
            count,
            last,
            ..
        } = outgoing;
        self.sent.insert(key, SentEvent { name, count, last });
    }

    /// Notes that the Event of a repeat is no longer there: a new one is made.
    pub fn is_gone(&mut self, outgoing: &EventRequest) {
        self.sent.remove(&outgoing.key);
    }

    /// Gives up what the server will never take.
    pub fn give_up(&mut self, outgoing: &EventRequest) {
        self.used += 1;
        self.forget_waiting(outgoing);
    }

    fn forget_waiting(&mut self, outgoing: &EventRequest) {
        if let Some(waiting) = self.waiting.get_mut(&outgoing.key) {
            waiting.count = waiting.count.saturating_sub(outgoing.included);
            // Another Event needs another name.
            let node = outgoing.name.rsplit_once('.');
            waiting.name = event_name(node.map_or("", |(node, _)| node), outgoing.last);
            if waiting.count == 0 {
                self.waiting.remove(&outgoing.key);
            }
        }
    }

    fn refill(&mut self, now: UnixMillis) {
        // After the clock was set back the time counts from there.
        let passed = now.saturating_sub(self.refilled);
        if self.used == 0 || now < self.refilled {
            self.refilled = now;
            return;
        }
        let more = passed / REFILL_MS;
        self.used = self
            .used
            .saturating_sub(u32::try_from(more).unwrap_or(u32::MAX));
        self.refilled = self.refilled.saturating_add(more.saturating_mul(REFILL_MS));
    }
}

/// Makes a name that no other Event has.
fn event_name(node: &str, now: UnixMillis) -> String {
    let node = node.get(..node.floor_char_boundary(MAX_NAME)).unwrap_or("");
    format!(
        "{}.{}",
        node.trim_end_matches(['.', '-']),
        new_id(now).simple()
    )
}

/// Makes the Event of a sample.
pub fn sample(view: &NodeView, now: UnixMillis) -> Value {
    let change = Change {
        condition: "none".to_owned(),
        reason: "GpudExportTest".to_owned(),
        message: "a sample that was sent to try this export; nothing is wrong".to_owned(),
        is_fault: false,
    };
    let mut events = Events::default();
    events.add(&change, &view.name, now);
    events
        .next(view, now)
        .map_or(Value::Null, |outgoing| outgoing.body)
}
