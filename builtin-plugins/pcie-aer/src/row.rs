//! Turns parsed lines into events.
//!
//! Which, and of what type: `catalog/patterns.json`.
//!
//! An error takes several lines, and the kernel log is handed over in batches that may cut it. Its event is made at the
//! end of its batch, so that none waits for lines that may never come.

use std::collections::BTreeMap;

use gpud_sdk::boots::BOOT;
use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::{CheckContext, Event, EventType, Evidence, Message};

use crate::device::Device;
use crate::line::{Kind, Line, LineContent, Severity};
use crate::patterns;

/// Event names that the verdict looks for.
pub const CORRECTED: &str = patterns::PCIE_AER_CORRECTED.name;
/// See [`CORRECTED`].
pub const NONFATAL: &str = patterns::PCIE_AER_NONFATAL.name;
/// See [`CORRECTED`].
pub const FATAL: &str = patterns::PCIE_AER_FATAL.name;
/// See [`CORRECTED`].
pub const CONTAINED: &str = patterns::PCIE_DPC_CONTAINMENT.name;
/// See [`CORRECTED`].
pub const RECOVERED: &str = patterns::PCIE_AER_RECOVERED.name;
/// See [`CORRECTED`].
pub const FAILED: &str = patterns::PCIE_AER_RECOVERY_FAILED.name;

/// Facts of an event: PCI id.
pub const DEVICE: &str = "device";
/// What the device is, for people.
pub const TITLE: &str = "device_name";
/// PCI ids of the ports above it, by spaces, the root port first; not there for a device that was not found.
pub const ABOVE: &str = "ports_above";

/// Errors that a link lives with come in floods: one event an hour, with a count.
const LONG_WINDOW: u32 = 3_600;
/// Of all others the time matters.
const SHORT_WINDOW: u32 = 60;
/// Devices that are looked up for one batch; a batch of more names the others by their ids alone.
const MAX_LOOKUPS: usize = 32;
/// Kernel log records and kinds that an event of one error holds.
const MAX_PARTS: usize = 16;
/// Longest text of the log in a message.
const MAX_TEXT: usize = 80;

/// An error of which more lines may come.
struct Open<'a> {
    device: &'a str,
    begin: ErrorStart<'a>,
    fatal_bits: Option<u32>,
    place: Option<(&'a str, &'a str)>,
    kinds: Vec<&'static Kind>,
    time: u64,
    sequences: Vec<u64>,
}

/// How an error began.
#[derive(Clone, Copy)]
enum ErrorStart<'a> {
    Error(Severity, &'a str, &'a str),
    /// The firmware hands it over: bits of what happened.
    Status(u32),
    /// In an earlier batch.
    Before,
}

impl Open<'_> {
    /// How serious, as far as the lines tell.
    fn severity(&self) -> Option<Severity> {
        let lost = self.kinds.iter().any(|kind| !kind.correctable);
        match (self.begin, self.fatal_bits) {
            (ErrorStart::Error(severity, ..), _) => Some(severity),
            (ErrorStart::Status(status), Some(fatal)) if status & fatal != 0 => {
                Some(Severity::Fatal)
            }
            (_, Some(_)) => Some(Severity::NonFatal),
            (ErrorStart::Status(_), None) if lost => Some(Severity::NonFatal),
            (ErrorStart::Status(_), None) => Some(Severity::Corrected),
            (ErrorStart::Before, None) => None,
        }
    }
}

/// The events of messages, oldest first. `describe` looks a device up.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    describe: impl FnMut(&str) -> Device,
) -> Vec<Event> {
    let mut writer = Writer {
        context,
        describe,
        known: BTreeMap::new(),
        events: Vec::new(),
    };
    let mut open: Vec<Open<'_>> = Vec::new();
    for message in messages.iter().filter(|message| is_driver_line(message)) {
        let Some(Line { device, said }) = Line::parse(&message.text) else {
            continue;
        };
        let begin = match said {
            LineContent::Error {
                severity,
                layer,
                agent,
            } => Some(ErrorStart::Error(severity, layer, agent)),
            LineContent::Status(status) => Some(ErrorStart::Status(status)),
            LineContent::Bit(_) | LineContent::FatalBits(_) | LineContent::Layer { .. } => None,
            LineContent::NoDetails { .. }
            | LineContent::Recovered
            | LineContent::RecoveryFailed
            | LineContent::Contained => {
                writer.single(message, device, said);
                continue;
            }
        };
        let place = open.iter().position(|open| open.device == device);
        let place = match (place, begin) {
            (Some(place), None) => place,
            (place, begin) => {
                if let Some(place) = place {
                    writer.error(&open.remove(place));
                }
                open.push(Open {
                    device,
                    begin: begin.unwrap_or(ErrorStart::Before),
                    fatal_bits: None,
                    place: None,
                    kinds: Vec::new(),
                    time: message.time,
                    sequences: Vec::new(),
                });
                open.len() - 1
            }
        };
        if let Some(open) = open.get_mut(place) {
            match said {
                LineContent::Bit(kind)
                    if open.kinds.len() < MAX_PARTS && !open.kinds.contains(&kind) =>
                {
                    open.kinds.push(kind);
                }
                LineContent::FatalBits(bits) => open.fatal_bits = Some(bits),
                LineContent::Layer { layer, agent } => open.place = Some((layer, agent)),
                _ => {}
            }
            if open.sequences.len() < MAX_PARTS {
                open.sequences.push(message.sequence);
            }
        }
    }
    for open in &open {
        writer.error(open);
    }
    let mut events = writer.events;
    events.sort_by_key(|event| event.time);
    events
}

/// Writes events.
struct Writer<'a, D> {
    context: &'a CheckContext,
    describe: D,
    known: BTreeMap<String, Device>,
    events: Vec<Event>,
}

impl<D: FnMut(&str) -> Device> Writer<'_, D> {
    fn look_up(&mut self, id: &str) -> Device {
        if let Some(device) = self.known.get(id) {
            return device.clone();
        }
        // A saved log is judged without a boot id; what this machine has is nothing to it.
        let of_this_machine = !self.context.boot_id.is_empty();
        let device = if of_this_machine && self.known.len() < MAX_LOOKUPS {
            (self.describe)(id)
        } else {
            Device::unknown(id)
        };
        self.known.insert(id.to_owned(), device.clone());
        device
    }

    fn error(&mut self, open: &Open<'_>) {
        let severity = open.severity();
        let mut kinds: Vec<&'static Kind> = open.kinds.clone();
        kinds.sort_by_key(|kind| kind.name);
        let (entry, window) = match severity {
            Some(Severity::Corrected) => (patterns::PCIE_AER_CORRECTED, LONG_WINDOW),
            Some(Severity::NonFatal) => (patterns::PCIE_AER_NONFATAL, LONG_WINDOW),
            Some(Severity::Fatal) => (patterns::PCIE_AER_FATAL, SHORT_WINDOW),
            // Only where it was seen: nothing to tell.
            None if kinds.is_empty() => return,
            None => (patterns::PCIE_AER_DETAIL, LONG_WINDOW),
        };
        let device = self.look_up(open.device);
        let title = device.title();
        let mut text = entry.say(&[("device", &title)]);
        let place = match open.begin {
            ErrorStart::Error(_, layer, agent) => Some((layer, agent)),
            ErrorStart::Status(_) | ErrorStart::Before => open.place,
        };
        if let Some((layer, agent)) = place {
            text.push_str(&format!(", {}, {}", cut(layer), cut(agent)));
        }
        let join = |word: fn(&Kind) -> String, by: &str| {
            let words: Vec<String> = kinds.iter().map(|kind| word(kind)).collect();
            words.join(by)
        };
        let names = join(|kind| kind.name.to_owned(), ",");
        if !kinds.is_empty() {
            let words = join(|kind| format!("{} ({})", kind.name, kind.meaning), ", ");
            text.push_str(&format!(": {words}"));
        }
        let layer = place.map_or("", |(layer, _)| cut(layer));
        let draft = EventDraft {
            name: entry.name,
            event_type: entry.event_type(),
            text,
            key: format!("{layer} {names}"),
            window,
            time: open.time,
        };
        let mut event = draft.event(self.context, &device);
        let evidence = open.sequences.iter();
        event.evidence = evidence.map(|sequence| Evidence::Kmsg(*sequence)).collect();
        if !names.is_empty() {
            event.extra_info.push(("errors".to_owned(), names));
        }
        self.events.push(event);
    }

    fn single(&mut self, message: &Message, device: &str, said: LineContent<'_>) {
        let (id, entry, window, severity) = match said {
            LineContent::NoDetails { severity, source } => {
                let id = source.unwrap_or(device);
                (id, patterns::PCIE_AER_NO_DETAILS, LONG_WINDOW, severity)
            }
            LineContent::Recovered => (device, patterns::PCIE_AER_RECOVERED, SHORT_WINDOW, None),
            LineContent::RecoveryFailed => (
                device,
                patterns::PCIE_AER_RECOVERY_FAILED,
                SHORT_WINDOW,
                None,
            ),
            LineContent::Contained => (device, patterns::PCIE_DPC_CONTAINMENT, SHORT_WINDOW, None),
            LineContent::Error { .. }
            | LineContent::Bit(_)
            | LineContent::Status(_)
            | LineContent::Layer { .. }
            | LineContent::FatalBits(_) => return,
        };
        let device = self.look_up(id);
        let (title, words) = (device.title(), severity.map_or("", Severity::words));
        let values = [("device", title.as_str()), ("severity", words)];
        let draft = EventDraft {
            name: entry.name,
            event_type: if severity.is_some_and(|severity| severity > Severity::Corrected) {
                entry.other_type()
            } else {
                entry.event_type()
            },
            text: if severity.is_some() {
                entry.say_otherwise(&values)
            } else {
                entry.say(&values)
            },
            key: format!("{} {words}", entry.name),
            window,
            time: message.time,
        };
        let mut event = draft.event(self.context, &device);
        event.evidence.push(Evidence::Kmsg(message.sequence));
        self.events.push(event);
    }
}

/// The parts of an event.
struct EventDraft<'a> {
    name: &'a str,
    event_type: EventType,
    text: String,
    /// What tells it from others of its device.
    key: String,
    window: u32,
    time: u64,
}

impl EventDraft<'_> {
    fn event(self, context: &CheckContext, device: &Device) -> Event {
        // Boots are never counted together: an error on both sides of a reboot is what asks for an inspection.
        let key = format!("{} {} {}", context.boot_id, device.id, self.key);
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        let time = self.time.min(context.now);
        let mut event =
            Event::new(time, self.name, self.event_type, self.text).merged_by(key, self.window);
        event.subject = Some(device.subject());
        let mut fact = |key: &str, value: String| event.extra_info.push((key.to_owned(), value));
        fact(DEVICE, device.id.clone());
        fact(TITLE, device.title());
        if let Some(above) = &device.above {
            fact(ABOVE, above.join(" "));
        }
        if !context.boot_id.is_empty() {
            fact(BOOT, context.boot_id.clone());
        }
        event
    }
}

/// A text of the log, not longer than is useful.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
