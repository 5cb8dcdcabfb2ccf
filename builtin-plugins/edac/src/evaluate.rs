//! The verdict: stored events and counters in, report out.
//!
//! An uncorrected error makes the machine Unhealthy until it is rebooted; one that comes back on the same DIMM after
//! enough reboots asks for an inspection. Corrected errors are Degraded when one DIMM has too many of them within the
//! window, whichever of log and counter knows of more.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::boots::{boot, is_of_this_boot};
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::fact;
use gpud_sdk::verdict::{Verdict, list};
use gpud_sdk::{CheckContext, Event, Health, Recovery, RepairAction, Report};

use crate::Config;
use crate::counters::Dimm;
use crate::line::{CONTROLLER, CORRECTED, DIMM, ERRORS, LOCATION, UNCORRECTED, facts, subject};
use crate::memory::{Memory, Reading};
use crate::patterns::MEMORY_UNCORRECTED_ERROR;

/// Metric of corrected errors.
pub const CORRECTED_METRIC: &str = "memory_edac_corrected_errors";
/// Metric of uncorrected errors.
pub const UNCORRECTED_METRIC: &str = "memory_edac_uncorrected_errors";

/// DIMMs that a reason names.
const MAX_NAMED: usize = 4;
/// DIMMs with metrics: the host takes 4,096 samples, and no machine has as many DIMMs as this.
const MAX_METRICS: usize = 1_024;

/// The location of a DIMM as messages show it: name and controller.
type DimmLocation = (String, String);

/// Judges, and returns the report and what to retain for the next check.
///
/// `ruled` says which events a site's policy judges: their counters are left alone. `events` are those of the look-back,
/// newest first. `before` is what the last check retained. `seen_before` says whether this machine ever had such an
/// error; it is asked only where nothing else says that it could.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    ruled: impl Fn(&str) -> bool,
    events: &[StoredEvent],
    dimms: &[Dimm],
    before: Option<&Memory>,
    seen_before: impl FnOnce() -> bool,
) -> (Report, Memory) {
    let logged = |dimm: &Dimm| {
        let events = events.iter().filter(|stored| {
            stored.event.name == UNCORRECTED
                && !stored.event.evidence.is_empty()
                && is_of_this_boot(context, &stored.event)
                && belongs(&stored.event, dimm, dimms)
        });
        events.map(errors).fold(0, u64::saturating_add)
    };
    let window = config.corrected_window_seconds;
    let (readings, after) = Memory::take(before, context, window, dimms, logged);
    let mut counts = Counts::of_events(context, config, events, dimms);
    counts.add_readings(dimms, &readings, ruled);
    counts
        .corrected
        .retain(|_, count| *count >= config.corrected_threshold);

    let mut verdict = Verdict::default();
    if !counts.uncorrected.is_empty() {
        uncorrected(
            &mut verdict,
            context,
            config,
            events,
            &counts.uncorrected,
            dimms,
        );
    }
    if !counts.corrected.is_empty() {
        verdict.add(
            Health::Degraded,
            format!(
                "too many corrected memory errors within {} h: {}",
                window / 3_600,
                named(&counts.corrected)
            ),
            RepairAction::HardwareInspection,
            &[Recovery::NextGoodReading, Recovery::SetHealthy],
        );
    }
    for location in counts.uncorrected.keys().chain(counts.corrected.keys()) {
        let (controller, name) = location;
        verdict.about(format!("{controller} {name}"), subject(name));
    }
    let state = verdict.state(context, "ok").info("data", data(dimms));
    let readings = dimms.iter().zip(&readings);
    let unreported = readings
        .filter(|(_, reading)| reading.unreported > 0)
        .map(|(dimm, reading)| unreported(context, dimm, reading.unreported));
    let report = Report {
        supported: !dimms.is_empty() || !events.is_empty() || seen_before(),
        events: unreported.collect(),
        ..Report::of(state)
    };
    (metrics(report, dimms), after)
}

/// Errors by DIMM: uncorrected ones of the running boot, and corrected ones within the window.
#[derive(Default)]
struct Counts {
    uncorrected: BTreeMap<DimmLocation, u64>,
    corrected: BTreeMap<DimmLocation, u64>,
}

impl Counts {
    fn of_events(
        context: &CheckContext,
        config: &Config,
        events: &[StoredEvent],
        dimms: &[Dimm],
    ) -> Self {
        let window = config.corrected_window_seconds.saturating_mul(1000);
        let since = context.now.saturating_sub(window);
        let mut counts = Self::default();
        for stored in events {
            let count = match stored.event.name.as_str() {
                UNCORRECTED if is_of_this_boot(context, &stored.event) => &mut counts.uncorrected,
                CORRECTED if stored.last_time >= since => &mut counts.corrected,
                _ => continue,
            }
            .entry(place_of_event(&stored.event, dimms))
            .or_default();
            *count = count.saturating_add(errors(stored));
        }
        counts
    }

    /// Takes what the counters say, where it is more than the log does.
    fn add_readings(&mut self, dimms: &[Dimm], readings: &[Reading], ruled: impl Fn(&str) -> bool) {
        for (dimm, reading) in dimms.iter().zip(readings) {
            for (counts, counted, name) in [
                (&mut self.corrected, reading.corrected, CORRECTED),
                (&mut self.uncorrected, reading.uncorrected, UNCORRECTED),
            ] {
                if counted > 0 && !ruled(name) {
                    let count = counts.entry(place(dimm)).or_default();
                    *count = counted.max(*count);
                }
            }
        }
    }
}

/// Adds uncorrected errors of the running boot.
fn uncorrected(
    verdict: &mut Verdict,
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    lost: &BTreeMap<DimmLocation, u64>,
    dimms: &[Dimm],
) {
    let mut reason = format!(
        "uncorrected memory errors since the machine started: {}",
        named(lost)
    );
    let returned = returned(context, config, events, lost, dimms);
    let action = if returned.is_empty() {
        RepairAction::RebootSystem
    } else {
        reason.push_str(&format!(", again after a reboot: {}", returned.join(", ")));
        RepairAction::HardwareInspection
    };
    let ways = [Recovery::Reboot, Recovery::SetHealthy];
    verdict.add(Health::Unhealthy, reason, action, &ways);
    verdict.point_to(events.iter().filter(|stored| {
        stored.event.name == UNCORRECTED && is_of_this_boot(context, &stored.event)
    }));
}

fn metrics(mut report: Report, dimms: &[Dimm]) -> Report {
    for dimm in dimms.iter().take(MAX_METRICS) {
        let labels = [
            ("controller", dimm.controller.as_str()),
            ("slot", dimm.slot.as_str()),
            ("dimm", dimm.name()),
        ];
        report.add_gauge(CORRECTED_METRIC, &labels, dimm.corrected as f64);
        report.add_gauge(UNCORRECTED_METRIC, &labels, dimm.uncorrected as f64);
    }
    report
}

/// How many errors a row stands for.
fn errors(stored: &StoredEvent) -> u64 {
    let each = fact(&stored.event, ERRORS).and_then(|errors| errors.parse::<u64>().ok());
    stored.count.saturating_mul(each.unwrap_or(1))
}

fn place(dimm: &Dimm) -> DimmLocation {
    (dimm.controller.clone(), dimm.name().to_owned())
}

fn place_of_event(event: &Event, dimms: &[Dimm]) -> DimmLocation {
    let owner = dimms
        .iter()
        .find(|dimm| !dimm.slot.is_empty() && is_at(event, dimm));
    owner.map_or_else(
        || {
            let of = |key| fact(event, key).unwrap_or_default().to_owned();
            (of(CONTROLLER), of(DIMM))
        },
        place,
    )
}

/// Whether an event is about this DIMM, or about none of its controller's for the counter of those.
fn belongs(event: &Event, dimm: &Dimm, dimms: &[Dimm]) -> bool {
    if dimm.slot.is_empty() {
        let of_one = dimms
            .iter()
            .any(|other| !other.slot.is_empty() && is_at(event, other));
        fact(event, CONTROLLER) == Some(dimm.controller.as_str()) && !of_one
    } else {
        is_at(event, dimm)
    }
}

/// The log says `channel:1 slot:0` where sysfs says `channel 1 slot 0`. Names are compared only where there is no place:
/// they need not be unique.
fn is_at(event: &Event, dimm: &Dimm) -> bool {
    let place = fact(event, LOCATION).unwrap_or_default().replace(':', " ");
    let known = !place.is_empty() && !dimm.location.is_empty();
    let name = fact(event, DIMM).unwrap_or_default();
    fact(event, CONTROLLER) == Some(dimm.controller.as_str())
        && ((known && place == dimm.location)
            || (!name.is_empty() && (name == dimm.label || name == dimm.slot)))
}

/// DIMMs with uncorrected errors now that had some in enough earlier boots, too.
fn returned<'a>(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    lost: &'a BTreeMap<DimmLocation, u64>,
    dimms: &[Dimm],
) -> Vec<&'a str> {
    let mut boots: BTreeMap<DimmLocation, BTreeSet<&str>> = BTreeMap::new();
    for stored in events {
        let event = &stored.event;
        if event.name == UNCORRECTED && !is_of_this_boot(context, event) {
            let place = place_of_event(event, dimms);
            boots.entry(place).or_default().insert(boot(event));
        }
    }
    let often = |place: &DimmLocation| {
        let boots = boots.get(place).map_or(0, BTreeSet::len);
        boots as u64 >= config.reboot_threshold
    };
    let returned = lost.keys().filter(|place| often(place));
    returned
        .take(MAX_NAMED)
        .map(|(_, name)| name.as_str())
        .collect()
}

/// The event of errors that only the counter knows of.
fn unreported(context: &CheckContext, dimm: &Dimm, count: u64) -> Event {
    let entry = MEMORY_UNCORRECTED_ERROR;
    let text = entry.say_otherwise(&[
        ("errors", &count.to_string()),
        ("dimm", dimm.name()),
        ("place", &dimm.controller),
    ]);
    let mut event = Event::new(context.now, entry.name, entry.event_type(), text);
    event.subject = Some(subject(dimm.name()));
    event.extra_info = facts(
        context,
        &dimm.controller,
        dimm.name(),
        &dimm.location,
        count,
    );
    event
}

fn named(counts: &BTreeMap<DimmLocation, u64>) -> String {
    let dimms = counts
        .iter()
        .map(|((controller, name), count)| format!("{count} on {name} ({controller})"));
    list(dimms, MAX_NAMED)
}

/// Totals of the counters.
fn data(dimms: &[Dimm]) -> String {
    let sum = |count: fn(&Dimm) -> u64| dimms.iter().map(count).fold(0, u64::saturating_add);
    let controllers: BTreeSet<&str> = dimms.iter().map(|dimm| dimm.controller.as_str()).collect();
    format!(
        r#"{{"controllers":{},"dimms":{},"corrected_errors":{},"uncorrected_errors":{}}}"#,
        controllers.len(),
        dimms.iter().filter(|dimm| !dimm.slot.is_empty()).count(),
        sum(|dimm| dimm.corrected),
        sum(|dimm| dimm.uncorrected),
    )
}

#[cfg(test)]
mod tests;
