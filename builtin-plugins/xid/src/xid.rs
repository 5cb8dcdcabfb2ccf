//! The meaning of a line: its facts joined with the catalogue's entry.

use std::borrow::Cow;

use gpud_builtin_shared::time::push_padded;
use gpud_builtin_shared::vendor::{CodeVerdict, ErrorView};
use gpud_sdk::error_codes::Key;

use crate::catalog::{self, Action, Entry, MAX_CODE, Severity, VendorAction};
use crate::line::{self, Extended, Line};
use crate::recovery::Recovery;

/// For codes that the catalogue does not have: a driver newer than this program. Not judged, but not hidden.
const UNLISTED: Entry = Entry {
    label: "",
    severity: Severity::Warning,
    actions: &[],
};

/// One error of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid<'a> {
    /// Which GPU, as [`Line::device`].
    pub device: Cow<'a, str>,
    /// Which MIG instance, as [`Line::instance`]; usually empty.
    pub instance: &'a str,
    /// The Xid.
    pub code: u32,
    /// Sub-code of an NVLink error; else 0.
    pub sub_code: u32,
    /// The unit that reported an NVLink error; else empty.
    pub unit: &'a str,
    /// Error status of an NVLink error; else 0.
    pub status: u32,
    /// NVIDIA's word for where to look; usually empty.
    pub hint: &'static str,
    /// Short text; may be empty.
    pub label: &'static str,
    /// How serious.
    pub severity: Severity,
    /// What to do, most important first; may be empty.
    pub actions: &'static [Action],
    /// What NVIDIA says to do, where it says so.
    pub vendor: Option<VendorAction>,
}

impl Xid<'_> {
    /// The verdict of a catalogue. `recovery` is what an Xid 154 asks for.
    pub fn verdict(&self, catalog: ErrorView, recovery: Option<Recovery<'_>>) -> CodeVerdict {
        let own = (self.severity, self.actions);
        if catalog == ErrorView::Gpud {
            return own;
        }
        let view = vendor_view(self.vendor, !self.unit.is_empty(), recovery);
        view.map_or(own, |(severity, actions)| {
            (severity.unwrap_or(self.severity), actions)
        })
    }

    /// Which error, as exactly as a policy can name it.
    pub fn key(&self) -> Key {
        catalog::key(self.code, self.sub_code, self.status)
    }
}

/// NVIDIA's view: severity and actions. No severity where the line's own holds (NVLink errors); `None` where NVIDIA leaves
/// it to further evidence.
pub fn vendor_view(
    vendor: Option<VendorAction>,
    is_nvlink: bool,
    recovery: Option<Recovery<'_>>,
) -> Option<(Option<Severity>, &'static [Action])> {
    let named = recovery.and_then(|recovery| recovery.verdict());
    let (severity, actions) = named.or_else(|| vendor?.verdict())?;
    Some(((!is_nvlink).then_some(severity), actions))
}

/// Reads a line of the kernel log. `None` when it is no Xid line.
pub fn decode(text: &str) -> Option<Xid<'_>> {
    let listed = |code: u64| u32::try_from(code).is_ok_and(|code| catalog::code(code).is_some());
    let line = line::parse(text, listed)?;
    let code = u32::try_from(line.code)
        .ok()
        .filter(|code| *code <= MAX_CODE)?;
    let base = catalog::code(code).map_or(UNLISTED, |known| known.entry);
    let Line {
        device,
        instance,
        code: _,
        extended,
    } = line;
    let plain = Xid {
        device,
        instance,
        code,
        sub_code: 0,
        unit: "",
        status: 0,
        hint: "",
        label: base.label,
        severity: base.severity,
        actions: base.actions,
        vendor: catalog::vendor(code).and_then(|known| known.immediate),
    };
    Some(match extended {
        None => plain,
        Some(extended) => with_extended(plain, extended, base),
    })
}

/// Adds what the extended form says. The log's own severity can only make it worse.
fn with_extended<'a>(plain: Xid<'a>, extended: Extended<'a>, base: Entry) -> Xid<'a> {
    let Extended {
        unit,
        fatal,
        intrinfo,
        status,
    } = extended;
    let sub_code = (intrinfo >> 20) & 0x3f;
    let start = catalog::known(plain.code, sub_code, status).unwrap_or(base);
    let rule = catalog::rule(plain.code, unit, intrinfo, status);
    let severity = rule.map_or(start.severity, |rule| rule.severity);
    let logged = if fatal {
        Severity::Fatal
    } else {
        Severity::Warning
    };
    Xid {
        sub_code,
        unit,
        status,
        hint: rule.map_or("", |rule| rule.hint),
        label: start.label,
        severity: severity.max(logged),
        actions: rule.map_or(start.actions, |rule| rule.action),
        vendor: Some(rule.map_or_else(
            || catalog::nvlink_action(plain.code, unit, fatal, status),
            |rule| rule.vendor,
        )),
        ..plain
    }
}

/// The text of events and reasons. `label` may be empty; `uuid` is added where it is known.
pub fn message(
    code: u32,
    sub_code: u32,
    status: u32,
    label: &str,
    device: &str,
    uuid: Option<&str>,
) -> String {
    let mut text = String::with_capacity(128);
    text.push_str("XID ");
    push_padded(&mut text, code.into(), 10, 1);
    if catalog::is_nvlink(code) {
        text.push('.');
        push_padded(&mut text, sub_code.into(), 10, 1);
        text.push_str(" (err status 0x");
        push_padded(&mut text, status.into(), 16, 8);
        text.push(')');
    }
    let mnemonic = catalog::mnemonic(code).unwrap_or_default();
    // Some labels say nothing that the mnemonic does not.
    let label = if !mnemonic.is_empty() && (label == "Unused" || label == mnemonic) {
        ""
    } else {
        label
    };
    for part in [mnemonic, label].iter().filter(|part| !part.is_empty()) {
        text.push(' ');
        text.push_str(part);
    }
    text.push_str(" detected on GPU ");
    text.push_str(device);
    if let Some(uuid) = uuid.filter(|uuid| !uuid.is_empty()) {
        text.push_str(" UUID:");
        text.push_str(uuid);
    }
    text
}

#[cfg(test)]
mod tests;
