//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use std::collections::BTreeSet;

use gpud_sdk::history::StoredEvent;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::nvml::Library;
use gpud_sdk::{
    AccessError, CheckContext, Error, Event, Health, HealthState, Message, Recovery, RepairAction,
    Report,
};

use crate::catalog::{Action, Severity};
use crate::config::Config;
use crate::gpu::{self, Gpu};
use crate::xid::{self, Xid};
use crate::{EVENT_NAME, row, timeline};

/// Name of the rows that versions before GPUd 0.6 stored for an operator's set-healthy.
const SET_HEALTHY: &str = "SetHealthy";
/// Seconds within which a repeated line is shown once by a look at the moment.
const REPEAT_WINDOW_MS: u64 = 60_000;
/// Most events of a look at the moment; the newest.
const MAX_SHOWN: usize = 256;

/// What NVML says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    /// Is it there?
    pub library: Library,
    /// Product name of the first GPU; asked only of a loaded library.
    pub product: Result<String, AccessError>,
}

impl Driver {
    /// True when this machine has, or is meant to have, an NVIDIA GPU. A name that does not come is no proof that there
    /// is none.
    fn is_there(&self) -> bool {
        match &self.library {
            Library::Loaded => !self
                .product
                .as_ref()
                .is_ok_and(|name| name.trim().is_empty()),
            Library::Failed(_) => true,
            Library::NotFound(_) | Library::Other(_) => false,
        }
    }

    /// Why a machine without Xids is not looked at further.
    fn missing(&self) -> Option<&'static str> {
        match &self.library {
            Library::Loaded if !self.is_there() => {
                Some("NVIDIA NVML is loaded but GPU is not detected (missing product name)")
            }
            Library::Loaded | Library::Failed(_) => None,
            Library::NotFound(_) | Library::Other(_) => Some("NVIDIA NVML library is not loaded"),
        }
    }
}

/// The events of messages. Without an Xid among them, nothing is asked of NVML.
///
/// # Errors
/// When an event cannot be written, which its types rule out.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    product: impl FnOnce() -> Option<String>,
    gpus: impl FnOnce() -> Vec<Gpu>,
) -> Result<Vec<Event>, Error> {
    let found = decode(messages.iter(), product);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let gpus = gpus();
    found
        .iter()
        .map(|(message, xid)| row::event(context, message, xid, &gpus).map_err(Error::failed))
        .collect()
}

/// Decodes messages. Xid 63 and 64 are left to the component for remapped rows where the product has them. (Of a
/// product that cannot be told, they are kept.)
fn decode<'a>(
    messages: impl Iterator<Item = &'a Message>,
    product: impl FnOnce() -> Option<String>,
) -> Vec<(&'a Message, Xid<'a>)> {
    let mut found: Vec<_> = messages
        .filter_map(|message| Some((message, xid::decode(&message.text)?)))
        .collect();
    let is_remapping = |xid: &Xid<'_>| matches!(xid.code, 63 | 64);
    if found.iter().any(|(_, xid)| is_remapping(xid))
        && product().is_some_and(|name| gpu::remaps_rows(&name))
    {
        found.retain(|(_, xid)| !is_remapping(xid));
    }
    found
}

/// The state that the history comes to. `events` are newest first, as `history` gives them; `reboots` too. `seen_before`
/// tells whether this machine ever had an Xid; asked only where nothing else tells that there is a GPU.
pub fn check(
    config: &Config,
    events: &[StoredEvent],
    reboots: Result<Vec<u64>, AccessError>,
    seen_before: impl FnOnce() -> bool,
    driver: impl FnOnce() -> Driver,
    gpus: impl FnOnce() -> Vec<Gpu>,
) -> Report {
    let (reboots, error) = match reboots {
        Ok(reboots) => (reboots, None),
        Err(error) => (
            Vec::new(),
            Some(format!("failed to get reboot events: {}\n", error.text())),
        ),
    };
    let errors: Vec<&StoredEvent> = events
        .iter()
        .take_while(|stored| stored.event.name != SET_HEALTHY)
        .filter(|stored| stored.event.name == EVENT_NAME)
        .collect();
    let rows = errors.iter().rev().filter_map(|stored| row::read(stored));
    let verdict = timeline::judge(rows, reboots.iter().rev().map(|time| time / 1000), config);

    let mut state = HealthState {
        name: Some(EVENT_NAME.to_owned()),
        time: None,
        health: verdict.health.clone(),
        reason: "XIDComponent is healthy".to_owned(),
        error,
        suggested_actions: None,
        subject: None,
        recovery: Vec::new(),
        latch: false,
        evidence: Vec::new(),
        extra_info: Vec::new(),
        extra: Vec::new(),
    };
    if let Some(current) = &verdict.current {
        // A GPU that fell off the bus is not found any more: what was known when it happened counts first.
        let now = if current.uuid.is_none() {
            gpus()
        } else {
            Vec::new()
        };
        let uuid = current.uuid.or_else(|| gpu::uuid_of(&now, &current.device));
        state.reason = current.message(uuid);
        state.subject = gpu::subject(&current.device, uuid);
        state.evidence = current.evidence.to_vec();
    }
    if let Some(action) = &verdict.action {
        state = state.action(repair_action(action), "");
    }
    if verdict.health != Health::Healthy {
        if verdict.clears_by_reboot() {
            state.recovery.push(Recovery::Reboot);
        }
        state.recovery.push(Recovery::SetHealthy);
    }
    // An Xid proves an NVIDIA driver, even where its library is gone; once cleared, it is to be seen that it is.
    let supported = !errors.is_empty() || driver().is_there() || seen_before();
    Report {
        supported,
        ..Report::of(state)
    }
}

fn repair_action(word: &str) -> RepairAction {
    let known = [
        (Action::Ignore, RepairAction::IgnoreNoActionRequired),
        (Action::Reboot, RepairAction::RebootSystem),
        (Action::Inspect, RepairAction::HardwareInspection),
        (Action::CheckApp, RepairAction::CheckUserAppAndGpu),
    ];
    let found = known.into_iter().find(|(action, _)| action.word() == word);
    found.map_or_else(
        || RepairAction::Other(word.to_owned()),
        |(_, action)| action,
    )
}

/// What the kernel log says now, without any history: the answer to a scan and to a person who asks. The Xids themselves
/// are the report's events.
///
/// # Errors
/// As [`events`].
pub fn scan(
    context: &CheckContext,
    driver: &Driver,
    look_back: impl FnOnce() -> Result<LookBack, AccessError>,
    gpus: impl FnOnce() -> Vec<Gpu>,
) -> Result<Report, Error> {
    if let Library::Failed(text) = &driver.library {
        let reason = format!("NVML initialization error: {text}");
        return Ok(Report::of(HealthState::unhealthy(context, reason)));
    }
    let log = look_back();
    let mut seen = BTreeSet::new();
    let messages = log.iter().flat_map(|log| &log.messages);
    let fresh =
        messages.filter(|message| seen.insert((message.time / REPEAT_WINDOW_MS, &message.text)));
    let found = decode(fresh, || driver.product.clone().ok());

    let state = match (&log, driver.missing()) {
        // Only when the log has none: an Xid on a machine whose library is gone is the news.
        (_, Some(reason)) if found.is_empty() => HealthState::healthy(context, reason),
        (Err(AccessError::Denied(_) | AccessError::NotFound(_)), _) => {
            HealthState::healthy(context, "kmsg reader is not set")
        }
        (Err(error), _) => {
            HealthState::unhealthy(context, "failed to read kmsg").error(error.text())
        }
        (Ok(log), _) => {
            let bad = found
                .iter()
                .any(|(_, xid)| xid.severity >= Severity::Critical);
            let health = if bad {
                Health::Unhealthy
            } else {
                Health::Healthy
            };
            let reason = format!(
                "matched {} xid errors from {} kmsg(s)",
                found.len(),
                log.scanned
            );
            HealthState::new(context, health, reason)
        }
    };
    let mut report = Report {
        supported: driver.is_there() || !found.is_empty(),
        ..Report::of(state)
    };
    if !found.is_empty() {
        let gpus = gpus();
        let shown = found.iter().skip(found.len().saturating_sub(MAX_SHOWN));
        report.events = shown
            .map(|(message, xid)| row::event(context, message, xid, &gpus).map_err(Error::failed))
            .collect::<Result<_, _>>()?;
    }
    Ok(report)
}

#[cfg(test)]
mod tests;
