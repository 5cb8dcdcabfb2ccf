//! Processes in uninterruptible sleep: how many there are, which of them are stuck, and what is to be done about it.

use gpud_sdk::sysfs::FileContent;
use gpud_sdk::{AccessError, CheckContext, Error, Event, Health, RepairAction};

use super::{ProcessHistory, Trouble};
use crate::config::Config;
use crate::dstate::{self, Counts, Stuck, Tracker};
use crate::processes::Processes;
use crate::sweep::Elsewhere;
use crate::waits;

/// Reboots after which one more is thought useless.
const REBOOTS_BEFORE_INSPECTION: usize = 2;

/// What was read of blocked processes.
pub(super) struct Seen<'a> {
    /// The processes whose turn it was.
    pub(super) processes: &'a Processes,
    /// The known facts about the others.
    pub(super) elsewhere: &'a Elsewhere,
    /// Where in the kernel blocked ones wait.
    pub(super) wait_channels: &'a [FileContent],
    /// A set-healthy that the tracker has not seen.
    pub(super) mark: Option<u64>,
}

/// What following them gave.
#[derive(Default)]
pub(super) struct Followed {
    /// How many are blocked, and how many stuck.
    pub(super) counts: Counts,
    /// What is wrong, if any is stuck.
    pub(super) trouble: Option<Trouble>,
    /// That some became stuck, or are no longer.
    pub(super) events: Vec<Event>,
}

/// Follows blocked processes from check to check. `past` is asked for only when it matters.
///
/// # Errors
/// That of `past`.
pub(super) fn follow(
    context: &CheckContext,
    config: &Config,
    seen: &Seen<'_>,
    tracker: &mut Tracker,
    past: impl FnOnce() -> Result<ProcessHistory, AccessError>,
) -> Result<Followed, Error> {
    let now = context.now / 1000;
    let cleared = seen.mark.and_then(|mark| tracker.mark(mark));
    let cleared = cleared.map(|message| dstate::recovered(context.now, message));
    let mut events: Vec<Event> = cleared.into_iter().collect();
    let watched = Processes::parse(&seen.elsewhere.watched).blocked;
    let waiting = waits::for_user_space(seen.wait_channels);
    let here = &seen.processes.blocked;
    let mut blocked: Vec<_> = here.iter().chain(&watched).cloned().collect();
    blocked.retain(|process| !waiting.contains(&process.pid));
    tracker.update(now, &blocked);
    let stuck = tracker.stuck(now, config.threshold, &config.names);
    let counts = Counts {
        current_count: here.len() + seen.elsewhere.blocked as usize,
        persistent_count: stuck.count,
        persistent: stuck.list.clone(),
    };
    let trouble = if stuck.count > 0 {
        Some(stuck_row(&stuck, config, past)?)
    } else {
        None
    };
    let reason = trouble.as_ref().map(|trouble| trouble.reason.as_str());
    events.extend(tracker.turn(context.now, reason, &counts));
    Ok(Followed {
        counts,
        trouble,
        events,
    })
}

/// Stuck processes: of a name that escalates, a reboot is due, or when that did not help, an inspection.
fn stuck_row(
    stuck: &Stuck,
    config: &Config,
    past: impl FnOnce() -> Result<ProcessHistory, AccessError>,
) -> Result<Trouble, Error> {
    let summary = stuck.summary();
    if !stuck
        .list
        .iter()
        .any(|process| config.names.matches(&process.name))
    {
        let reason = format!(
            "persistent D-state (uninterruptible sleep) processes detected (persistent: {}): {summary}",
            stuck.count
        );
        return Ok(Trouble {
            health: Health::Degraded,
            reason,
            error: None,
            action: None,
        });
    }
    let reboots = reboots_since_recovery(&past()?);
    let action = if reboots < REBOOTS_BEFORE_INSPECTION {
        let text = "reboot the system to clear persistent D-state processes stuck in uninterruptible kernel waits";
        (RepairAction::RebootSystem, text.to_owned())
    } else {
        let text = format!(
            "persistent D-state processes reappeared after {reboots} reboots; recommend hardware/driver inspection instead of another reboot"
        );
        (RepairAction::HardwareInspection, text)
    };
    let names = config.names.joined();
    let reason =
        format!("persistent D-state processes matching escalation rules {names:?}: {summary}");
    Ok(Trouble {
        health: Health::Unhealthy,
        reason,
        error: None,
        action: Some(action),
    })
}

fn reboots_since_recovery(past: &ProcessHistory) -> usize {
    let recovered = past
        .events
        .iter()
        .filter(|stored| stored.event.name == "blocked_processes_recovered")
        .map(|stored| stored.last_time.max(stored.event.time))
        .max()
        .unwrap_or(0);
    past.reboots
        .iter()
        .filter(|reboot| reboot.time > recovered)
        .count()
}
