//! The verdict: a hang in the kernel log is judged first, since volumes of a client that hangs are better left alone.

use gpud_sdk::history::{Reboot, StoredEvent};
use gpud_sdk::{AccessError, CheckContext, HealthState, Report, Subject, Trigger};

use crate::config::Config;
use crate::hang;
use crate::memory::Memory;
use crate::probe::{self, Machine, Outcome, ProbeContext};

/// The events of the kernel log, and the reboots in the same time.
#[derive(Debug)]
pub struct KernelLogHistory<R> {
    /// Events, newest first; an error when there are some that cannot be read.
    pub events: Result<Vec<StoredEvent>, AccessError>,
    /// The reboots of the same time.
    pub reboots: R,
}

/// Judges a machine. `id` names its file on the volumes.
pub fn check<R>(
    context: &CheckContext,
    config: &Config,
    history: KernelLogHistory<R>,
    id: &str,
    machine: &impl Machine,
    memory: &mut Memory,
) -> Report
where
    R: FnOnce() -> Result<Vec<Reboot>, AccessError>,
{
    let mut unread = None;
    let hang = match history.events {
        Ok(events) => hang::judge(&events, history.reboots),
        Err(error) => {
            unread = Some(format!("the events cannot be read: {}", error.text()));
            Ok(None)
        }
    };
    match hang {
        Ok(Some(hang)) => return Report::of(hang.state(context)),
        Ok(None) => {}
        Err(error) => {
            let state = HealthState::unhealthy(context, "failed to get reboot events");
            return Report::of(state.error(error.text()));
        }
    }
    let moment = ProbeContext {
        id,
        now: context.now,
        insists: matches!(context.trigger, Trigger::Manual | Trigger::SetHealthy),
    };
    let mut state = state(context, probe::probe(config, moment, machine, memory));
    if let Some(unread) = unread {
        state.error = Some(match state.error {
            Some(error) => format!("{error}; {unread}"),
            None => unread,
        });
    }
    Report::of(state)
}

fn state(context: &CheckContext, outcome: Outcome) -> HealthState {
    let mut state = HealthState::new(context, outcome.health, outcome.reason);
    state.error = outcome.error;
    state.subject = outcome.volume.map(Subject::Mount);
    state
}

/// Whether an event counts at all, by when it was last seen.
pub fn is_recent(stored: &StoredEvent, now: u64) -> bool {
    stored.last_time > now.saturating_sub(hang::LOOK_BACK_MS)
}

#[cfg(test)]
mod tests;
