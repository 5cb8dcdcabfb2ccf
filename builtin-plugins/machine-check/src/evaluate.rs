//! The verdict: stored events in, report out.
//!
//! Uncorrected errors of the running boot make the machine Unhealthy until it is rebooted; those of enough earlier boots
//! ask for an inspection. Everything else is at most Degraded. Boots are distinguished by their ids, which the events
//! carry.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::boots::{boot, is_of_this_boot};
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::fact;
use gpud_sdk::verdict::{Verdict, list};
use gpud_sdk::{CheckContext, EventType, Health, Recovery, RepairAction, Report};

use crate::Config;
use crate::row::{CORRECTED, DEFERRED, PLACE, PREVIOUS_BOOT, STORM, STORM_OVER, UNHANDLED};

/// Metric of errors by severity.
pub const METRIC: &str = "machine_check_errors";
/// Places that a reason names.
const MAX_NAMED: usize = 4;

/// Judges the events of the look-back, newest first. `hardware` tells whether the machine has anything that could report
/// such errors; asked only where no event does.
pub fn check(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    hardware: impl FnOnce() -> bool,
) -> Report {
    let mut verdict = Verdict::default();
    uncorrected(&mut verdict, context, config, events);
    unresolved(&mut verdict, context, events);
    corrected(&mut verdict, context, config, events);
    storms(&mut verdict, context, config, events);

    let counts = Counts::of(events);
    let state = verdict.state(context, "ok").info("data", counts.json());
    let report = Report {
        supported: !events.is_empty() || hardware(),
        ..Report::of(state)
    };
    if report.supported {
        counts.metrics(report)
    } else {
        report
    }
}

/// Whether an event tells of lost data or a corrupt processor.
fn is_hard(stored: &StoredEvent) -> bool {
    matches!(
        stored.event.event_type,
        EventType::Critical | EventType::Fatal
    )
}

fn uncorrected(
    verdict: &mut Verdict,
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
) {
    let is_current = |stored: &&StoredEvent| {
        fact(&stored.event, PREVIOUS_BOOT).is_none() && is_of_this_boot(context, &stored.event)
    };
    let hard = || events.iter().filter(|stored| is_hard(stored));
    let current: Vec<&StoredEvent> = hard().filter(is_current).collect();
    let earlier = earlier_boots(hard().filter(|stored| !is_current(stored)));
    let boots = earlier.len() as u64;
    if let Some(newest) = current.first() {
        let count: u64 = current.iter().map(|stored| stored.count).sum();
        let mut reason = format!(
            "{count} uncorrected hardware error(s) since the machine started, the last one: {}",
            newest.event.message
        );
        let action = if boots >= config.reboot_threshold {
            reason.push_str(&format!("; so did {boots} earlier boot(s)"));
            RepairAction::HardwareInspection
        } else {
            RepairAction::RebootSystem
        };
        let ways = [Recovery::Reboot, Recovery::SetHealthy];
        verdict.add(Health::Unhealthy, reason, action, &ways);
        verdict.point_to(current.iter().copied());
    } else if boots > config.reboot_threshold {
        // Enough of them must grow older than the look-back.
        let mut times = earlier;
        times.sort_unstable();
        let excess = usize::try_from(boots - config.reboot_threshold).unwrap_or(usize::MAX);
        let last = times.get(excess.saturating_sub(1)).copied().unwrap_or(0);
        let at = last.saturating_add(config.lookback_seconds.saturating_mul(1000));
        let reason = format!("uncorrected hardware errors in {boots} earlier boots");
        let ways = [Recovery::At(at), Recovery::SetHealthy];
        let action = RepairAction::HardwareInspection;
        verdict.add(Health::Degraded, reason, action, &ways);
    }
}

/// The last time of each earlier boot with uncorrected errors. A boot is known by its own events, or by what the next
/// one found of it: right after own events of another boot, this counts as the same error reported twice.
fn earlier_boots<'a>(newest_first: impl DoubleEndedIterator<Item = &'a StoredEvent>) -> Vec<u64> {
    let mut boots: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    let mut before: Option<(&str, bool)> = None;
    for stored in newest_first.rev() {
        let found_later = fact(&stored.event, PREVIOUS_BOOT).is_some();
        let key = (boot(&stored.event), found_later);
        let is_same = before.is_some_and(|(boot, later)| found_later && !later && boot != key.0);
        let key = if is_same { before.unwrap_or(key) } else { key };
        boots.insert(key, stored.event.time);
        before = Some(key);
    }
    boots.into_values().collect()
}

/// Bad data that is still somewhere in memory: a reboot gets rid of it.
fn unresolved(verdict: &mut Verdict, context: &CheckContext, events: &[StoredEvent]) {
    for (name, what) in [
        (UNHANDLED, "memory page(s) with lost data still in use"),
        (DEFERRED, "deferred machine check(s)"),
    ] {
        let found = || {
            events.iter().filter(move |stored| {
                stored.event.name == name && is_of_this_boot(context, &stored.event)
            })
        };
        let places: BTreeSet<&str> = found()
            .filter_map(|stored| fact(&stored.event, PLACE))
            .collect();
        if !places.is_empty() {
            let reason = format!("{} {what}: {}", places.len(), list(places, MAX_NAMED));
            let ways = [Recovery::Reboot, Recovery::SetHealthy];
            verdict.add(Health::Degraded, reason, RepairAction::RebootSystem, &ways);
            verdict.point_to(found());
        }
    }
}

fn corrected(
    verdict: &mut Verdict,
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
) {
    let since = window(context, config);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for stored in events.iter().filter(|stored| stored.last_time >= since) {
        if CORRECTED.contains(&stored.event.name.as_str()) {
            let place = fact(&stored.event, PLACE).unwrap_or_default();
            let count = counts.entry(place).or_default();
            *count = count.saturating_add(stored.count);
        }
    }
    counts.retain(|_, count| *count >= config.corrected_threshold);
    if !counts.is_empty() {
        let places: Vec<String> = counts
            .iter()
            .map(|(place, count)| format!("{count} at {place}"))
            .collect();
        let reason = format!(
            "too many corrected hardware errors within {} h: {}",
            config.corrected_window_seconds / 3_600,
            list(places, MAX_NAMED)
        );
        let ways = [Recovery::NextGoodReading, Recovery::SetHealthy];
        let action = RepairAction::HardwareInspection;
        verdict.add(Health::Degraded, reason, action, &ways);
    }
}

/// A storm lasts until its end is logged, or the window is over: kernels log the end of one bank's storm after some
/// minutes of quiet.
fn storms(verdict: &mut Verdict, context: &CheckContext, config: &Config, events: &[StoredEvent]) {
    let since = window(context, config);
    let last = |name: &'static str| {
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for stored in events {
            let event = &stored.event;
            if event.name == name && is_of_this_boot(context, event) {
                let time = last
                    .entry(fact(event, PLACE).unwrap_or_default())
                    .or_default();
                *time = (*time).max(stored.last_time);
            }
        }
        last
    };
    let ends = last(STORM_OVER);
    let going: Vec<&str> = last(STORM)
        .into_iter()
        .filter(|(place, begin)| *begin >= since && ends.get(place).is_none_or(|end| end < begin))
        .map(|(place, _)| place)
        .collect();
    if !going.is_empty() {
        let places = list(going, MAX_NAMED);
        let reason = format!("storm of corrected machine checks: {places}");
        let ways = [Recovery::NextGoodReading, Recovery::SetHealthy];
        let action = RepairAction::HardwareInspection;
        verdict.add(Health::Degraded, reason, action, &ways);
    }
}

fn window(context: &CheckContext, config: &Config) -> u64 {
    let length = config.corrected_window_seconds.saturating_mul(1000);
    context.now.saturating_sub(length)
}

/// Errors of the look-back by severity.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    corrected: u64,
    deferred: u64,
    uncorrected: u64,
    fatal: u64,
}

impl Counts {
    fn of(events: &[StoredEvent]) -> Self {
        let mut counts = Self::default();
        for stored in events {
            let name = stored.event.name.as_str();
            let place = match (name, &stored.event.event_type) {
                (_, EventType::Fatal) => &mut counts.fatal,
                (_, EventType::Critical) => &mut counts.uncorrected,
                (DEFERRED, _) => &mut counts.deferred,
                (name, _) if CORRECTED.contains(&name) => &mut counts.corrected,
                _ => continue,
            };
            *place = place.saturating_add(stored.count);
        }
        counts
    }

    fn pairs(&self) -> [(&'static str, u64); 4] {
        [
            ("corrected", self.corrected),
            ("deferred", self.deferred),
            ("uncorrected", self.uncorrected),
            ("fatal", self.fatal),
        ]
    }

    fn json(&self) -> String {
        let pairs = self
            .pairs()
            .map(|(key, value)| format!("\"{key}\":{value}"));
        format!("{{{}}}", pairs.join(","))
    }

    fn metrics(&self, report: Report) -> Report {
        self.pairs()
            .into_iter()
            .fold(report, |report, (severity, count)| {
                report.gauge_with(METRIC, &[("severity", severity)], count as f64)
            })
    }
}

#[cfg(test)]
mod tests;
