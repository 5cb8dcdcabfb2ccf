//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use std::collections::BTreeSet;

use gpud_builtin_shared::driver::Driver;
use gpud_builtin_shared::vendor::CATALOG;
use gpud_sdk::error_codes::timeline;
use gpud_sdk::findings;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::{AccessError, CheckContext, Error, Event, HealthState, Message, Report};

use crate::catalog::{Action, Severity};
use crate::config::Config;
use crate::facts::Facts;
use crate::gpu::{self, Gpu};
use crate::xid::{self, Xid};
use crate::{EVENT_NAME, batch, board, names, related, row};

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
    config: &Config,
    messages: &[Message],
    product: impl FnOnce() -> Option<String>,
    gpus: impl FnOnce() -> Vec<Gpu>,
) -> Result<Vec<Event>, Error> {
    let mut found = decode(config, messages.iter(), product);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let gpus = gpus();
    soften_remapping(config, &mut found, &gpus);
    let mut events = found
        .iter()
        .map(|(message, xid)| stored(context, config, message, xid, &gpus))
        .collect::<Result<Vec<_>, _>>()?;
    batch::relate(&mut events, &found);
    Ok(events)
}

fn stored(
    context: &CheckContext,
    config: &Config,
    message: &Message,
    xid: &Xid<'_>,
    gpus: &[Gpu],
) -> Result<Event, Error> {
    let event = row::event(context, config.catalog(), message, xid, gpus);
    let mut event = event.map_err(Error::failed)?;
    if config.is_saved_log() && is_remapping(xid) {
        let note = remapping_note(remaps_rows(config, message, xid, gpus));
        event.extra_info.push(("note".to_owned(), note.to_owned()));
    }
    Ok(event)
}

fn is_remapping(xid: &Xid<'_>) -> bool {
    matches!(xid.code, 63 | 64)
}

/// Decodes messages of the driver. Xid 63 and 64 are left to the component for remapped rows where the product has them. They
/// stay if the product is not known, and in a saved log, where no other component can see them.
fn decode<'a>(
    config: &Config,
    messages: impl Iterator<Item = &'a Message>,
    product: impl FnOnce() -> Option<String>,
) -> Vec<(&'a Message, Xid<'a>)> {
    let mut found: Vec<_> = messages
        .filter(|message| is_driver_line(message))
        .filter_map(|message| Some((message, xid::decode(&message.text)?)))
        .collect();
    if !config.is_saved_log()
        && found.iter().any(|(_, xid)| is_remapping(xid))
        && product().is_some_and(|name| gpu::remaps_rows(&name))
    {
        found.retain(|(_, xid)| !is_remapping(xid));
    }
    found
}

/// In a saved log, a row remapping of a GPU that is known to remap rows is news: the row takes effect with the next reset,
/// and the GPU goes on without it.
fn soften_remapping(config: &Config, found: &mut [(&Message, Xid<'_>)], gpus: &[Gpu]) {
    if !config.is_saved_log() {
        return;
    }
    for (message, xid) in found {
        if xid.code == 63 && remaps_rows(config, message, xid, gpus) == Some(true) {
            xid.severity = Severity::Info;
            xid.actions = &[Action::Reboot];
        }
    }
}

/// Whether the GPU of a saved line remaps rows: by the product that the operator names, by the line itself, or by the chip
/// that other lines of the log name. `None` when nothing says so.
fn remaps_rows(config: &Config, message: &Message, xid: &Xid<'_>, gpus: &[Gpu]) -> Option<bool> {
    if let Some(product) = config.product() {
        return Some(gpu::remaps_rows(product));
    }
    if Facts::of(&message.text).remaps_rows() {
        return Some(true);
    }
    board::remaps_rows(gpu::find(gpus, &xid.device)?.chip?)
}

fn remapping_note(remaps_rows: Option<bool>) -> &'static str {
    match remaps_rows {
        Some(true) => {
            "This GPU remaps rows: a pending remapping (63) takes effect with the next reset of the GPU; a failed one (64) asks for a new GPU if it comes back after a reset."
        }
        Some(false) => "This GPU retires pages and does not remap rows.",
        None => {
            "On a GPU that remaps rows (A100 and later) Xid 63 is harmless until the next reset. The log does not say which GPU it is: name it with --product."
        }
    }
}

/// The state that follows from the history. `events` are newest first, as `history` gives them; `reboots` too.
/// `seen_before` tells whether this machine ever had an Xid; asked only where nothing else tells that there is a GPU.
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
    let oldest_first = errors.iter().enumerate().rev();
    let rows: Vec<_> = oldest_first
        .filter_map(|(index, stored)| Some((index, row::read(stored)?)))
        .collect();
    let faults = related::faults(&rows, config);
    let faults = || faults.iter().cloned();
    let reboots = || reboots.iter().rev().map(|time| time / 1000);
    let (verdict, by_policy) = timeline::judge(faults, reboots, config.codes());

    let mut state = verdict.state(EVENT_NAME, "XIDComponent is healthy");
    state.error = error;
    let current = verdict.current.and_then(|index| errors.get(index));
    if let Some((stored, current)) = current.and_then(|stored| Some((stored, row::read(stored)?))) {
        // A GPU that fell off the bus is not found any more: what was known when it happened counts first.
        let now = if current.uuid.is_none() {
            gpus()
        } else {
            Vec::new()
        };
        let found = gpu::find(&now, &current.device);
        let uuid = current.uuid.or(found.and_then(Gpu::uuid));
        state.reason = current.message(uuid);
        state.subject = match &stored.event.subject {
            Some(subject) if found.is_none() => Some(subject.clone()),
            _ => gpu::subject(
                &current.device,
                uuid,
                found.and_then(|gpu| gpu.serial.as_deref()),
            ),
        };
        state.evidence = current.evidence.to_vec();
        state.extra_info = repeated_facts(stored, config);
        if found.is_some() {
            let names = gpu::words(&current.device, found);
            state.extra_info.retain(|(key, _)| key != row::GPU);
            state.extra_info.insert(0, (row::GPU.to_owned(), names));
        }
    }
    timeline::mark(&mut state, by_policy);
    // An Xid proves an NVIDIA driver, even where its library is gone; once cleared, it is to be seen that it is.
    let supported = !errors.is_empty() || driver().is_there() || seen_before();
    let report = Report {
        supported,
        ..Report::of(state)
    };
    findings::or_missing(report, "no NVIDIA driver, and no Xid so far")
}

/// Returns the facts of its event that a state repeats, and whose view judged.
fn repeated_facts(stored: &StoredEvent, config: &Config) -> Vec<(String, String)> {
    let facts = stored.event.extra_info.iter();
    let repeated = [row::GPU, row::VENDOR_ACTION, row::VENDOR_ACTION_WORDS];
    let mut copied: Vec<_> = facts
        .filter(|(key, _)| repeated.contains(&key.as_str()))
        .cloned()
        .collect();
    copied.push((CATALOG.to_owned(), config.catalog().word().to_owned()));
    copied
}

/// Judges the present kernel log without any history: the answer to a scan and to a manual trigger. The Xids themselves
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
    let found = decode(config, fresh, || driver.product.clone().ok());

    let state = match (&log, driver.missing()) {
        // Only when the log has none: an Xid on a machine whose library is gone is the news.
        (_, Some(reason)) if found.is_empty() => HealthState::healthy(context, reason),
        (Err(AccessError::Denied(_) | AccessError::NotFound(_)), _) => {
            HealthState::healthy(context, "kmsg reader is not set")
        }
        (Err(error), _) => HealthState::unjudged(context, error),
        (Ok(log), _) => {
            let errors = found.iter().map(|(message, xid)| {
                let recovery = Facts::of(&message.text).recovery.map(|(_, to)| to);
                (xid.key(), xid.verdict(config.catalog(), recovery).0)
            });
            let (found, scanned) = (found.len(), log.scanned);
            let reason = format!("matched {found} xid errors from {scanned} kmsg(s)");
            timeline::at_once(context, errors, config.codes(), reason)
        }
    };
    let mut report = Report {
        supported: driver.is_there() || !found.is_empty(),
        ..Report::of(state)
    };
    if !found.is_empty() {
        let mut gpus = gpus();
        let lines = log.iter().flat_map(|log| &log.messages);
        let lines = lines.filter(|message| is_driver_line(message));
        let mut named = Vec::new();
        names::add(&mut named, lines.map(|message| message.text.as_str()));
        gpus.extend(named);
        let shown = found
            .get(found.len().saturating_sub(MAX_SHOWN)..)
            .unwrap_or_default();
        report.events = shown
            .iter()
            .map(|(message, xid)| stored(context, config, message, xid, &gpus))
            .collect::<Result<_, _>>()?;
        batch::relate(&mut report.events, shown);
    }
    Ok(report)
}

#[cfg(test)]
mod stories;
#[cfg(test)]
mod tests;
