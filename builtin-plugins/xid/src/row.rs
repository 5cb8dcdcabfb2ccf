//! Xids as stored events, and back.
//!
//! An event's extra info holds `device_uuid` (the GPU as the driver named it) and `data`, a JSON document of all facts
//! under the keys of GPUd, in its order. Readers fill what a row lacks from the catalogue, so rows of older versions get
//! better with it; a row's own type is never changed.

use std::borrow::Cow;

use gpud_builtin_shared::coded::timeline::Fault;
use gpud_builtin_shared::time;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject};
use serde::{Deserialize, Serialize};

use crate::EVENT_NAME;
use crate::catalog::{self, Severity};
use crate::gpu::{self, Gpu};
use crate::xid::{self, Xid};

/// Seconds within which equal errors are one event with a count. A GPU in trouble can print thousands a second.
const MERGE_WINDOW: u32 = 60;
/// Name of the evidence that says which boot a kernel log sequence number belongs to.
const BOOT: &str = "boot ";

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
    xid: u32,
    #[serde(skip_serializing_if = "is_zero")]
    sub_code: u32,
    #[serde(skip_serializing_if = "str::is_empty", borrow)]
    sub_code_description: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_zero")]
    error_status: u32,
    #[serde(skip_serializing_if = "str::is_empty", borrow)]
    investigatory_hint: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty", borrow)]
    description: Cow<'a, str>,
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

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn data(xid: &Xid<'_>, at: u64) -> Result<String, serde_json::Error> {
    let actions = Suggested {
        description: "".into(),
        repair_actions: xid
            .actions
            .iter()
            .map(|action| action.word().into())
            .collect(),
    };
    serde_json::to_string(&Data {
        time: time::rfc3339(at / 1000),
        data_source: "kmsg".into(),
        device_uuid: (&*xid.device).into(),
        xid: xid.code,
        sub_code: xid.sub_code,
        sub_code_description: xid.unit.into(),
        error_status: xid.status,
        investigatory_hint: xid.hint.into(),
        description: xid.label.into(),
        suggested_actions_by_gpud: (!xid.actions.is_empty()).then_some(actions),
    })
}

/// The event of an error that a message of the kernel log told.
///
/// # Errors
/// When the document cannot be written, which its types rule out.
pub fn event(
    context: &CheckContext,
    message: &Message,
    xid: &Xid<'_>,
    gpus: &[Gpu],
) -> Result<Event, serde_json::Error> {
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let Xid {
        device,
        instance,
        code,
        sub_code,
        status,
        label,
        severity,
        ..
    } = xid;
    let uuid = gpu::uuid_of(gpus, device);
    let text = xid::message(*code, *sub_code, *status, label, device, uuid);
    // All that tells two errors apart but pid, process and address. Boots are never counted together: an error on both
    // sides of a reboot is what asks for an inspection.
    let mut key = String::with_capacity(96);
    for part in [context.boot_id.as_str(), device, instance, xid.unit] {
        key.push_str(part);
        key.push(' ');
    }
    for number in [*code, *sub_code, *status, *severity as u32] {
        time::push_padded(&mut key, number.into(), 16, 1);
        key.push(' ');
    }
    let mut event =
        Event::new(at, EVENT_NAME, severity.event_type(), text).merged_by(key, MERGE_WINDOW);
    event.subject = gpu::subject(device, uuid);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    if !context.boot_id.is_empty() {
        event
            .evidence
            .push(Evidence::Other(format!("{BOOT}{}", context.boot_id)));
    }
    event
        .extra_info
        .push(("device_uuid".to_owned(), device.to_string()));
    event.extra_info.push(("data".to_owned(), data(xid, at)?));
    if !instance.is_empty() {
        event
            .extra_info
            .push(("mig_instance".to_owned(), (*instance).to_owned()));
    }
    Ok(event)
}

/// A stored error, completed from the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// When, unix seconds.
    pub second: u64,
    /// The Xid.
    pub code: u32,
    /// Sub-code of an NVLink error; else 0.
    pub sub_code: u32,
    /// Error status of an NVLink error; else 0.
    pub status: u32,
    /// Short text; may be empty.
    pub label: Cow<'a, str>,
    /// How serious.
    pub severity: Severity,
    /// What to do, as the wire's words, most important first; may be empty.
    pub actions: Vec<Cow<'a, str>>,
    /// Which GPU, as the driver named it.
    pub device: Cow<'a, str>,
    /// UUID of the GPU, if it was known when the error was stored.
    pub uuid: Option<&'a str>,
    /// What it was drawn from.
    pub evidence: &'a [Evidence],
}

impl<'a> Row<'a> {
    /// What is judged of it; the first action alone counts. `index` is the caller's.
    pub fn fault(self, index: usize) -> Fault<'a> {
        Fault {
            index,
            second: self.second,
            key: catalog::key(self.code, self.sub_code, self.status),
            severity: self.severity,
            action: self.actions.into_iter().next(),
        }
    }

    /// The text of event and reason.
    pub fn message(&self, uuid: Option<&str>) -> String {
        xid::message(
            self.code,
            self.sub_code,
            self.status,
            &self.label,
            &self.device,
            uuid,
        )
    }
}

/// Reads a stored event. `None` when nothing in it says which Xid it was.
pub fn read(stored: &StoredEvent) -> Option<Row<'_>> {
    let event = &stored.event;
    let text = |key: &str| {
        event
            .extra_info
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    };
    let data = read_data(text("data")?)?;
    let known = catalog::known(data.xid, data.sub_code, data.error_status);
    let mut row = Row {
        second: event.time / 1000,
        code: data.xid,
        sub_code: data.sub_code,
        status: data.error_status,
        label: data.description,
        severity: Severity::of(&event.event_type)
            .or(known.map(|known| known.severity))
            .unwrap_or(Severity::Unknown),
        actions: data
            .suggested_actions_by_gpud
            .unwrap_or_default()
            .repair_actions,
        device: text("device_uuid").map_or(data.device_uuid, Into::into),
        uuid: match &event.subject {
            Some(Subject::Gpu(gpu)) => gpu.uuid.as_deref(),
            _ => None,
        },
        evidence: &event.evidence,
    };
    if let Some(known) = known {
        if row.label.is_empty() {
            row.label = known.label.into();
        }
        if row.actions.is_empty() {
            row.actions = known
                .actions
                .iter()
                .map(|action| action.word().into())
                .collect();
        }
    }
    Some(row)
}

/// The document, or what very old versions stored in its place: the bare number.
fn read_data(text: &str) -> Option<Data<'_>> {
    if let Ok(data) = serde_json::from_str::<Data<'_>>(text)
        && data.xid != 0
    {
        return Some(data);
    }
    let code = catalog::code(text.parse().ok()?)?;
    let actions = code
        .entry
        .actions
        .iter()
        .map(|action| action.word().into())
        .collect();
    Some(Data {
        xid: code.code,
        suggested_actions_by_gpud: Some(Suggested {
            description: "".into(),
            repair_actions: actions,
        }),
        ..Data::default()
    })
}

/// The kernel log record that a stored event was drawn from: which boot (empty if unknown), and its sequence number.
pub fn source(evidence: &[Evidence]) -> Option<(&str, u64)> {
    let sequence = evidence.iter().find_map(|item| match item {
        Evidence::Kmsg(sequence) => Some(*sequence),
        _ => None,
    })?;
    let boot = evidence.iter().find_map(|item| match item {
        Evidence::Other(text) => text.strip_prefix(BOOT),
        _ => None,
    });
    Some((boot.unwrap_or_default(), sequence))
}

#[cfg(test)]
mod tests;
