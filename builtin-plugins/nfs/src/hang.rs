//! Does an NFS client hang, by what the kernel log reported?

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::history::{Reboot, StoredEvent};
use gpud_sdk::incidents;
use gpud_sdk::policy::{self, Policy, PolicyInput};
use gpud_sdk::{AccessError, CheckContext, Evidence, HealthState, Recovery, RepairAction};

use crate::evaluate::KernelLogHistory;
use crate::kmsg::{
    LOCK_RECLAIM_FAILED, NOT_RESPONDING, NOT_RESPONDING_MESSAGE, OK, OK_MESSAGE, WRITEBACK_HANG,
    subject,
};
use crate::patterns::NFS_SERVER_NOT_RESPONDING;

/// How long an event counts: 3 days.
pub const LOOK_BACK_MS: u64 = 3 * 24 * 60 * 60 * 1000;
/// Events looked at; the newest count.
pub const MAX_EVENTS: u32 = 5_000;
/// Stack traces, five minutes apart each, that are more than one slow write.
const WRITEBACK_HINTS: usize = 2;
/// Hangs after a reboot from which on more reboots are thought useless.
const RETURNS_BEFORE_INSPECTION: usize = 2;
/// Kernel log records given as evidence.
const MAX_EVIDENCE: usize = 16;
/// What to do about it, in words.
const ADVICE: &str = NFS_SERVER_NOT_RESPONDING.advice;

/// A hang that is not over.
#[derive(Debug, Clone, PartialEq)]
pub struct Hang {
    /// What it was drawn from, in words.
    pub reason: String,
    /// What to do.
    pub action: RepairAction,
    /// The only silent server, when there is nothing else.
    pub server: Option<String>,
    /// Whether it is over when the servers answer again.
    pub ends_with_answers: bool,
    /// When the newest of its events was last seen, Unix milliseconds.
    pub last: u64,
    /// Records of the kernel log.
    pub evidence: Vec<Evidence>,
}

/// The events that a site's policy judges.
#[derive(Debug)]
pub struct PolicyVerdict {
    past: PolicyInput,
    /// Whether the remaining events give another verdict than without the policy.
    changed: bool,
}

/// Takes the events that the policy names out of what was reported; nothing where it names none of them.
///
/// # Errors
/// When the reboots are not known.
pub fn by_policy<R>(
    context: &CheckContext,
    policy: &Policy,
    history: &mut KernelLogHistory<R>,
) -> Result<Option<PolicyVerdict>, AccessError>
where
    R: Fn() -> Result<Vec<Reboot>, AccessError>,
{
    let named = |stored: &StoredEvent| policy.names(&stored.event.name);
    let events = match &mut history.events {
        Ok(events) if events.iter().any(named) => events,
        _ => return Ok(None),
    };
    let all = std::mem::take(events);
    *events = policy.left(&all);
    let times = (history.reboots)()?;
    let judged = |events: &[StoredEvent]| judge(events, || Ok(times.clone()));
    Ok(Some(PolicyVerdict {
        changed: judged(&all)? != judged(events)?,
        past: PolicyInput {
            events: all,
            boots: incidents::boots(context, times.iter().map(|reboot| reboot.time)),
            set_healthy: true,
        },
    }))
}

impl PolicyVerdict {
    /// Adds what the policy makes of them to the state of the rest.
    pub fn lay_over(&self, context: &CheckContext, policy: &Policy, state: &mut HealthState) {
        if policy.lay_over(context, &self.past, state) || self.changed {
            policy::mark(state);
        }
    }
}

/// The events that are evidence of a hang.
#[derive(Debug, Default)]
struct HangSigns<'a> {
    locks: Vec<&'a StoredEvent>,
    silent: Vec<(&'a str, &'a StoredEvent)>,
    writeback: Vec<&'a StoredEvent>,
}

/// Judges the events, newest first. `reboots` is asked only if there are signs of a hang.
///
/// # Errors
/// When the reboots are not known.
pub fn judge(
    events: &[StoredEvent],
    reboots: impl FnOnce() -> Result<Vec<Reboot>, AccessError>,
) -> Result<Option<Hang>, AccessError> {
    let signs = HangSigns::of(events.iter());
    if signs.is_empty() {
        return Ok(None);
    }
    let mut reboots: Vec<u64> = reboots()?
        .iter()
        .map(|reboot| seconds(reboot.time))
        .collect();
    reboots.sort_unstable();
    let (Some(&oldest), Some(&newest)) = (reboots.first(), reboots.last()) else {
        return Ok(Some(signs.hang(RepairAction::RebootSystem)));
    };
    let since = |at: u64| {
        events
            .iter()
            .filter(move |stored| seconds(last(stored)) >= at)
    };
    let signs = HangSigns::of(since(newest));
    if signs.is_empty() {
        return Ok(None);
    }
    let failures: Vec<u64> = since(oldest)
        .filter(|stored| is_hang(&stored.event.name))
        .map(|stored| seconds(stored.event.time))
        .collect();
    Ok(Some(signs.hang(act(reboots.len(), &failures))))
}

/// After this many reboots, and failures at these times since the first of them.
fn act(reboots: usize, failures: &[u64]) -> RepairAction {
    let times: BTreeSet<u64> = failures.iter().copied().collect();
    if reboots > 1 && failures.len() > 1 && times.len() >= RETURNS_BEFORE_INSPECTION {
        RepairAction::HardwareInspection
    } else {
        RepairAction::RebootSystem
    }
}

fn is_hang(name: &str) -> bool {
    matches!(name, NOT_RESPONDING | LOCK_RECLAIM_FAILED | WRITEBACK_HANG)
}

impl<'a> HangSigns<'a> {
    fn of(events: impl Iterator<Item = &'a StoredEvent>) -> Self {
        let mut signs = Self::default();
        let mut answered: BTreeMap<&str, u64> = BTreeMap::new();
        for stored in events {
            let message = stored.event.message.as_str();
            match stored.event.name.as_str() {
                LOCK_RECLAIM_FAILED => signs.locks.push(stored),
                WRITEBACK_HANG => signs.writeback.push(stored),
                NOT_RESPONDING => {
                    let server = message.strip_prefix(NOT_RESPONDING_MESSAGE);
                    signs.silent.push((server.unwrap_or(message), stored));
                }
                OK => {
                    let server = message.strip_prefix(OK_MESSAGE).unwrap_or(message);
                    let at = answered.entry(server).or_default();
                    *at = last(stored).max(*at);
                }
                _ => {}
            }
        }
        signs.silent.retain(|(server, stored)| {
            answered
                .get(server)
                .is_none_or(|&answer| last(stored) > answer)
        });
        if signs.writeback.len() < WRITEBACK_HINTS {
            signs.writeback.clear();
        }
        signs
    }

    fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.silent.is_empty() && self.writeback.is_empty()
    }

    fn hang(&self, action: RepairAction) -> Hang {
        let parts = [
            (self.locks.len(), "lock reclaim failures"),
            (self.silent.len(), "NFS server not-responding events"),
            (self.writeback.len(), "NFS writeback stack hints"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let ends_with_answers = self.locks.is_empty() && self.writeback.is_empty();
        let mut servers: Vec<&str> = self.silent.iter().map(|&(server, _)| server).collect();
        servers.sort_unstable();
        servers.dedup();
        let server = match servers.as_slice() {
            [one] if ends_with_answers => Some((*one).to_owned()),
            _ => None,
        };
        let silent = self.silent.iter().map(|&(_, stored)| stored);
        let all = || {
            let others = self.locks.iter().chain(&self.writeback).copied();
            others.chain(silent.clone())
        };
        Hang {
            reason: format!("NFS hang detected: {}", parts.join("; ")),
            action,
            server,
            ends_with_answers,
            last: all().map(last).max().unwrap_or(0),
            evidence: all()
                .flat_map(|stored| stored.event.evidence.iter().cloned())
                .take(MAX_EVIDENCE)
                .collect(),
        }
    }
}

impl Hang {
    /// The state of a machine that hangs.
    pub fn state(self, context: &CheckContext) -> HealthState {
        let mut state = HealthState::unhealthy(context, self.reason)
            .action(self.action, ADVICE)
            .clears_by(Recovery::Reboot)
            .clears_by(Recovery::At(self.last.saturating_add(LOOK_BACK_MS)))
            .clears_by(Recovery::SetHealthy);
        if self.ends_with_answers {
            state = state.clears_by(Recovery::NextGoodReading);
        }
        state.subject = self.server.as_deref().map(subject);
        state.evidence = self.evidence;
        state
    }
}

fn last(stored: &StoredEvent) -> u64 {
    stored.last_time.max(stored.event.time)
}

/// Reboots are known to the second.
fn seconds(millis: u64) -> u64 {
    millis / 1000
}

#[cfg(test)]
mod tests;
