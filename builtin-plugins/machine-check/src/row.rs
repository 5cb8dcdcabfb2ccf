//! Turns parsed lines into events.
//!
//! Which, and of what type: `catalog/patterns.json`.
//!
//! Extra info: `boot_id`, `place` (what repeats are counted by), and `previous_boot` for what was found after a reset.

use gpud_sdk::boots::BOOT;
use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::{CheckContext, Event, EventType, Evidence, Message, Subject};

use crate::firmware::{self, Assembler, FirmwareLine, Section};
use crate::line::{self, Check, Finding};
use crate::patterns;

/// Where an error happened, for counting.
pub const PLACE: &str = "place";
/// Marks an error of the boot before the one that reported it.
pub const PREVIOUS_BOOT: &str = "previous_boot";
/// Event of a storm.
pub const STORM: &str = patterns::CMCI_STORM.name;
/// Event of its end.
pub const STORM_OVER: &str = patterns::CMCI_STORM_SUBSIDED.name;
/// Event of a page that could not be taken out of use.
pub const UNHANDLED: &str = patterns::MEMORY_FAILURE_UNHANDLED.name;
/// Event of bad data that was not used yet.
pub const DEFERRED: &str = patterns::MACHINE_CHECK_DEFERRED.name;
/// Events of errors that the hardware corrected.
pub const CORRECTED: [&str; 2] = [
    patterns::MACHINE_CHECK_CORRECTED.name,
    patterns::FIRMWARE_ERROR_CORRECTED.name,
];

/// Corrected errors of one place are one event an hour, with a count.
const CORRECTED_WINDOW: u32 = 3_600;
/// All others.
const WINDOW: u32 = 60;
/// The kernel looks through all banks while it starts (`__mcheck_cpu_init_generic`) and finds what led to the reset.
const STARTING_MS: u64 = 120_000;
/// Longest part of a line in messages and keys; the firmware's texts are short.
const MAX_TEXT: usize = 400;

/// The events of messages, oldest first, and what to keep of an unfinished firmware record. `saved` is asked for only if
/// there is any line of such a record.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    saved: impl FnOnce() -> Option<String>,
) -> (Vec<Event>, Option<String>) {
    let mut events = Vec::new();
    let mut saved = Some(saved);
    let mut records: Option<Assembler> = None;
    for message in messages.iter().filter(|message| is_driver_line(message)) {
        if let Some(finding) = line::find(&message.text) {
            events.push(of_finding(context, message, finding));
        } else if let Some((mark, piece)) = FirmwareLine::parse(&message.text) {
            let records = records.get_or_insert_with(|| {
                let saved = saved.take().and_then(|saved| saved());
                Assembler::restore(saved.as_deref(), &context.boot_id)
            });
            let done = records.take(mark, piece, message.time, message.sequence);
            events.extend(done.map(|section| of_section(context, &section)));
        }
    }
    let last = records.as_mut().and_then(Assembler::end);
    events.extend(last.map(|section| of_section(context, &section)));
    let keep = records.and_then(|records| records.save(&context.boot_id));
    (events, keep)
}

/// The parts of an event.
struct EventDraft {
    entry: Entry,
    event_type: EventType,
    message: String,
    place: String,
    /// What else tells it from others.
    key: String,
    window: u32,
    previous_boot: bool,
}

impl EventDraft {
    fn event(self, context: &CheckContext, time: u64, sequence: u64) -> Event {
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        let time = time.min(context.now);
        let key = format!("{} {} {}", context.boot_id, self.place, self.key);
        let mut event = Event::new(time, self.entry.name, self.event_type, self.message)
            .merged_by(key, self.window);
        event.evidence.push(Evidence::Kmsg(sequence));
        let mut fact = |key: &str, value: String| event.extra_info.push((key.to_owned(), value));
        if !context.boot_id.is_empty() {
            fact(BOOT, context.boot_id.clone());
        }
        fact(PLACE, self.place);
        if self.previous_boot {
            fact(PREVIOUS_BOOT, "true".to_owned());
        }
        event
    }
}

fn of_finding(context: &CheckContext, message: &Message, finding: Finding<'_>) -> Event {
    let draft = match finding {
        Finding::Check(check) => return of_check(context, message, check),
        Finding::Panic(why) => EventDraft {
            entry: patterns::MACHINE_CHECK_PANIC,
            event_type: patterns::MACHINE_CHECK_PANIC.event_type(),
            message: patterns::MACHINE_CHECK_PANIC.say(&[("why", cut(why))]),
            place: "machine".to_owned(),
            key: cut(why).to_owned(),
            window: WINDOW,
            previous_boot: false,
        },
        Finding::Storm { place, over } => {
            let place = place.map_or_else(
                || "all banks".to_owned(),
                |(cpu, bank)| format!("CPU {cpu}, bank {bank}"),
            );
            let (entry, what) = if over {
                (patterns::CMCI_STORM_SUBSIDED, "subsided")
            } else {
                (patterns::CMCI_STORM, "detected")
            };
            EventDraft {
                entry,
                event_type: entry.event_type(),
                message: entry.say(&[("what", what), ("place", &place)]),
                place,
                key: String::new(),
                window: WINDOW,
                previous_boot: false,
            }
        }
        Finding::PoisonedPage {
            frame,
            page,
            outcome,
        } => {
            // A page that was dealt with before needs nothing more.
            let handled =
                matches!(outcome, "Recovered" | "Delayed") || page.starts_with("already ");
            let entry = if handled {
                patterns::MEMORY_FAILURE
            } else {
                patterns::MEMORY_FAILURE_UNHANDLED
            };
            let values = [
                ("frame", cut(frame)),
                ("page", cut(page)),
                ("outcome", outcome),
            ];
            EventDraft {
                entry,
                event_type: entry.event_type(),
                message: entry.say(&values),
                place: format!("page {}", cut(frame)),
                key: outcome.to_owned(),
                window: WINDOW,
                previous_boot: false,
            }
        }
        Finding::SoftOfflined { frame } => EventDraft {
            entry: patterns::PAGE_SOFT_OFFLINED,
            event_type: patterns::PAGE_SOFT_OFFLINED.event_type(),
            message: patterns::PAGE_SOFT_OFFLINED.say(&[("frame", cut(frame))]),
            place: format!("page {}", cut(frame)),
            key: String::new(),
            window: WINDOW,
            previous_boot: false,
        },
    };
    draft.event(context, message.time, message.sequence)
}

fn of_check(context: &CheckContext, message: &Message, check: Check) -> Event {
    let severity = check.severity();
    let entry = match severity {
        line::Severity::Corrected => patterns::MACHINE_CHECK_CORRECTED,
        line::Severity::Deferred => patterns::MACHINE_CHECK_DEFERRED,
        line::Severity::Uncorrected => patterns::MACHINE_CHECK_UNCORRECTED,
        line::Severity::Fatal => patterns::MACHINE_CHECK_FATAL,
    };
    let corrected = severity == line::Severity::Corrected;
    let since_boot = message.time.saturating_sub(context.boot_time);
    let previous_boot = severity >= line::Severity::Uncorrected
        && !check.exception
        && context.boot_time != 0
        && since_boot < STARTING_MS;
    let Check {
        cpu, bank, status, ..
    } = check;
    let mut text = entry.say(&[
        ("cpu", &cpu.to_string()),
        ("bank", &bank.to_string()),
        ("kind", check.kind()),
        ("status", &format!("{status:016x}")),
    ]);
    if previous_boot {
        text.push_str(", found while the machine started");
    }
    let draft = EventDraft {
        entry,
        event_type: entry.event_type(),
        message: text,
        place: format!("CPU {cpu}, bank {bank}"),
        key: format!("{:x}", status & 0xffff),
        window: if corrected { CORRECTED_WINDOW } else { WINDOW },
        previous_boot,
    };
    let mut event = draft.event(context, message.time, message.sequence);
    event.subject = Some(Subject::Other(("cpu".to_owned(), cpu.to_string())));
    event
        .extra_info
        .push(("status".to_owned(), format!("0x{status:016x}")));
    event
}

fn of_section(context: &CheckContext, section: &Section) -> Event {
    let place = section.place();
    let place = cut(&place).to_owned();
    let entry = match section.severity {
        firmware::RecordSeverity::Info => patterns::FIRMWARE_ERROR_INFO,
        firmware::RecordSeverity::Corrected => patterns::FIRMWARE_ERROR_CORRECTED,
        firmware::RecordSeverity::Recoverable => patterns::FIRMWARE_ERROR_RECOVERABLE,
        firmware::RecordSeverity::Fatal => patterns::FIRMWARE_ERROR_FATAL,
    };
    let event_type = if section.is_pcie() {
        entry.other_type()
    } else {
        entry.event_type()
    };
    let before = if section.of_previous_boot {
        " of the previous boot"
    } else {
        ""
    };
    let mut message = entry.say(&[("before", before), ("place", &place)]);
    if let Some(what) = section
        .details
        .iter()
        .find(|detail| detail.starts_with("error_type: "))
    {
        message.push_str(&format!(", {}", cut(what)));
    }
    let corrected = section.severity == firmware::RecordSeverity::Corrected;
    let draft = EventDraft {
        entry,
        event_type,
        message,
        place,
        key: section.severity.word().to_owned(),
        window: if corrected { CORRECTED_WINDOW } else { WINDOW },
        previous_boot: section.of_previous_boot,
    };
    let mut event = draft.event(context, section.time, section.sequence);
    event.subject = Some(Subject::Node);
    event
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
