//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use std::collections::BTreeSet;

use gpud_builtin_shared::coded::timeline;
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::{AccessError, CheckContext, Error, Event, HealthState, Message, Report};

use crate::config::Config;
use crate::gpu::{self, Gpu};
use crate::xid::{self, Xid};
use crate::{EVENT_NAME, row};

/// Name of the rows that versions before GPUd 0.6 stored for an operator's set-healthy.
const SET_HEALTHY: &str = "SetHealthy";
/// Seconds within which a repeated line is shown once by a look at the moment.
const REPEAT_WINDOW_MS: u64 = 60_000;
/// Most events of a look at the moment; the newest.
const MAX_SHOWN: usize = 256;

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
    let faults = || {
        let oldest_first = errors.iter().enumerate().rev();
        oldest_first.filter_map(|(index, stored)| Some(row::read(stored)?.fault(index)))
    };
    let reboots = || reboots.iter().rev().map(|time| time / 1000);
    let (verdict, by_policy) = timeline::judge(faults, reboots, config);

    let mut state = verdict.state(EVENT_NAME, "XIDComponent is healthy");
    state.error = error;
    let current = verdict.current.and_then(|index| errors.get(index));
    if let Some(current) = current.and_then(|stored| row::read(stored)) {
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
    timeline::mark(&mut state, by_policy);
    // An Xid proves an NVIDIA driver, even where its library is gone; once cleared, it is to be seen that it is.
    let supported = !errors.is_empty() || driver().is_there() || seen_before();
    Report {
        supported,
        ..Report::of(state)
    }
}

/// What the kernel log says now, without any history: the answer to a scan and to a person who asks. The Xids themselves
/// are the report's events.
///
/// # Errors
/// As [`events`].
pub fn scan(
    context: &CheckContext,
    config: &Config,
    driver: &Driver,
    look_back: impl FnOnce() -> Result<LookBack, AccessError>,
    gpus: impl FnOnce() -> Vec<Gpu>,
) -> Result<Report, Error> {
    if let Some(failed) = driver.failed(context) {
        return Ok(Report::of(failed));
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
            let errors = found.iter().map(|(_, xid)| (xid.key(), xid.severity));
            let (found, scanned) = (found.len(), log.scanned);
            let reason = format!("matched {found} xid errors from {scanned} kmsg(s)");
            timeline::at_once(context, errors, config, reason)
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
mod stories;
#[cfg(test)]
mod tests;
