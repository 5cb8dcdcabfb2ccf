//! From stored events to a verdict, for checkers whose news come one by one (kernel lines, say) and whose state is
//! judged from the recent ones.
//!
//! A checker names its [`Rule`]s; [`open`] finds what of the history still counts; [`state`] words it. Nothing is kept
//! besides the events themselves, so a verdict survives restarts, and set-healthy (which deletes events) clears it.

use crate::history::StoredEvent;
use crate::{AccessError, CheckContext, Event, EventType, Evidence, Message, Subject, kmsg};

mod judge;
mod process;
mod repeats;
mod seen;
mod wording;

pub use judge::{Incident, Rule, boots, open};
pub use process::{after_process, after_process_name, begins_with_process, names_its_sender};
pub use repeats::Repeats;
pub use seen::{remember_seen, seen_before};
pub use wording::{document, state};

/// Key of the fact that tells devices apart: events of one name and different devices are different incidents.
pub const DEVICE: &str = "device";
/// Most messages that a look back gives.
const MAX_MESSAGES: u32 = 4_096;
/// Longest text that is taken from a kernel line into an event, bytes.
const MAX_TEXT: usize = 512;

/// Was this line written by the kernel, or by someone who wants to see what the kernel's line would do?
///
/// User space can write into the log, but never as facility 0. Facility 5 is what `gpud inject-fault` writes, 1 what
/// `echo … > /dev/kmsg` does; both need root. Lines of services (3, 4, 9 …), which systemd and journald may copy into the
/// log with names that anyone chose, are not the kernel's word. journald copies lines of any user with facility 1 or 5 as
/// well; these have their sender's number in them ([`names_its_sender`]).
pub fn is_kernel_line(message: &Message) -> bool {
    match message.facility {
        0 => true,
        1 | 5 => !names_its_sender(&message.text),
        _ => false,
    }
}

/// Whether a driver or another part of the kernel chose the beginning of this line: it is a kernel line
/// ([`is_kernel_line`]) that does not begin with the name of a process ([`begins_with_process`]).
///
/// A checker that looks at the beginning of a line asks this, not [`is_kernel_line`]: a program that is called `NVRM: x`
/// and crashes gets a line that begins like the driver's.
pub fn is_driver_line(message: &Message) -> bool {
    is_kernel_line(message) && !begins_with_process(&message.text)
}

/// May what sysfs and procfs say be said of these messages, or may they be of another machine? A saved log is judged
/// without a boot id.
pub fn are_of_this_machine(context: &CheckContext) -> bool {
    !context.boot_id.is_empty()
}

/// The messages in the kernel log that match any of the patterns, oldest first, for a look at the moment; nothing when
/// the log cannot be read, which is no trouble of the machine (not root, or a container without it).
///
/// # Errors
/// As [`kmsg::read_back`], but for `denied` and `not-found`.
pub fn read_log(patterns: &[&str]) -> Result<Option<Vec<Message>>, AccessError> {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    match kmsg::read_back(&patterns, MAX_MESSAGES) {
        Ok(log) => Ok(Some(log.messages)),
        Err(AccessError::Denied(_) | AccessError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content of a kernel line from which an event is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// Name of the event.
    pub name: &'static str,
    /// How serious it is by itself.
    pub event_type: EventType,
    /// For a person. The same for all repeats, since the first one's is kept.
    pub message: String,
    /// Which device (or what else tells sightings of one name apart); may be empty.
    pub device: String,
    /// Further facts.
    pub facts: Vec<(&'static str, String)>,
    /// The device as a subject.
    pub subject: Option<Subject>,
}

impl Sighting {
    /// A sighting without device and facts.
    pub fn new(name: &'static str, event_type: EventType, message: impl Into<String>) -> Self {
        Self {
            name,
            event_type,
            message: message.into(),
            device: String::new(),
            facts: Vec::new(),
            subject: None,
        }
    }

    /// Of this device.
    pub fn of(mut self, device: impl Into<String>) -> Self {
        self.device = device.into();
        self
    }

    /// With a fact; an empty one is left out.
    pub fn fact(mut self, key: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.facts.push((key, value));
        }
        self
    }

    /// The event. Repeats of the same name and device within one boot and one window are counted, where windows begin at
    /// multiples of `window_seconds`; [`Repeats::event`] counts from the first instead.
    pub fn event(self, context: &CheckContext, message: &Message, window_seconds: u32) -> Event {
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        let time = message.time.min(context.now);
        let device = clip(&self.device);
        let key = format!("{} {} {device}", context.boot_id, self.name);
        let mut event = Event::new(time, self.name, self.event_type, clip(&self.message))
            .merged_by(key, window_seconds);
        event.subject = self.subject;
        event.evidence.push(Evidence::Kmsg(message.sequence));
        if !device.is_empty() {
            event
                .extra_info
                .push((DEVICE.to_owned(), device.to_owned()));
        }
        let facts = self.facts.into_iter();
        event
            .extra_info
            .extend(facts.map(|(key, value)| (key.to_owned(), clip(&value).to_owned())));
        event
    }
}

/// The device of an event, if it names one; else empty.
pub fn device(event: &Event) -> &str {
    fact(event, DEVICE).unwrap_or_default()
}

/// A fact of an event.
pub fn fact<'a>(event: &'a Event, key: &str) -> Option<&'a str> {
    let found = event.extra_info.iter().find(|(name, _)| name == key)?;
    Some(&found.1)
}

/// The history that storing these events (oldest first) would give, newest first: for a look at the moment, without a
/// store. Repeats are counted as the store counts them.
pub fn as_stored(events: Vec<Event>) -> Vec<StoredEvent> {
    let mut stored: Vec<StoredEvent> = Vec::new();
    for event in events {
        let window = |event: &Event| {
            let rule = event.merge.as_ref()?;
            let length = u64::from(rule.window_seconds.max(1)) * 1000;
            Some((rule.key.clone(), event.time / length))
        };
        let same = |other: &&mut StoredEvent| {
            other.event.name == event.name
                && event.merge.is_some()
                && window(&other.event) == window(&event)
        };
        match stored.iter_mut().find(same) {
            Some(known) => {
                known.count += 1;
                known.last_time = known.last_time.max(event.time);
            }
            None => stored.push(StoredEvent {
                last_time: event.time,
                count: 1,
                event,
            }),
        }
    }
    stored.reverse();
    stored
}

/// The beginning of a text out of a kernel line: the host refuses messages of more than 4 KiB, and with one of them all
/// events of its batch.
pub fn clip(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests;
