//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use std::collections::BTreeSet;

use gpud_builtin_shared::driver::Driver;
use gpud_builtin_shared::vendor::CATALOG;
use gpud_sdk::error_codes::{repeats, timeline};
use gpud_sdk::findings;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::{AccessError, CheckContext, Error, Event, HealthState, Message, Report};

use crate::config::Config;
use crate::sxid::{self, Sxid};
use crate::{EVENT_NAME, row};

/// Milliseconds within which a repeated line is shown once by a look at the moment.
const REPEAT_WINDOW_MS: u64 = 60_000;
/// Most events of a look at the moment; the newest.
const MAX_SHOWN: usize = 256;

/// The events of messages.
///
/// # Errors
/// When an event cannot be written, which its types rule out.
pub fn events(
    context: &CheckContext,
    config: &Config,
    messages: &[Message],
) -> Result<Vec<Event>, Error> {
    let catalog = config.catalog();
    let events =
        decode(messages).map(|(message, sxid)| row::event(context, catalog, message, &sxid));
    let mut events: Vec<_> = events.collect::<Result<_, _>>().map_err(Error::failed)?;
    // The line with severity and link is one of three.
    repeats::fold(&mut events, &["severity", "link"]);
    Ok(events)
}

/// Decodes messages.
fn decode<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
) -> impl Iterator<Item = (&'a Message, Sxid<'a>)> {
    let messages = messages
        .into_iter()
        .filter(|message| is_driver_line(message));
    messages.filter_map(|message| {
        let sxid = sxid::decode(&message.text, message.facility)?;
        Some((message, sxid))
    })
}

/// The state that follows from the history. `events` are newest first, as `history` gives them; `reboots` too.
/// `seen_before` tells whether this machine ever had an SXid; asked only where nothing else tells that there is a
/// driver.
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
    let errors: Vec<&StoredEvent> = events
        .iter()
        .filter(|stored| stored.event.name == EVENT_NAME)
        .collect();
    let faults = || {
        let oldest_first = errors.iter().enumerate().rev();
        oldest_first
            .filter_map(|(index, stored)| Some(row::read(stored)?.fault(index, config.catalog())))
    };
    let reboots = || reboots.iter().rev().map(|time| time / 1000);
    let (verdict, by_policy) = timeline::judge(faults, reboots, config.codes());

    let mut state = verdict.state(EVENT_NAME, "SXIDComponent is healthy");
    state.error = error;
    let current = verdict.current.and_then(|index| errors.get(index));
    if let Some((stored, current)) = current.and_then(|stored| Some((stored, row::read(stored)?))) {
        state.reason = current.message();
        state.subject = row::subject(&current.device);
        state.evidence = current.evidence.to_vec();
        state.extra_info = repeated_facts(stored, config);
    }
    timeline::mark(&mut state, by_policy);
    // An SXid proves an NVIDIA driver, even where its library is gone; once cleared, it is to be seen that it is.
    let supported = !errors.is_empty() || driver().is_there() || seen_before();
    let report = Report {
        supported,
        ..Report::of(state)
    };
    findings::or_missing(report, "no NVIDIA driver, and no SXid so far")
}

/// Returns the facts of its event that a state repeats, and whose view judged.
fn repeated_facts(stored: &StoredEvent, config: &Config) -> Vec<(String, String)> {
    let facts = stored.event.extra_info.iter();
    let repeated = [row::VENDOR_ACTION, row::VENDOR_ACTION_WORDS];
    let mut copied: Vec<_> = facts
        .filter(|(key, _)| repeated.contains(&key.as_str()))
        .cloned()
        .collect();
    copied.push((CATALOG.to_owned(), config.catalog().word().to_owned()));
    copied
}

/// Judges the present kernel log without any history: the answer to a scan and to a manual trigger. The SXids
/// themselves are the report's events.
///
/// # Errors
/// As [`events`].
pub fn scan(
    context: &CheckContext,
    config: &Config,
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
    let found: Vec<_> = decode(fresh).collect();

    let state = match (&log, driver.missing()) {
        // Only when the log has none: an SXid on a machine whose library is gone is the news.
        (_, Some(reason)) if found.is_empty() => HealthState::healthy(context, reason),
        (Err(AccessError::Denied(_) | AccessError::NotFound(_)), _) => {
            HealthState::healthy(context, "kmsg reader is not set")
        }
        (Err(error), _) => HealthState::unjudged(context, error),
        (Ok(log), _) => {
            let errors = found
                .iter()
                .map(|(_, sxid)| (sxid.key(), sxid.verdict(config.catalog()).0));
            let (found, scanned) = (found.len(), log.scanned);
            let reason = format!("matched {found} sxid errors from {scanned} kmsg(s)");
            timeline::at_once(context, errors, config.codes(), reason)
        }
    };
    let shown = found.iter().skip(found.len().saturating_sub(MAX_SHOWN));
    let catalog = config.catalog();
    let events = shown.map(|(message, sxid)| row::event(context, catalog, message, sxid));
    Ok(Report {
        supported: driver.is_there() || !found.is_empty(),
        events: events.collect::<Result<_, _>>().map_err(Error::failed)?,
        ..Report::of(state)
    })
}

#[cfg(test)]
mod stories;
#[cfg(test)]
mod tests;
