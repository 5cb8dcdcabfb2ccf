//! The verdict.

use std::collections::{BTreeMap, BTreeSet};

use gpud_pack_common::hold;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{CheckContext, Event, Evidence, Recovery, RepairAction, Report};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::crawl::{self, Tree};
use crate::entries::{self, Entry};
use crate::parts::{self, Health, Kind, Part};

/// Gauge: parts by kind and health.
pub const PARTS: &str = "server_redfish_parts";
/// Gauge: a reading.
pub const READING: &str = "server_redfish_reading";
/// Name of the state that a leak is reported in.
pub const LEAK_STATE: &str = "coolant-leak";

const UNREADABLE: &str = "redfish_unreadable";
const LEAK_EVENT: &str = "redfish_coolant_leak";
const CHECK: &str = "Check the part; the controller's own pages tell more.";
const STOP_COOLANT: &str = "Take work and power off the machine, close its coolant and have it looked at \
    before it is used again; then set the component healthy.";
const COUNT: &str =
    "Check whether the part is seated and powered, and what the log of the controller says of it.";
/// Identities of entries that are kept; the host takes 64 KiB of a value.
const MAX_SEEN: usize = 256;

/// Which log entries are no news.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenEntries {
    /// Entries of the last reading; nothing before the first.
    ids: Option<BTreeSet<String>>,
}

impl SeenEntries {
    /// From what [`SeenEntries::save`] gave.
    pub fn restore(saved: Option<&str>) -> Self {
        saved
            .and_then(|saved| serde_json::from_str(saved).ok())
            .unwrap_or_default()
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes a reading; gives the entries that are new. Those of the first reading are not: a log can be years old.
    fn take(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let ids = entries.iter().map(|entry| entry.id.clone());
        let ids: BTreeSet<String> = ids.take(MAX_SEEN).collect();
        let before = self.ids.replace(ids);
        let is_new = |entry: &Entry| before.as_ref().is_some_and(|ids| !ids.contains(&entry.id));
        entries.into_iter().filter(is_new).collect()
    }
}

/// Judges one reading of the tree, or why there is none.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    tree: Result<&Tree, &str>,
    seen: &mut SeenEntries,
    before: &Memory,
) -> (Report, Memory) {
    let tree = match tree {
        Ok(tree) => tree,
        Err(why) => {
            let open = hold::open(before, &[], |_, name| name != UNREADABLE);
            let what = "the Redfish service";
            let mut found = hold::unreadable("service", UNREADABLE, what, why, &open);
            if before.0.values().any(|name| name == LEAK_EVENT) {
                // It was leaking when it was last heard of.
                found.health = gpud_sdk::Health::Unhealthy;
            }
            let (mut report, mut after) = findings::judge(context, "", &[found], before);
            hold::keep(&mut report, &mut after, before, &open);
            return (report, after);
        }
    };
    let all = parts::all(&tree.pages);
    let judged: Vec<&Part> = all
        .iter()
        .filter(|part| part.is_present() && !config.ignores(&part.name))
        .collect();
    let (leaks, others): (Vec<&Part>, Vec<&Part>) = judged
        .iter()
        .copied()
        .partition(|part| part.kind == Kind::LeakDetector && part.health == Health::Critical);
    let leaks: Vec<Finding> = leaks.into_iter().map(leak).collect();
    let mut found: Vec<Finding> = others.iter().filter_map(|part| trouble(part)).collect();
    found.extend(missing(config, &judged));
    if found.is_empty() && leaks.is_empty() {
        // The health of what holds others is often theirs: it counts where none of them says why.
        found.extend(others.iter().filter_map(|part| container(part)));
    }
    let open = match &tree.first_unread {
        Some(why) => {
            let text = format!("{} resources cannot be read ({why})", tree.unread);
            found.push(Finding::degraded(
                "resources",
                "redfish_partly_unreadable",
                text,
            ));
            let is_gone = |key: &str, name: &str| {
                name != UNREADABLE && !all.iter().any(|part| part.path == key)
            };
            hold::open(before, &[found.as_slice(), &leaks].concat(), is_gone)
        }
        None => held_by_absent(tree, before, &mut found, &leaks),
    };
    let parts = judged
        .iter()
        .filter(|part| !matches!(part.kind, Kind::Container | Kind::Other));
    let healthy = format!("{} parts, none in trouble", parts.count());
    let both = [found.as_slice(), &leaks].concat();
    let (mut report, mut after) = findings::judge(context, &healthy, &both, before);
    hold::keep(&mut report, &mut after, before, &open);
    report.states = vec![findings::state(context, &healthy, &found)];
    report = findings::with_data(report, &shown(&judged));
    if !leaks.is_empty() {
        let mut state = findings::state(context, "", &leaks);
        state.name = Some(LEAK_STATE.to_owned());
        // Coolant dries up, and what it was on is no better for it: a person has to look.
        state.latch = true;
        state.recovery = vec![Recovery::SetHealthy];
        report.states.push(state);
    }
    let news = seen.take(entries::all(&tree.pages));
    report
        .events
        .extend(news.into_iter().map(|entry| event(context, entry)));
    (metrics(report, &judged), after)
}

/// Open troubles of resources that the service no longer has: a link that leads nowhere is a trouble only where something
/// was wrong behind it.
fn held_by_absent<'a>(
    tree: &Tree,
    before: &'a Memory,
    found: &mut Vec<Finding>,
    leaks: &[Finding],
) -> Vec<&'a str> {
    let is_behind = |key: &str| {
        tree.absent.iter().find(|path| {
            let rest = key.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']))
        })
    };
    let all = [found.as_slice(), leaks].concat();
    let open = hold::open(before, &all, |key, name| {
        name != UNREADABLE && is_behind(key).is_some()
    });
    if let Some(path) = open.first().and_then(|key| is_behind(key)) {
        let text = format!("1 resource cannot be read ({})", crawl::absent(path));
        found.push(Finding::degraded(
            "resources",
            "redfish_partly_unreadable",
            text,
        ));
    }
    open
}

fn leak(part: &Part) -> Finding {
    let text = format!("{} reports a leak of coolant", part.name);
    Finding::unhealthy(part.path.clone(), LEAK_EVENT, text)
        .action(RepairAction::HardwareInspection, STOP_COOLANT)
        .about("leak detector", &part.name)
}

fn trouble(part: &Part) -> Option<Finding> {
    let label = part.kind.label();
    let what = format!("{label} {}", part.name);
    let is_grave = matches!(part.kind, Kind::Gpu | Kind::Processor | Kind::Memory);
    let finding = match part.health {
        _ if part.kind == Kind::Container => return None,
        Health::Critical if is_grave => Finding::unhealthy(
            part.path.clone(),
            "redfish_part_critical",
            format!("{what} is Critical"),
        ),
        Health::Critical => Finding::degraded(
            part.path.clone(),
            "redfish_part_critical",
            format!("{what} is Critical"),
        ),
        Health::Warning => Finding::degraded(
            part.path.clone(),
            "redfish_part_warning",
            format!("{what} is in the state Warning"),
        ),
        _ if part.is_lost() => {
            let text = format!("{what} is not available ({})", part.state);
            Finding::degraded(part.path.clone(), "redfish_part_unavailable", text)
        }
        Health::Ok | Health::Unknown => return None,
    };
    let finding = finding.action(RepairAction::HardwareInspection, CHECK);
    Some(finding.about(label, &part.name))
}

fn container(part: &Part) -> Option<Finding> {
    if part.kind != Kind::Container || part.health < Health::Warning {
        return None;
    }
    let text = format!(
        "{} reports {}, but none of its parts does",
        part.name,
        part.health.label()
    );
    Some(
        Finding::degraded(part.path.clone(), "redfish_unit", text)
            .action(RepairAction::HardwareInspection, CHECK),
    )
}

/// Parts that have to be there and are not.
fn missing(config: &Config, judged: &[&Part]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (kind, expected) in &config.expected {
        let count = judged.iter().filter(|part| part.kind == *kind).count() as u64;
        if count < *expected {
            let label = kind.label();
            let text = format!("{count} of {expected} parts of the kind {label} are there");
            found.push(
                Finding::degraded(format!("missing {label}"), "redfish_part_missing", text)
                    .action(RepairAction::HardwareInspection, COUNT),
            );
        }
    }
    found
}

fn event(context: &CheckContext, entry: Entry) -> Event {
    let text = format!(
        "{}, {} by the controller's clock",
        entry.message, entry.created
    );
    let mut event = Event::new(context.now, "redfish_log", entry.event_type, text)
        .merged_by(entry.message, 300);
    event.evidence.push(Evidence::Other(entry.id));
    event
}

fn metrics(mut report: Report, parts: &[&Part]) -> Report {
    let mut counts: BTreeMap<(Kind, Health), u64> = BTreeMap::new();
    for part in parts {
        *counts.entry((part.kind, part.health)).or_default() += 1;
        if let Some((value, unit)) = part.reading {
            let labels = [("sensor", part.name.as_str()), ("unit", unit)];
            report = report.gauge_with(READING, &labels, value);
        }
    }
    for ((kind, health), count) in counts {
        let labels = [("kind", kind.label()), ("health", health.label())];
        report = report.gauge_with(PARTS, &labels, gauge(count));
    }
    report
}

fn shown(parts: &[&Part]) -> serde_json::Value {
    let shown: Vec<String> = parts
        .iter()
        .filter(|part| !matches!(part.kind, Kind::Temperature | Kind::Voltage))
        .map(|part| {
            format!(
                "{} {}: {} {}",
                part.kind.label(),
                part.name,
                part.health.label(),
                part.state
            )
        })
        .collect();
    json!({ "parts": shown })
}

#[cfg(test)]
mod tests;
