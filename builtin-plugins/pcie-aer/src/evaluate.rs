//! The verdict: stored events and counters in, report out.
//!
//! A fatal error of the running boot that was not recovered from makes the machine Unhealthy until it is rebooted; one
//! that comes back on the same device in enough boots asks for an inspection. What was recovered from, and what the links
//! corrected, is Degraded when one device has too much of it within the window, whichever of log and counter knows of
//! more.

use std::collections::{BTreeMap, BTreeSet};

use gpud_builtin_shared::boots::{boot, is_of_this_boot};
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::fact;
use gpud_sdk::{CheckContext, Event, Health, HealthState, Recovery, RepairAction, Report, Subject};

use crate::config::Config;
use crate::counters::Counters;
use crate::device::Device;
use crate::memory::Memory;
use crate::row::{ABOVE, CONTAINED, CORRECTED, DEVICE, FAILED, FATAL, NONFATAL, RECOVERED, TITLE};

/// Metric of the counters.
pub const METRIC: &str = "pcie_aer_errors";

/// Kernel log records that a verdict points to.
const MAX_EVIDENCE: usize = 8;
/// Devices that a reason names.
const MAX_NAMED: usize = 4;
/// Devices with metrics; the host takes 4,096 samples.
const MAX_METRICS: usize = 512;

/// What a reason says of a device.
struct Finding {
    title: String,
    subject: Subject,
    count: u64,
}

/// Devices by PCI id.
type Findings = BTreeMap<String, Finding>;

/// Judges. `ruled` tells the events that a site's policy judges: their counters are left alone. `events` are those of the look-back, newest first; `before` is what the last check kept; `describe` looks a
/// device up; `seen_before` tells whether this machine ever had such an error, and is asked only where nothing else tells
/// that it could. Gives the report and what to keep.
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
    mut describe: impl FnMut(&str) -> Device,
    seen_before: impl FnOnce() -> bool,
) -> (Report, Memory) {
    let (readings, after) = Memory::take(before, context, config.window_seconds, counters);
    let now: Vec<&StoredEvent> = events
        .iter()
        .filter(|stored| is_of_this_boot(context, &stored.event))
        .collect();
    let serious = serious(&now);

    let since = context
        .now
        .saturating_sub(config.window_seconds.saturating_mul(1000));
    let mut mended = Findings::new();
    let mut lost = Findings::new();
    for stored in events.iter().filter(|stored| stored.last_time >= since) {
        match stored.event.name.as_str() {
            CORRECTED => add(&mut mended, stored),
            NONFATAL | FATAL => add(&mut lost, stored),
            _ => {}
        }
    }
    let limits = (config.corrected_threshold, config.uncorrected_threshold);
    for (id, reading) in readings {
        for (findings, count, limit, names) in [
            (&mut mended, reading.corrected, limits.0, &[CORRECTED][..]),
            (
                &mut lost,
                reading.uncorrected,
                limits.1,
                &[NONFATAL, FATAL][..],
            ),
        ] {
            if names.iter().any(|name| ruled(name)) {
                continue;
            }
            if let Some(finding) = findings.get_mut(id) {
                finding.count = finding.count.max(count);
            } else if count >= limit {
                let device = describe(id);
                let finding = Finding {
                    title: device.title(),
                    subject: device.subject(),
                    count,
                };
                findings.insert(id.to_owned(), finding);
            }
        }
    }
    mended.retain(|_, finding| finding.count >= limits.0);
    lost.retain(|_, finding| finding.count >= limits.1);

    let hours = config.window_seconds / 3_600;
    let until_reboot = [Recovery::Reboot, Recovery::SetHealthy];
    let until_good = [Recovery::NextGoodReading, Recovery::SetHealthy];
    let mut verdict = Verdict::default();
    if !serious.broken.is_empty() {
        let returned = returned(context, config, events, &serious.broken);
        let mut reason = format!(
            "fatal PCIe errors without recovery since the machine started: {}",
            list(&serious.broken)
        );
        let action = if returned.is_empty() {
            RepairAction::RebootSystem
        } else {
            reason.push_str(&format!(", as in earlier boots: {}", returned.join(", ")));
            RepairAction::HardwareInspection
        };
        verdict.add(
            Health::Unhealthy,
            reason,
            action,
            &until_reboot,
            &serious.broken,
        );
    }
    if !serious.stuck.is_empty() {
        let reason = format!(
            "no recovery from PCIe errors that are not fatal: {}",
            list(&serious.stuck)
        );
        let action = RepairAction::RebootSystem;
        verdict.add(
            Health::Degraded,
            reason,
            action,
            &until_reboot,
            &serious.stuck,
        );
    }
    for (findings, what) in [(&lost, "uncorrected"), (&mended, "corrected")] {
        if !findings.is_empty() {
            let reason = format!(
                "too many {what} PCIe errors within {hours} h: {}",
                list(findings)
            );
            let action = RepairAction::HardwareInspection;
            verdict.add(Health::Degraded, reason, action, &until_good, findings);
        }
    }
    let mut state = verdict.state(context).info("data", data(counters));
    if !serious.broken.is_empty() || !serious.stuck.is_empty() {
        let evidence = now
            .iter()
            .filter(|stored| [FATAL, CONTAINED, FAILED].contains(&stored.event.name.as_str()))
            .flat_map(|stored| &stored.event.evidence);
        state.evidence = evidence.take(MAX_EVIDENCE).cloned().collect();
    }
    let report = Report {
        supported: counters.exist || !events.is_empty() || seen_before(),
        ..Report::of(state)
    };
    (metrics(report, counters), after)
}

/// A verdict in the making.
#[derive(Default)]
struct Verdict {
    health: Option<Health>,
    reasons: Vec<String>,
    actions: Vec<RepairAction>,
    recovery: Vec<Recovery>,
    subjects: BTreeMap<String, Subject>,
}

impl Verdict {
    fn add(
        &mut self,
        health: Health,
        reason: String,
        action: RepairAction,
        ways: &[Recovery],
        devices: &Findings,
    ) {
        // The worst comes first. Any listed way is taken to be enough, so a way must clear all of it.
        if self.health.is_none() {
            self.health = Some(health);
            self.recovery = ways.to_vec();
        } else {
            self.recovery.retain(|way| ways.contains(way));
        }
        self.reasons.push(reason);
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
        let subjects = devices
            .iter()
            .map(|(id, finding)| (id.clone(), finding.subject.clone()));
        self.subjects.extend(subjects);
    }

    fn state(self, context: &CheckContext) -> HealthState {
        let Some(health) = self.health else {
            return HealthState::healthy(context, "ok");
        };
        let mut state = HealthState::new(context, health, self.reasons.join("; "));
        for action in self.actions {
            state = state.action(action, "");
        }
        state.recovery = self.recovery;
        if self.subjects.len() == 1 {
            state.subject = self.subjects.into_values().next();
        }
        state
    }
}

/// What the running boot did not recover from.
struct Serious {
    /// Devices after fatal errors.
    broken: Findings,
    /// Devices after other errors: their driver cannot handle errors, but they may well go on.
    stuck: Findings,
}

fn serious(events: &[&StoredEvent]) -> Serious {
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
    let mut broken = Findings::new();
    let unresolved: Vec<&StoredEvent> = named(FATAL)
        .chain(named(CONTAINED))
        .filter(|stored| !is_resolved(stored))
        .collect();
    for stored in &unresolved {
        add(&mut broken, stored);
    }
    let mut stuck = Findings::new();
    for failed in named(FAILED).filter(|failed| !is_resolved(failed)) {
        let known = unresolved
            .iter()
            .any(|stored| are_related(&failed.event, &stored.event));
        if !known {
            add(&mut stuck, failed);
        }
    }
    Serious { broken, stuck }
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
    broken: &'a Findings,
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

fn add(findings: &mut Findings, stored: &StoredEvent) {
    let event = &stored.event;
    let id = fact(event, DEVICE).unwrap_or_default();
    if let Some(finding) = findings.get_mut(id) {
        finding.count = finding.count.saturating_add(stored.count);
        return;
    }
    let finding = Finding {
        title: fact(event, TITLE).unwrap_or(id).to_owned(),
        subject: event.subject.clone().unwrap_or(Subject::Node),
        count: stored.count,
    };
    findings.insert(id.to_owned(), finding);
}

fn list(findings: &Findings) -> String {
    let named = findings.values().take(MAX_NAMED);
    let named: Vec<String> = named
        .map(|finding| format!("{} on {}", finding.count, finding.title))
        .collect();
    let mut text = named.join(", ");
    if findings.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", findings.len() - MAX_NAMED));
    }
    text
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
