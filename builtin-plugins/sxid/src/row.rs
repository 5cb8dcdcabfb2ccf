//! SXids as stored events, and back.
//!
//! An event's extra info holds `device_uuid` (the switch as the driver named it) and `data`, a JSON document under the
//! keys of GPUd, in its order. What a code means is read from the catalogue each time, so that older events get better
//! with it; the event's own words count for codes that the catalogue does not have.

use std::borrow::Cow;

use gpud_builtin_shared::time;
use gpud_builtin_shared::vendor::{CATALOG, ErrorView, differ, verdict_words};
use gpud_sdk::catalog::Severity;
use gpud_sdk::error_codes::Key;
use gpud_sdk::error_codes::timeline::Fault;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject};
use serde::{Deserialize, Serialize};

use crate::sxid::{self, Sxid};
use crate::{EVENT_NAME, catalog, line};

/// Seconds within which equal errors are one event with a count: a switch in trouble can print thousands a second, and
/// each error takes up to three lines.
const MERGE_WINDOW: u32 = 60;

/// The document under `data`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Data<'a> {
    /// When, RFC 3339.
    time: String,
    #[serde(borrow)]
    data_source: Cow<'a, str>,
    #[serde(borrow)]
    device_uuid: Cow<'a, str>,
    sxid: u32,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    suggested_actions_by_gpud: Option<Suggested<'a>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Suggested<'a> {
    #[serde(borrow)]
    description: Cow<'a, str>,
    #[serde(borrow)]
    repair_actions: Vec<Cow<'a, str>>,
}

fn data(sxid: &Sxid<'_>, at: u64) -> Result<String, serde_json::Error> {
    let actions = sxid.known.map_or(&[][..], |known| known.actions);
    let actions = (!actions.is_empty()).then(|| Suggested {
        description: "".into(),
        repair_actions: actions.iter().map(|action| action.word().into()).collect(),
    });
    serde_json::to_string(&Data {
        time: time::rfc3339(at / 1000),
        data_source: "kmsg".into(),
        device_uuid: sxid.device.into(),
        sxid: sxid.code,
        suggested_actions_by_gpud: actions,
    })
}

/// The event of an error that a kernel message reported.
///
/// # Errors
/// When the document cannot be written, which its types rule out.
pub fn event(
    context: &CheckContext,
    catalog: ErrorView,
    message: &Message,
    sxid: &Sxid<'_>,
) -> Result<Event, serde_json::Error> {
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let event_type = sxid.verdict(catalog).0.event_type();
    let text = sxid::message(sxid.code, sxid.known, sxid.device);
    // Boots are never counted together: an error on both sides of a reboot is what asks for an inspection.
    let key = format!("{} {} {}", context.boot_id, sxid.device, sxid.code);
    let mut event = Event::new(at, EVENT_NAME, event_type, text).merged_by(key, MERGE_WINDOW);
    event.subject = subject(sxid.device);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    if !context.boot_id.is_empty() {
        let boot = format!("boot {}", context.boot_id);
        event.evidence.push(Evidence::Other(boot));
    }
    event.extra_info = vec![
        ("device_uuid".to_owned(), sxid.device.to_owned()),
        ("data".to_owned(), data(sxid, at)?),
    ];
    let details = line::details(&message.text).into_iter();
    let details = details.filter_map(|(key, value)| Some((key, value?.to_owned())));
    let pairs = details.chain(verdicts(catalog, sxid));
    event
        .extra_info
        .extend(pairs.map(|(key, value)| (key.to_owned(), value)));
    Ok(event)
}

/// Key of NVIDIA's word for what to do.
pub const VENDOR_ACTION: &str = "vendor_action";
/// Key of the same for people.
pub const VENDOR_ACTION_WORDS: &str = "vendor_action_words";

/// The verdicts of both catalogues on an error, as keys and values.
fn verdicts(catalog: ErrorView, sxid: &Sxid<'_>) -> Vec<(&'static str, String)> {
    let of = |catalog| {
        let (severity, actions) = sxid.verdict(catalog);
        (severity, actions.first().map(|action| action.word()))
    };
    let (gpud, nvidia) = (of(ErrorView::Gpud), of(ErrorView::Nvidia));
    let mut pairs = vec![
        (CATALOG, catalog.word().to_owned()),
        ("gpud_verdict", verdict_words(gpud.0, gpud.1)),
        ("nvidia_verdict", verdict_words(nvidia.0, nvidia.1)),
    ];
    if differ(gpud, nvidia) {
        pairs.push(("verdicts_differ", "true".to_owned()));
    }
    match sxid.known {
        None => pairs.push(("unlisted", "true".to_owned())),
        Some(known) => {
            if let Some(vendor) = known.vendor {
                pairs.push((VENDOR_ACTION, vendor.word().to_owned()));
                pairs.push((VENDOR_ACTION_WORDS, vendor.words().to_owned()));
            }
        }
    }
    pairs
}

/// The switch as a subject, by its PCI id in lower case.
pub fn subject(device: &str) -> Option<Subject> {
    let id = device.strip_prefix("PCI:").unwrap_or(device);
    let id = Some(id.to_ascii_lowercase()).filter(|id| !id.is_empty())?;
    Some(Subject::Other(("nvswitch".to_owned(), id)))
}

/// A stored error with what the catalogue knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// When, unix seconds.
    pub second: u64,
    /// The SXid.
    pub code: u32,
    /// How serious.
    pub severity: Severity,
    /// What to do, as the wire's word; the first action alone counts.
    pub action: Option<Cow<'a, str>>,
    /// Which switch, as the driver named it; may be empty.
    pub device: Cow<'a, str>,
    /// What it was drawn from.
    pub evidence: &'a [Evidence],
}

impl<'a> Row<'a> {
    /// What a catalogue judges of it. `index` is the caller's.
    pub fn fault(self, index: usize, catalog: ErrorView) -> Fault<'a> {
        let known = catalog::code(self.code).filter(|_| catalog == ErrorView::Nvidia);
        let (severity, action) = match known.map(|known| known.verdict(catalog)) {
            None => (self.severity, self.action),
            Some((severity, actions)) => {
                (severity, actions.first().map(|action| action.word().into()))
            }
        };
        Fault {
            index,
            second: self.second,
            key: Key::of(self.code),
            severity,
            action,
        }
    }

    /// The text of event and reason.
    pub fn message(&self) -> String {
        sxid::message(self.code, catalog::code(self.code), &self.device)
    }
}

/// Reads a stored event. `None` when nothing in it says which SXid it was.
pub fn read(stored: &StoredEvent) -> Option<Row<'_>> {
    let event = &stored.event;
    let (_, text) = event.extra_info.iter().find(|(key, _)| key == "data")?;
    let data: Data<'_> = serde_json::from_str(text).ok()?;
    let known = catalog::code(data.sxid);
    let own = data.suggested_actions_by_gpud.unwrap_or_default();
    Some(Row {
        second: event.time / 1000,
        code: Some(data.sxid).filter(|code| *code != 0)?,
        severity: known
            .map(|known| known.severity)
            .or_else(|| Severity::of(&event.event_type))
            .unwrap_or(Severity::Unknown),
        action: match known {
            Some(known) => known.actions.first().map(|action| action.word().into()),
            None => own.repair_actions.into_iter().next(),
        },
        device: data.device_uuid,
        evidence: &event.evidence,
    })
}

#[cfg(test)]
mod tests;
