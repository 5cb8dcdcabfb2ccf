//! The verdict: stored events and counters in, report out.
//!
//! A fatal error of the running boot that was not recovered from makes the machine Unhealthy until it is rebooted; one
//! that comes back on the same device in enough boots asks for an inspection. What was recovered from, and what the links
//! corrected, is Degraded when one device has too much of it within the window, whichever of log and counter knows of
//! more.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::boots::{boot, is_of_this_boot};
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::fact;
use gpud_sdk::verdict::{Verdict, list};
use gpud_sdk::{CheckContext, Event, Health, Recovery, RepairAction, Report, Subject};

use crate::config::Config;
use crate::counters::Counters;
use crate::device::Device;
use crate::memory::{Memory, Reading};
use crate::row::{ABOVE, CONTAINED, CORRECTED, DEVICE, FAILED, FATAL, NONFATAL, RECOVERED, TITLE};

/// Metric of the counters.
pub const METRIC: &str = "pcie_aer_errors";

/// Devices that a reason names.
const MAX_NAMED: usize = 4;
/// Devices with metrics; the host takes 4,096 samples.
const MAX_METRICS: usize = 512;

/// The errors of a device, as a reason has them.
struct DeviceErrors {
    title: String,
    subject: Subject,
    count: u64,
}

/// Devices by PCI id.
type Devices = BTreeMap<String, DeviceErrors>;

/// Judges, and returns the report and what to retain for the next check.
///
/// `ruled` says which events a site's policy judges: their counters are left alone. `events` are those of the look-back,
/// newest first. `before` is what the last check retained. `describe` looks a device up. `seen_before` says whether this
/// machine ever had such an error; it is asked only where nothing else says that it could.
#[expect(
    clippy::too_many_arguments,
    reason = "each is another source of the verdict"
)]
pub fn judge(
    context: &CheckContext,
    config: &Config,
    ruled: impl Fn(&str) -> bool,
    events: &[StoredEvent],
    counters: &Counters,
    before: Option<&Memory>,
    describe: impl FnMut(&str) -> Device,
    seen_before: impl FnOnce() -> bool,
) -> (Report, Memory) {
    let (readings, after) = Memory::take(before, context, config.window_seconds, counters);
    let now: Vec<&StoredEvent> = events
        .iter()
        .filter(|stored| is_of_this_boot(context, &stored.event))
        .collect();
    let mut recent = Recent::of_events(context, config, events);
    recent.add_readings(config, readings, ruled, describe);
    recent.keep_too_many(config);

    let mut verdict = Verdict::default();
    unrecovered(&mut verdict, context, config, events, &now);
    let hours = config.window_seconds / 3_600;
    for (devices, what) in [
        (&recent.uncorrected, "uncorrected"),
        (&recent.corrected, "corrected"),
    ] {
        if !devices.is_empty() {
            verdict.add(
                Health::Degraded,
                format!(
                    "too many {what} PCIe errors within {hours} h: {}",
                    named(devices)
                ),
                RepairAction::HardwareInspection,
                &[Recovery::NextGoodReading, Recovery::SetHealthy],
            );
            about(&mut verdict, devices);
        }
    }
    let state = verdict.state(context, "ok").info("data", data(counters));
    let report = Report {
        supported: counters.exist || !events.is_empty() || seen_before(),
        ..Report::of(state)
    };
    (metrics(report, counters), after)
}

/// Devices with errors within the window.
#[derive(Default)]
struct Recent {
    corrected: Devices,
    uncorrected: Devices,
}

impl Recent {
    fn of_events(context: &CheckContext, config: &Config, events: &[StoredEvent]) -> Self {
        let window = config.window_seconds.saturating_mul(1000);
        let since = context.now.saturating_sub(window);
        let mut recent = Self::default();
        for stored in events.iter().filter(|stored| stored.last_time >= since) {
            match stored.event.name.as_str() {
                CORRECTED => add(&mut recent.corrected, stored),
                NONFATAL | FATAL => add(&mut recent.uncorrected, stored),
                _ => {}
            }
        }
        recent
    }

    /// Takes what the counters say, where it is more than the log does. Of a device that only a counter knows,
    /// `describe` is asked if it has too many errors.
    fn add_readings<'a>(
        &mut self,
        config: &Config,
        readings: impl IntoIterator<Item = (&'a str, Reading)>,
        ruled: impl Fn(&str) -> bool,
        mut describe: impl FnMut(&str) -> Device,
    ) {
        let left_alone = |names: &[&str]| names.iter().any(|name| ruled(name));
        let (corrected, uncorrected) = (left_alone(&[CORRECTED]), left_alone(&[NONFATAL, FATAL]));
        for (id, reading) in readings {
            for (devices, count, limit, left_alone) in [
                (
                    &mut self.corrected,
                    reading.corrected,
                    config.corrected_threshold,
                    corrected,
                ),
                (
                    &mut self.uncorrected,
                    reading.uncorrected,
                    config.uncorrected_threshold,
                    uncorrected,
                ),
            ] {
                if left_alone {
                    continue;
                }
                if let Some(known) = devices.get_mut(id) {
                    known.count = known.count.max(count);
                } else if count >= limit {
                    let device = describe(id);
                    let errors = DeviceErrors {
                        title: device.title(),
                        subject: device.subject(),
                        count,
                    };
                    devices.insert(id.to_owned(), errors);
                }
            }
        }
    }

    fn keep_too_many(&mut self, config: &Config) {
        self.corrected
            .retain(|_, errors| errors.count >= config.corrected_threshold);
        self.uncorrected
            .retain(|_, errors| errors.count >= config.uncorrected_threshold);
    }
}

/// Adds what the running boot (whose events are `now`) did not recover from.
fn unrecovered(
    verdict: &mut Verdict,
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    now: &[&StoredEvent],
) {
    let ways = [Recovery::Reboot, Recovery::SetHealthy];
    let serious = serious(now);
    if !serious.broken.is_empty() {
        let returned = returned(context, config, events, &serious.broken);
        let mut reason = format!(
            "fatal PCIe errors without recovery since the machine started: {}",
            named(&serious.broken)
        );
        let action = if returned.is_empty() {
            RepairAction::RebootSystem
        } else {
            reason.push_str(&format!(", as in earlier boots: {}", returned.join(", ")));
            RepairAction::HardwareInspection
        };
        verdict.add(Health::Unhealthy, reason, action, &ways);
        about(verdict, &serious.broken);
    }
    if !serious.stuck.is_empty() {
        let reason = format!(
            "no recovery from PCIe errors that are not fatal: {}",
            named(&serious.stuck)
        );
        verdict.add(Health::Degraded, reason, RepairAction::RebootSystem, &ways);
        about(verdict, &serious.stuck);
    }
    if !serious.broken.is_empty() || !serious.stuck.is_empty() {
        let is_serious = |stored: &&StoredEvent| {
            [FATAL, CONTAINED, FAILED].contains(&stored.event.name.as_str())
        };
        verdict.point_to(now.iter().copied().filter(is_serious));
    }
}

fn about(verdict: &mut Verdict, devices: &Devices) {
    for (id, errors) in devices {
        verdict.about(id, errors.subject.clone());
    }
}

/// The errors from which the running boot did not recover.
struct UnrecoveredErrors {
    /// Devices after fatal errors.
    broken: Devices,
    /// Devices after other errors: their driver cannot handle errors, but they may well go on.
    stuck: Devices,
}

fn serious(events: &[&StoredEvent]) -> UnrecoveredErrors {
    let named = |name: &'static str| {
        events
            .iter()
            .copied()
            .filter(move |stored| stored.event.name == name)
    };
    // A later line, about the port above, reports the result. Without such a line it is not known to work.
    let last = |name, of: &StoredEvent| {
        named(name)
            .filter(|outcome| are_related(&outcome.event, &of.event))
            .map(|outcome| outcome.last_time)
            .max()
    };
    let is_resolved = |of: &StoredEvent| {
        let recovered = last(RECOVERED, of);
        recovered >= Some(of.last_time) && recovered >= last(FAILED, of)
    };
    let mut broken = Devices::new();
    let unresolved: Vec<&StoredEvent> = named(FATAL)
        .chain(named(CONTAINED))
        .filter(|stored| !is_resolved(stored))
        .collect();
    for stored in &unresolved {
        add(&mut broken, stored);
    }
    let mut stuck = Devices::new();
    for failed in named(FAILED).filter(|failed| !is_resolved(failed)) {
        let known = unresolved
            .iter()
            .any(|stored| are_related(&failed.event, &stored.event));
        if !known {
            add(&mut stuck, failed);
        }
    }
    UnrecoveredErrors { broken, stuck }
}

/// Whether an outcome can be that of an error: of the device itself or of a port above it. Of a device that was gone
/// before it could be looked up, the ports are not known.
fn are_related(outcome: &Event, error: &Event) -> bool {
    let port = fact(outcome, DEVICE).unwrap_or_default();
    fact(error, DEVICE) == Some(port)
        || fact(error, ABOVE).is_none_or(|ports| ports.split(' ').any(|above| above == port))
}

/// Devices that are broken now and were in enough earlier boots.
fn returned<'a>(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    broken: &'a Devices,
) -> Vec<&'a str> {
    let mut boots: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for stored in events {
        let event = &stored.event;
        let fatal = [FATAL, CONTAINED].contains(&event.name.as_str());
        if fatal && !is_of_this_boot(context, event) {
            let device = fact(event, DEVICE).unwrap_or_default();
            boots.entry(device).or_default().insert(boot(event));
        }
    }
    let often = |id: &str| {
        let boots = boots.get(id).map_or(0, BTreeSet::len);
        boots as u64 >= config.reboot_threshold
    };
    let returned = broken.iter().filter(|(id, _)| often(id));
    returned
        .take(MAX_NAMED)
        .map(|(id, _)| id.as_str())
        .collect()
}

fn add(devices: &mut Devices, stored: &StoredEvent) {
    let event = &stored.event;
    let id = fact(event, DEVICE).unwrap_or_default();
    if let Some(errors) = devices.get_mut(id) {
        errors.count = errors.count.saturating_add(stored.count);
        return;
    }
    let errors = DeviceErrors {
        title: fact(event, TITLE).unwrap_or(id).to_owned(),
        subject: event.subject.clone().unwrap_or(Subject::Node),
        count: stored.count,
    };
    devices.insert(id.to_owned(), errors);
}

fn named(devices: &Devices) -> String {
    let devices = devices
        .values()
        .map(|errors| format!("{} on {}", errors.count, errors.title));
    list(devices, MAX_NAMED)
}

/// Totals of the counters.
fn data(counters: &Counters) -> String {
    let (mut corrected, mut nonfatal, mut fatal) = (0u64, 0u64, 0u64);
    for totals in counters.devices.values() {
        corrected = corrected.saturating_add(totals.corrected);
        nonfatal = nonfatal.saturating_add(totals.nonfatal);
        fatal = fatal.saturating_add(totals.fatal);
    }
    format!(
        r#"{{"devices_with_errors":{},"corrected_errors":{corrected},"nonfatal_errors":{nonfatal},"fatal_errors":{fatal}}}"#,
        counters.devices.len(),
    )
}

fn metrics(mut report: Report, counters: &Counters) -> Report {
    for (id, totals) in counters.devices.iter().take(MAX_METRICS) {
        for (severity, count) in [
            ("corrected", totals.corrected),
            ("nonfatal", totals.nonfatal),
            ("fatal", totals.fatal),
        ] {
            let labels = [("device", id.as_str()), ("severity", severity)];
            report.add_gauge(METRIC, &labels, count as f64);
        }
    }
    report
}

#[cfg(test)]
mod tests;
