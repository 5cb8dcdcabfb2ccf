//! Which incidents are open.

use std::collections::{BTreeMap, BTreeSet};

use super::device;
use crate::history::StoredEvent;
use crate::{CheckContext, Health, RepairAction};

/// Earlier boots in which the same happened, after which one more reboot is thought useless.
const BOOTS_BEFORE_INSPECTION: usize = 2;

/// The result of events of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Name of the events.
    pub event: &'static str,
    /// How many, of one device and within `remember_ms`, make an incident.
    pub at_least: u64,
    /// How long an event counts after it was last seen, milliseconds.
    pub remember_ms: u64,
    /// Whether a reboot ends it.
    pub reboot_clears: bool,
    /// Names of events of the same device that end it.
    pub ended_by: &'static [&'static str],
    /// How healthy the component is while it is open.
    pub health: Health,
    /// What to do. Where a reboot ends it and two earlier boots did not help, `RebootSystem` becomes
    /// `HardwareInspection`.
    pub action: Option<RepairAction>,
    /// The same in words; may be empty.
    pub advice: &'static str,
}

/// Trouble that is not over, of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident<'a> {
    /// Why it is one.
    pub rule: &'a Rule,
    /// Which device; may be empty.
    pub device: &'a str,
    /// How many events.
    pub count: u64,
    /// When the first was seen, unix milliseconds.
    pub first: u64,
    /// When the last was seen.
    pub last: u64,
    /// The newest event.
    pub newest: &'a StoredEvent,
    /// In how many boots it was seen within the time that is remembered, this one included.
    pub boots: usize,
    /// True if the newest event is of this boot.
    pub this_boot: bool,
}

impl Incident<'_> {
    /// When it is forgotten, should nothing more happen, unix milliseconds.
    pub fn clears_at(&self) -> u64 {
        self.last.saturating_add(self.rule.remember_ms)
    }

    /// What to do, escalated where reboots did not help.
    pub fn action(&self) -> Option<RepairAction> {
        let rebooted_in_vain = self.rule.reboot_clears && self.boots > BOOTS_BEFORE_INSPECTION;
        match &self.rule.action {
            Some(RepairAction::RebootSystem) if rebooted_in_vain => {
                Some(RepairAction::HardwareInspection)
            }
            action => action.clone(),
        }
    }
}

/// When the machine booted, newest first, unix milliseconds: `reboots` (newest first, as `history` gives them) and this
/// boot, should it be missing there.
pub fn boots(context: &CheckContext, reboots: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut boots: Vec<u64> = reboots.into_iter().collect();
    let newest = boots.first().copied().unwrap_or(0);
    if context.boot_time / 1000 > newest / 1000 {
        boots.insert(0, context.boot_time);
    }
    boots
}

/// The open incidents, in the order of the rules and then of the devices' names. `events` are newest first, as `history`
/// gives them; `boots` too.
pub fn open<'a>(
    rules: &'a [Rule],
    events: &'a [StoredEvent],
    boots: &[u64],
    now: u64,
) -> Vec<Incident<'a>> {
    // Boots are known to the second; what happened in that second happened after it.
    let boots_since = |time: u64| {
        boots
            .iter()
            .filter(|boot| **boot / 1000 > time / 1000)
            .count()
    };
    let mut found = Vec::new();
    for rule in rules {
        let ends = ends(rule, events);
        let mut devices: BTreeMap<&str, (Option<Incident<'a>>, BTreeSet<usize>)> = BTreeMap::new();
        for stored in events
            .iter()
            .filter(|stored| stored.event.name == rule.event)
        {
            if stored.last_time.saturating_add(rule.remember_ms) < now {
                continue;
            }
            let device = device(&stored.event);
            let (incident, seen_in) = devices.entry(device).or_default();
            let boot = boots_since(stored.last_time);
            seen_in.insert(boot);
            let ended = ends.get(device).is_some_and(|end| *end >= stored.last_time);
            if rule.reboot_clears && boot > 0 || ended {
                continue;
            }
            match incident {
                Some(incident) => {
                    incident.count = incident.count.saturating_add(stored.count);
                    incident.first = incident.first.min(stored.event.time);
                    incident.last = incident.last.max(stored.last_time);
                }
                None => {
                    *incident = Some(Incident {
                        rule,
                        device,
                        count: stored.count,
                        first: stored.event.time,
                        last: stored.last_time,
                        newest: stored,
                        boots: 1,
                        this_boot: boot == 0,
                    });
                }
            }
        }
        for (incident, seen_in) in devices.into_values() {
            let enough = incident.filter(|incident| incident.count >= rule.at_least);
            found.extend(enough.map(|incident| Incident {
                boots: seen_in.len(),
                ..incident
            }));
        }
    }
    found
}

/// When each device's trouble last ended. An end that names no device is that of trouble that names none.
fn ends<'a>(rule: &Rule, events: &'a [StoredEvent]) -> BTreeMap<&'a str, u64> {
    let mut ends = BTreeMap::new();
    if rule.ended_by.is_empty() {
        return ends;
    }
    for stored in events {
        if rule.ended_by.contains(&stored.event.name.as_str()) {
            let last: &mut u64 = ends.entry(device(&stored.event)).or_default();
            *last = stored.last_time.max(*last);
        }
    }
    ends
}
