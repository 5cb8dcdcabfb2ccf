//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use std::collections::BTreeSet;

use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::is_kernel_line;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::{
    AccessError, CheckContext, Error, Event, EventType, Health, HealthState, Message, Recovery,
    RepairAction, Report,
};

use crate::catalog::Action;
use crate::config::Config;
use crate::driver::Driver;
use crate::{EVENT_NAME, row, sxid, timeline};

/// Milliseconds within which a repeated line is shown once by a look at the moment.
const REPEAT_WINDOW_MS: u64 = 60_000;
/// Most events of a look at the moment; the newest.
const MAX_SHOWN: usize = 256;

/// The events of messages.
///
/// # Errors
/// When an event cannot be written, which its types rule out.
pub fn events<'a>(
    context: &CheckContext,
    messages: impl IntoIterator<Item = &'a Message>,
) -> Result<Vec<Event>, Error> {
    let messages = messages
        .into_iter()
        .filter(|message| is_kernel_line(message));
    let found = messages.filter_map(|message| {
        let sxid = sxid::decode(&message.text, message.facility)?;
        Some(row::event(context, message, &sxid).map_err(Error::failed))
    });
    found.collect()
}

/// The state that the history comes to. `events` are newest first, as `history` gives them; `reboots` too. `seen_before`
/// tells whether this machine ever had an SXid; asked only where nothing else tells that there is a driver.
pub fn check(
    config: &Config,
    events: &[StoredEvent],
    reboots: Result<Vec<u64>, AccessError>,
    seen_before: impl FnOnce() -> bool,
    driver: impl FnOnce() -> Driver,
) -> Report {
    let (reboots, error) = match reboots {
        Ok(reboots) => (reboots, None),
        Err(error) => (
            Vec::new(),
            Some(format!("failed to get reboot events: {}\n", error.text())),
        ),
    };
    let errors = || {
        events
            .iter()
            .filter(|stored| stored.event.name == EVENT_NAME)
    };
    let rows = errors().rev().filter_map(row::read);
    let verdict = timeline::judge(rows, reboots.iter().rev().map(|time| time / 1000), config);

    let mut state = HealthState {
        name: Some(EVENT_NAME.to_owned()),
        time: None,
        health: verdict.health.clone(),
        reason: "SXIDComponent is healthy".to_owned(),
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
        state.reason = current.message();
        state.subject = row::subject(&current.device);
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
    // An SXid proves an NVIDIA driver, even where its library is gone; once cleared, it is to be seen that it is.
    let supported = errors().next().is_some() || driver().is_there() || seen_before();
    Report {
        supported,
        ..Report::of(state)
    }
}

fn repair_action(word: &str) -> RepairAction {
    match word {
        word if word == Action::Reboot.word() => RepairAction::RebootSystem,
        word if word == Action::Inspect.word() => RepairAction::HardwareInspection,
        other => RepairAction::Other(other.to_owned()),
    }
}

/// What the kernel log says now, without any history: the answer to a scan and to a person who asks. The SXids
/// themselves are the report's events.
///
/// # Errors
/// As [`events`].
pub fn scan(
    context: &CheckContext,
    driver: &Driver,
    look_back: impl FnOnce() -> Result<LookBack, AccessError>,
) -> Result<Report, Error> {
    if let Some(failed) = driver.failed(context) {
        return Ok(Report::of(failed));
    }
    let log = look_back();
    let mut seen = BTreeSet::new();
    let messages = log.iter().flat_map(|log| &log.messages);
    let fresh =
        messages.filter(|message| seen.insert((message.time / REPEAT_WINDOW_MS, &message.text)));
    let mut events = events(context, fresh)?;

    let state = match (&log, driver.missing()) {
        // Only when the log has none: an SXid on a machine whose library is gone is the news.
        (_, Some(reason)) if events.is_empty() => HealthState::healthy(context, reason),
        (Err(AccessError::Denied(_) | AccessError::NotFound(_)), _) => {
            HealthState::healthy(context, "kmsg reader is not set")
        }
        (Err(error), _) => {
            HealthState::unhealthy(context, "failed to read kmsg").error(error.text())
        }
        (Ok(log), _) => {
            let fatal = |event: &Event| event.event_type == EventType::Fatal;
            let health = if events.iter().any(fatal) {
                Health::Unhealthy
            } else {
                Health::Healthy
            };
            let (found, scanned) = (events.len(), log.scanned);
            let reason = format!("matched {found} sxid errors from {scanned} kmsg(s)");
            HealthState::new(context, health, reason)
        }
    };
    let supported = driver.is_there() || !events.is_empty();
    events.drain(..events.len().saturating_sub(MAX_SHOWN));
    Ok(Report {
        supported,
        events,
        ..Report::of(state)
    })
}

#[cfg(test)]
mod tests;
