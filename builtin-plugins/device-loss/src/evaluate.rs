//! From lines to events, and from events to the state. Functions of their arguments.

use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Repeats, Sighting};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, GpuId, Message, Report, Subject};

use crate::config::Config;
use crate::lines::{self, Kind, MatchedLine};

mod kinds;
mod rules;

use kinds::{DeviceClass, KINDS};

/// How far back lost devices count: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of what happened lately.
pub const METRIC: &str = "device_loss_events_recent";

/// Repeats of one kind and device within this time are counted.
const MERGE_SECONDS: u32 = 300;
/// Network cards whose names are looked up for one batch of messages.
const MAX_LOOKUPS: usize = 16;
/// Time after a line about a transmit time-out in which another tells of the same one, milliseconds. The driver is called
/// at once, and the next can come after five seconds.
const SAME_TIMEOUT_MS: u64 = 1_000;
/// Time after a line with a severity in which the same card's syndrome belongs to it, milliseconds. They are printed one
/// after the other, with a dozen lines of registers between them.
const SAME_REPORT_MS: u64 = 1_000;
/// Names of one card in a message.
const MAX_NAMES: usize = 4;

/// The events of messages, oldest first. `names` gives the names that a network card has in the system.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    repeats: &mut Repeats,
    mut names: impl FnMut(&str) -> Vec<String>,
) -> Vec<Event> {
    let mut known: Vec<(String, Vec<String>)> = Vec::new();
    let mut severity: Option<Severity> = None;
    let mut timeout: Option<(&str, u64)> = None;
    let genuine = messages
        .iter()
        .filter(|message| incidents::is_driver_line(message));
    genuine
        .filter_map(|message| {
            let found = of_severity(lines::find(&message.text)?, &mut severity, message.time);
            let kind_facts = KINDS
                .iter()
                .find(|kind_facts| kind_facts.kind == found.kind)?;
            if found.kind == Kind::TxTimeout && tells_again(&mut timeout, &found, message.time) {
                return None;
            }
            let looked_up = known.iter().any(|(device, _)| *device == found.device);
            // Without a PCI id there is only the name of an interface.
            let has_names =
                kind_facts.class == DeviceClass::Network && lines::pci_id(&found.device).is_some();
            if has_names && !looked_up && known.len() < MAX_LOOKUPS {
                known.push((found.device.clone(), names(&found.device)));
            }
            let names = known.iter().find(|(device, _)| *device == found.device);
            let names = names.map_or(&[][..], |(_, names)| names);
            let sighting = sighting(found, kind_facts, names);
            Some(repeats.event(sighting, context, message, MERGE_SECONDS))
        })
        .collect()
}

/// The weight that a card's firmware gave to its last report.
#[derive(Debug)]
struct Severity {
    device: String,
    time: u64,
    kind: Kind,
}

/// A syndrome as heavy as the severity that the same report has. Kernels without severities print the syndrome alone.
fn of_severity<'a>(
    mut found: MatchedLine<'a>,
    last: &mut Option<Severity>,
    time: u64,
) -> MatchedLine<'a> {
    let has = |key: &str| found.facts.iter().any(|(name, _)| *name == key);
    if has("severity") {
        *last = Some(Severity {
            device: found.device.clone(),
            time,
            kind: found.kind,
        });
    } else if has("syndrome")
        && let Some(last) = last
        && last.device == found.device
        && time.saturating_sub(last.time) <= SAME_REPORT_MS
    {
        found.kind = last.kind;
    }
    found
}

/// Is this the driver's line about the transmit time-out that the watchdog's line reported? `last` is the interface and
/// time of the line before.
fn tells_again<'a>(last: &mut Option<(&'a str, u64)>, found: &MatchedLine<'a>, time: u64) -> bool {
    let mut facts = found.facts.iter();
    let interface = facts.find(|(key, _)| *key == "interface");
    let interface = interface.map_or("", |(_, interface)| *interface);
    let before = last.replace((interface, time));
    before.is_some_and(|(other, earlier)| {
        other == interface && time.saturating_sub(earlier) <= SAME_TIMEOUT_MS
    })
}

fn sighting(found: MatchedLine<'_>, kind_facts: &kinds::KindFacts, names: &[String]) -> Sighting {
    let mut text = kind_facts.entry.message.to_owned();
    if !found.device.is_empty() {
        text.push_str(&format!(" ({})", found.device));
    }
    let names: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    if !names.is_empty() {
        text.push_str(&format!(", {}", names.join(", ")));
    }
    let mut sighting = Sighting::new(kind_facts.event, kind_facts.entry.event_type(), text)
        .of(found.device.clone())
        .fact("names", names.join(","));
    for (key, value) in found.facts {
        sighting = sighting.fact(key, value);
    }
    sighting.subject = subject(&found.device, kind_facts.class);
    sighting
}

fn subject(device: &str, class: DeviceClass) -> Option<Subject> {
    let id = lines::pci_id(device)?;
    Some(match class {
        DeviceClass::Gpu => Subject::Gpu(GpuId {
            uuid: None,
            serial: None,
            pci_id: Some(id),
        }),
        DeviceClass::Network => Subject::Other(("nic".to_owned(), id)),
        DeviceClass::Pci => Subject::Other(("pci".to_owned(), id)),
    })
}

/// How many devices each driver has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drivers {
    /// `nvidia`.
    pub nvidia: usize,
    /// `mlx5_core`.
    pub mlx5: usize,
    /// `amdgpu`.
    pub amdgpu: usize,
}

impl Drivers {
    fn words(self) -> Option<String> {
        let all = [
            ("nvidia", self.nvidia),
            ("mlx5_core", self.mlx5),
            ("amdgpu", self.amdgpu),
        ];
        let some: Vec<String> = all
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        (!some.is_empty()).then(|| some.join(", "))
    }
}

/// The state. `of_nouveau` gives the devices that `nouveau` has; asked only after the NVIDIA driver missed some.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    policy: &Policy,
    events: &[StoredEvent],
    boots: &[u64],
    drivers: &Drivers,
    of_nouveau: impl FnOnce() -> Vec<String>,
) -> Report {
    let missed = events
        .iter()
        .any(|stored| stored.event.name == kinds::CONFLICT);
    let taken = if missed { of_nouveau() } else { Vec::new() };
    let rules = rules::rules(config, !taken.is_empty());
    let describe = |incident: &Incident<'_>| {
        let event = &incident.newest.event;
        if incident.rule.event == kinds::CONFLICT && !taken.is_empty() {
            return format!(
                "nouveau has GPUs that are meant for the NVIDIA driver: {}",
                taken.join(", ")
            );
        }
        let mut words = event.message.clone();
        if incident.count > 1 {
            words.push_str(&format!(", {} times", incident.count));
        }
        let cause = ["cause", "code", "error"]
            .iter()
            .find_map(|key| incidents::fact(event, key));
        if let Some(cause) = cause {
            words.push_str(&format!(": {cause}"));
        }
        if let (Some(client), Some(module)) = (
            incidents::fact(event, "client_version"),
            incidents::fact(event, "module_version"),
        ) {
            words.push_str(&format!(": user space {client}, kernel module {module}"));
        }
        words
    };
    let words = drivers.words();
    let healthy = words.as_ref().map_or_else(
        || "no GPU or network card of the drivers that are watched".to_owned(),
        |words| format!("no device is lost ({words})"),
    );
    let mut report = Report {
        supported: words.is_some() || !events.is_empty(),
        ..Report::of(policy.state(&rules, |rules| {
            let open = incidents::open(rules, events, boots, context.now);
            incidents::state(context, &healthy, &open, describe)
        }))
    };
    let since = context.now.saturating_sub(config.window_ms());
    if !report.supported {
        return report;
    }
    for kind_facts in &KINDS {
        let of_kind = events
            .iter()
            .filter(|row| row.event.name == kind_facts.event && row.last_time >= since);
        let count: u64 = of_kind.map(|row| row.count).sum();
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let value = count as f64;
        report.add_gauge(METRIC, &[("kind", kind_facts.event)], value);
    }
    report
}

#[cfg(test)]
mod tests;
