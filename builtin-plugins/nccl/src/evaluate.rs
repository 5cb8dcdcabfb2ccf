//! From what was read to what is reported. Everything here is a function of its arguments.

use std::collections::BTreeSet;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::incidents::is_kernel_line;
use gpud_sdk::kmsg::LookBack;
use gpud_sdk::{AccessError, CheckContext, Error, Event, Evidence, HealthState, Message, Report};

use crate::line;
use crate::patterns::NVIDIA_NCCL_SEGFAULT_IN_LIBNCCL as SEGFAULT;

/// Name of the events.
const EVENT_NAME: &str = SEGFAULT.name;
/// Crashes within one minute of the clock are one event with a count, whatever the process: all ranks of a job on this
/// machine crash together.
const MERGE_SECONDS: u32 = 60;
/// The same, in milliseconds, for repeated lines in a look at the moment.
const REPEAT_WINDOW_MS: u64 = 60_000;
/// Most events of a look at the moment; the newest.
const MAX_SHOWN: usize = 256;

/// The event that a message stands for, if any.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    if !is_kernel_line(message) || !line::is_crash(&message.text) {
        return None;
    }
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let mut event = Event::new(at, EVENT_NAME, SEGFAULT.event_type(), SEGFAULT.message);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    Some(event.merged_by(SEGFAULT.message, MERGE_SECONDS))
}

/// The state, which is always the same. Without a driver, only a stored crash shows that there is something to watch.
///
/// # Errors
/// When it cannot be determined whether there was a crash.
pub fn check(
    driver: &Driver,
    has_events: impl FnOnce() -> Result<bool, AccessError>,
) -> Result<Report, Error> {
    let state = HealthState {
        // GPUd's state has neither.
        name: None,
        time: None,
        health: gpud_sdk::Health::Healthy,
        reason: "no issue".to_owned(),
        error: None,
        suggested_actions: None,
        subject: None,
        recovery: Vec::new(),
        latch: false,
        evidence: Vec::new(),
        extra_info: Vec::new(),
        extra: Vec::new(),
    };
    Ok(Report {
        supported: driver.is_there() || has_events()?,
        ..Report::of(state)
    })
}

/// Judges the present kernel log: the answer to a scan and to a manual trigger. The crashes are the report's events.
pub fn scan(
    context: &CheckContext,
    driver: &Driver,
    look_back: impl FnOnce() -> Result<LookBack, AccessError>,
) -> Report {
    if let Some(failed) = driver.failed(context) {
        return Report::of(failed);
    }
    let log = look_back();
    let mut seen = BTreeSet::new();
    let messages = log.iter().flat_map(|log| &log.messages);
    let mut events: Vec<Event> = messages
        .filter(|message| seen.insert((message.time / REPEAT_WINDOW_MS, &message.text)))
        .filter_map(|message| event(context, message))
        .collect();
    events.drain(..events.len().saturating_sub(MAX_SHOWN));

    let state = match (&log, driver.missing()) {
        // Only when the log has none: a crash in NCCL shows that there is something to watch.
        (_, Some(reason)) if events.is_empty() => HealthState::healthy(context, reason),
        (Err(AccessError::Denied(_) | AccessError::NotFound(_)), _) => {
            HealthState::healthy(context, "kmsg reader is not set")
        }
        (Err(error), _) => HealthState::unjudged(context, error),
        (Ok(_), _) => HealthState::healthy(context, "scanned kmsg(s)"),
    };
    Report {
        supported: driver.is_there() || !events.is_empty(),
        events,
        ..Report::of(state)
    }
}

#[cfg(test)]
mod tests;
