//! The retained state of one port, and how one reading updates it.

use serde::{Deserialize, Serialize};

use crate::config::{Config, MAX_OUTAGES};

/// The history of one port, as it is saved between checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PortHistory {
    /// Best rate at which it was ever up; none if it never was: nothing may be plugged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_rate: Option<u64>,
    /// Was it ACTIVE when it was last seen, in this boot?
    #[serde(skip_serializing_if = "is_false")]
    pub(super) active: bool,
    /// An operator saw that it is down, and set the component healthy.
    #[serde(skip_serializing_if = "is_false")]
    pub acknowledged: bool,
    /// Its card refuses to count, in this boot.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) refuses_counters: bool,
    /// Since when it is not ACTIVE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// When outages of a flap ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) outages: Vec<u64>,
    /// The last drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<PortDrop>,
    /// The flap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flap: Option<Flap>,
}

/// A time in which a port is not ACTIVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// First seen so.
    pub since: u64,
    /// When `link_downed` last changed.
    pub(super) steady_since: u64,
    /// `link_downed`.
    pub(super) link_downed: Option<u64>,
    /// Seen down for long enough to count for a flap.
    pub(super) counts: bool,
    /// Whether it began while the port was ACTIVE.
    pub(super) after_active: bool,
    /// Not down but not there.
    pub gone: bool,
}

/// A port that was down for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortDrop {
    /// Since when it was down.
    pub since: u64,
    /// When it ended; none while it lasts.
    pub until: Option<u64>,
}

/// A port that goes down and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flap {
    /// End of the outage that made it one.
    pub since: u64,
    /// End of the last outage.
    pub last: u64,
}

// serde's skip_serializing_if hands over a reference.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl PortHistory {
    /// It is ACTIVE.
    pub(super) fn is_active(&mut self, config: &Config, now: u64) {
        if self.outage.take().is_some_and(|outage| outage.counts) {
            self.outages.push(now);
            let since = now.saturating_sub(config.lookback_seconds);
            self.outages.retain(|&end| end >= since);
            if self.outages.len() as u64 > MAX_OUTAGES {
                self.outages.remove(0);
            }
            match &mut self.flap {
                Some(flap) => flap.last = now,
                None if self.outages.len() as u64 >= config.flap_outages => {
                    self.flap = Some(Flap {
                        since: now,
                        last: now,
                    });
                }
                None => {}
            }
        }
        self.active = true;
        self.acknowledged = false;
    }

    /// A device that went away and comes back starts from zero: that is no flap of its link.
    pub(super) fn is_gone(&mut self, config: &Config, may_drop: bool, now: u64) {
        self.active = false;
        if let Some(outage) = &mut self.outage {
            outage.after_active = false;
        }
        self.is_down(config, None, may_drop, now);
        if let Some(outage) = &mut self.outage {
            outage.gone = true;
        }
    }

    /// It is there and not ACTIVE. `may_drop` tells that it matters.
    pub(super) fn is_down(
        &mut self,
        config: &Config,
        link_downed: Option<u64>,
        may_drop: bool,
        now: u64,
    ) {
        let after_active = self.active;
        self.active = false;
        let outage = self.outage.get_or_insert(Outage {
            since: now,
            steady_since: now,
            link_downed,
            counts: false,
            after_active,
            gone: false,
        });
        outage.gone = false;
        outage.counts |=
            outage.after_active && now.saturating_sub(outage.since) >= config.flap_down_seconds;
        match (outage.link_downed, link_downed) {
            (Some(before), Some(after)) if before != after => {
                outage.steady_since = now;
                outage.link_downed = link_downed;
            }
            (None, Some(_)) => outage.link_downed = link_downed,
            _ => {}
        }
        if may_drop && now.saturating_sub(outage.steady_since) >= config.drop_after_seconds {
            let since = outage.since;
            match &mut self.drop {
                Some(drop) if drop.since == since => drop.until = None,
                drop => *drop = Some(PortDrop { since, until: None }),
            }
        }
    }

    /// Drops entries that ended and were shown long enough.
    pub(super) fn forget(&mut self, config: &Config, now: u64) {
        let is_over = |end: u64| now.saturating_sub(end) >= config.drop_shown_seconds;
        if self
            .drop
            .is_some_and(|drop| drop.until.is_some_and(is_over))
        {
            self.drop = None;
        }
        let window = config.flap_auto_clear_seconds;
        let calm = |flap: Flap| now.saturating_sub(flap.last) >= window;
        let may_be_calm = self.active || self.outage.is_some_and(|outage| outage.gone);
        if window > 0 && may_be_calm && self.flap.is_some_and(calm) {
            self.flap = None;
            self.outages.clear();
        }
    }

    /// A clock that was set back must not make anything last.
    pub(super) fn not_after(&mut self, now: u64) {
        let clamp = |time: &mut u64| *time = (*time).min(now);
        self.outages.iter_mut().for_each(clamp);
        if let Some(outage) = &mut self.outage {
            clamp(&mut outage.since);
            clamp(&mut outage.steady_since);
        }
        if let Some(drop) = &mut self.drop {
            clamp(&mut drop.since);
            drop.until.iter_mut().for_each(clamp);
        }
        if let Some(flap) = &mut self.flap {
            clamp(&mut flap.since);
            clamp(&mut flap.last);
        }
    }
}
