//! Xids as stored events, and back.
//!
//! An event's extra info holds `device_uuid` (the GPU as the driver named it) and `data`, a JSON document of all facts
//! under the keys of GPUd, in its order; then what else the line says ([`crate::facts`]) and both catalogues' verdicts.
//! Readers fill what a row lacks from the catalogue, so rows of older versions get better with it; a row's own type is
//! never changed.

use std::borrow::Cow;

use gpud_builtin_shared::time;
use gpud_builtin_shared::vendor::{CATALOG, ErrorView, differ, verdict_words};
use gpud_sdk::error_codes::Key;
use gpud_sdk::error_codes::timeline::Fault;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject};
use serde::{Deserialize, Serialize};

use crate::EVENT_NAME;
use crate::catalog::{self, Severity, VendorAction};
use crate::facts::{CAUSED_BY, Facts, RECOVERY, RECOVERY_LABEL};
use crate::gpu::{self, Gpu};
use crate::recovery::Recovery;
use crate::xid::{self, Xid};

/// Seconds within which equal errors are one event with a count. A GPU in trouble can print thousands a second.
const MERGE_WINDOW: u32 = 60;
/// Name of the evidence that says which boot a kernel log sequence number belongs to.
const BOOT: &str = "boot ";
/// Key of all names of the GPU, for people.
pub const GPU: &str = "gpu";
/// Key of NVIDIA's word for what to do.
pub const VENDOR_ACTION: &str = "vendor_action";
/// Key of the same for people.
pub const VENDOR_ACTION_WORDS: &str = "vendor_action_words";
/// Keys of the verdicts of both catalogues.
const GPUD_VERDICT: &str = "gpud_verdict";
const NVIDIA_VERDICT: &str = "nvidia_verdict";
/// Key of GPUd's own verdict, where the default catalogue does not follow it.
const GPUD_OWN_VERDICT: &str = "gpud_own_verdict";
/// Key that is there when the two differ.
const DIFFER: &str = "verdicts_differ";

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

/// The event of an error that a kernel message reported.
///
/// # Errors
/// When the document cannot be written, which its types rule out.
pub fn event(
    context: &CheckContext,
    catalog: ErrorView,
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
        ..
    } = xid;
    let known = gpu::find(gpus, device);
    let uuid = known.and_then(Gpu::uuid);
    let facts = Facts::of(&message.text);
    let recovery = facts.recovery.map(|(_, to)| to);
    let (severity, _) = xid.verdict(catalog, recovery);
    let text = xid::message(*code, *sub_code, *status, label, device, uuid);
    // All that tells two errors apart but pid, process and address. Boots are never counted together: an error on both
    // sides of a reboot is what asks for an inspection.
    let id = gpu::pci_id(device);
    let id = id.as_deref().unwrap_or(device);
    let mut key = String::with_capacity(96);
    for part in [context.boot_id.as_str(), id, instance, xid.unit] {
        key.push_str(part);
        key.push(' ');
    }
    for number in [*code, *sub_code, *status, severity as u32] {
        time::push_padded(&mut key, number.into(), 16, 1);
        key.push(' ');
    }
    let mut event =
        Event::new(at, EVENT_NAME, severity.event_type(), text).merged_by(key, MERGE_WINDOW);
    let serial = known.and_then(|gpu| gpu.serial.as_deref());
    event.subject = gpu::subject(device, uuid, serial);
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
    let names = (GPU, gpu::words(device, known));
    let pairs = std::iter::once(names)
        .chain(facts.pairs())
        .chain(verdicts(catalog, xid, recovery));
    event
        .extra_info
        .extend(pairs.map(|(key, value)| (key.to_owned(), value)));
    Ok(event)
}

/// The verdicts of both catalogues on an error, as keys and values.
fn verdicts(
    catalog: ErrorView,
    xid: &Xid<'_>,
    recovery: Option<Recovery<'_>>,
) -> Vec<(&'static str, String)> {
    let of = |catalog| {
        let (severity, actions) = xid.verdict(catalog, recovery);
        (severity, actions.first().map(|action| action.word()))
    };
    let (gpud, nvidia) = (of(ErrorView::Gpud), of(ErrorView::Nvidia));
    let mut pairs = vec![
        (CATALOG, catalog.word().to_owned()),
        (GPUD_VERDICT, verdict_words(gpud.0, gpud.1)),
        (NVIDIA_VERDICT, verdict_words(nvidia.0, nvidia.1)),
    ];
    if differ(gpud, nvidia) {
        pairs.push((DIFFER, "true".to_owned()));
    }
    if let Some(own) = catalog::gpud_verdict(xid.code) {
        pairs.push((GPUD_OWN_VERDICT, own.to_owned()));
    }
    let known = catalog::vendor(xid.code);
    if let Some(vendor) = xid.vendor {
        pairs.push((VENDOR_ACTION, vendor.word().to_owned()));
        pairs.push((VENDOR_ACTION_WORDS, vendor.words().to_owned()));
    }
    if let Some(known) = known {
        for (key, value) in [
            ("vendor_name", known.mnemonic),
            ("vendor_means", known.means),
            ("vendor_investigates", known.investigate),
        ] {
            if !value.is_empty() {
                pairs.push((key, value.to_owned()));
            }
        }
    } else if catalog::code(xid.code).is_some() {
        pairs.push(("vendor_means", "unused on present products".to_owned()));
    } else {
        pairs.push(("unlisted", "true".to_owned()));
    }
    pairs
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
    /// When it was seen last, unix seconds.
    pub last: u64,
    /// What NVIDIA says to do, where it says so.
    pub vendor: Option<VendorAction>,
    /// True for an NVLink error whose line had a unit.
    pub has_unit: bool,
    /// The recovery that an Xid 154 requests.
    pub recovery: Option<Recovery<'a>>,
    /// The Xid that the driver names as the cause.
    pub caused_by: Option<u32>,
    /// The process.
    pub pid: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// Which error, as exactly as a policy can name it.
    pub fn key(&self) -> Key {
        catalog::key(self.code, self.sub_code, self.status)
    }

    /// What a catalogue judges of it; the first action alone counts. `index` is the caller's.
    pub fn fault(&self, index: usize, catalog: ErrorView) -> Fault<'a> {
        let view = match catalog {
            ErrorView::Gpud => None,
            ErrorView::Nvidia => xid::vendor_view(self.vendor, self.has_unit, self.recovery),
        };
        let (severity, action) = match view {
            None => (self.severity, self.actions.first().cloned()),
            Some((severity, actions)) => (
                severity.unwrap_or(self.severity),
                actions.first().map(|action| action.word().into()),
            ),
        };
        Fault {
            index,
            second: self.second,
            key: self.key(),
            severity,
            action,
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
    // Stored by NVIDIA's view, the event's type is not GPUd's.
    let own_type = match text(CATALOG).and_then(ErrorView::of) {
        Some(ErrorView::Nvidia) => text(GPUD_VERDICT).and_then(severity_of),
        _ => Severity::of(&event.event_type),
    };
    let recovery = text(RECOVERY).and_then(|number| {
        Some(Recovery {
            number: number.parse().ok()?,
            label: text(RECOVERY_LABEL).unwrap_or_default(),
        })
    });
    let known = catalog::known(data.xid, data.sub_code, data.error_status);
    let mut row = Row {
        second: event.time / 1000,
        code: data.xid,
        sub_code: data.sub_code,
        status: data.error_status,
        label: data.description,
        severity: own_type
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
        last: stored.last_time.max(event.time) / 1000,
        vendor: match text(VENDOR_ACTION) {
            Some(word) => VendorAction::of(word),
            None => catalog::vendor(data.xid).and_then(|known| known.immediate),
        },
        has_unit: !data.sub_code_description.is_empty(),
        recovery: recovery.filter(|_| data.xid == 154),
        caused_by: text(CAUSED_BY).and_then(|code| code.parse().ok()),
        pid: text("pid"),
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

/// The severity that a verdict in words begins with.
fn severity_of(words: &str) -> Option<Severity> {
    let word = words.split(',').next()?;
    [
        Severity::Unknown,
        Severity::Info,
        Severity::Warning,
        Severity::Critical,
        Severity::Fatal,
    ]
    .into_iter()
    .find(|severity| format!("{severity:?}") == word)
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
