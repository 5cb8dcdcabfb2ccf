//! From lines to events, and from events to the state. Functions of their arguments.

use gpud_sdk::catalog::Entry;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Rule, Sighting};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, Health, Message, Report, Subject};

use crate::config::Config;
use crate::lines::{self, Kind, MatchedLine};
use crate::patterns::{self, CATALOG};
use crate::topology::Topology;

/// How far back lost disks count: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of what failed lately.
pub const METRIC: &str = "block_io_errors_recent";

/// Repeats of one kind and device within this time are counted. The block layer prints at most ten lines in five seconds.
const MERGE_SECONDS: u32 = 300;

/// Fact: mount points on the device, separated by commas.
const MOUNTED_AT: &str = "mount_points";

/// Returns the catalogue's entry for a kind of failure.
fn entry(kind: Kind) -> &'static Entry {
    match kind {
        Kind::Medium => &patterns::DISK_MEDIUM_ERROR,
        Kind::Io => &patterns::DISK_IO_ERROR,
        Kind::Path => &patterns::DISK_PATH_ERROR,
        Kind::Hardware => &patterns::DISK_HARDWARE_ERROR,
        Kind::Offline => &patterns::DISK_OFFLINE,
        Kind::ScsiCommand => &patterns::SCSI_COMMAND_FAILED,
        Kind::ScsiMedium => &patterns::SCSI_MEDIUM_ERROR,
        Kind::AtaCommand => &patterns::ATA_COMMAND_FAILED,
        Kind::AtaMedium => &patterns::ATA_MEDIUM_ERROR,
        Kind::AtaLink => &patterns::ATA_LINK_ERROR,
        Kind::NvmeTimeout => &patterns::NVME_COMMAND_TIMEOUT,
        Kind::NvmeDown => &patterns::NVME_CONTROLLER_DOWN,
        Kind::NvmeNotReady => &patterns::NVME_NOT_READY,
        Kind::NvmeRemoved => &patterns::NVME_REMOVED,
        Kind::FilesystemError => &patterns::FILESYSTEM_ERROR,
        Kind::FilesystemShutDown => &patterns::FILESYSTEM_SHUT_DOWN,
        Kind::Image => &patterns::FILESYSTEM_IMAGE_ERROR,
        Kind::RaidMember => &patterns::RAID_MEMBER_FAILED,
        Kind::RaidFailed => &patterns::RAID_ARRAY_FAILED,
    }
}

/// The events of messages, oldest first. `topology` is asked once, and only if there are any.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    topology: impl FnOnce() -> Topology,
) -> Vec<Event> {
    let found: Vec<(&Message, MatchedLine<'_>)> = messages
        .iter()
        .filter(|message| incidents::is_driver_line(message))
        .filter_map(|message| Some((message, lines::find(&message.text)?)))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let topology = topology();
    found
        .into_iter()
        .map(|(message, found)| sighting(&found, &topology).event(context, message, MERGE_SECONDS))
        .collect()
}

fn sighting(found: &MatchedLine<'_>, topology: &Topology) -> Sighting {
    let entry = entry(found.kind);
    let mut points = topology.points(found.device);
    if points.is_empty() && !found.address.is_empty() {
        points = topology.points(found.address);
    }
    let mut text = format!("{} on {}", capital(entry.message), found.device);
    if !points.is_empty() {
        text.push_str(&format!(" (mounted at {})", points.join(", ")));
    }
    let mut sighting = Sighting::new(entry.name, entry.event_type(), text)
        .of(found.device)
        .fact(MOUNTED_AT, points.join(","));
    for (key, value) in &found.facts {
        sighting = sighting.fact(key, *value);
    }
    if found.address != found.device {
        sighting = sighting.fact("scsi_address", found.address);
    }
    sighting.subject = Some(Subject::Other(("disk".to_owned(), found.device.to_owned())));
    sighting
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn rules(config: &Config) -> Vec<Rule> {
    let broken = |entry: &Entry| Rule {
        remember_ms: config.medium_error_window_seconds * 1000,
        ..entry.rule()
    };
    let often = |entry: &Entry| Rule {
        at_least: config.io_error_threshold,
        remember_ms: config.io_error_window_seconds * 1000,
        ..entry.rule()
    };
    vec![
        patterns::DISK_OFFLINE.rule(),
        patterns::NVME_REMOVED.rule(),
        patterns::NVME_NOT_READY.rule(),
        patterns::FILESYSTEM_SHUT_DOWN.rule(),
        patterns::RAID_ARRAY_FAILED.rule(),
        // First the worse of two on the same events.
        Rule {
            at_least: config.medium_error_threshold,
            health: Health::Unhealthy,
            ..broken(&patterns::DISK_MEDIUM_ERROR)
        },
        broken(&patterns::DISK_MEDIUM_ERROR),
        broken(&patterns::DISK_HARDWARE_ERROR),
        patterns::FILESYSTEM_ERROR.rule(),
        patterns::RAID_MEMBER_FAILED.rule(),
        often(&patterns::DISK_IO_ERROR),
        often(&patterns::ATA_LINK_ERROR),
        often(&patterns::NVME_COMMAND_TIMEOUT),
        patterns::NVME_CONTROLLER_DOWN.rule(),
    ]
}

/// The state.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    policy: &Policy,
    events: &[StoredEvent],
    boots: &[u64],
) -> Report {
    let describe = |incident: &Incident<'_>| {
        let event = &incident.newest.event;
        let text = CATALOG
            .entry(incident.rule.event)
            .map_or(event.message.as_str(), |entry| entry.message);
        let mut words = format!("{}: {text}", incident.device);
        if incident.count > 1 {
            words.push_str(&format!(" ({} times)", incident.count));
        }
        if let Some(points) = incidents::fact(event, MOUNTED_AT) {
            words.push_str(&format!(", mounted at {}", points.replace(',', ", ")));
        }
        words
    };
    let since = context
        .now
        .saturating_sub(config.io_error_window_seconds * 1000);
    let recent = |name: &str| -> u64 {
        let of_kind = events
            .iter()
            .filter(|row| row.event.name == name && row.last_time >= since);
        of_kind.map(|row| row.count).sum()
    };
    let few = recent("disk_io_error") + recent("nvme_command_timeout") + recent("ata_link_error");
    let healthy = match few {
        0 => "no failing disks".to_owned(),
        few => format!(
            "{few} failed requests within {} s, below the threshold",
            config.io_error_window_seconds
        ),
    };
    let mut report = Report::of(policy.state(&rules(config), |rules| {
        let mut open: Vec<Incident<'_>> = Vec::new();
        for incident in incidents::open(rules, events, boots, context.now) {
            let same = |other: &Incident<'_>| {
                (other.rule.event, other.device) == (incident.rule.event, incident.device)
            };
            if !open.iter().any(same) {
                open.push(incident);
            }
        }
        incidents::state(context, &healthy, &open, describe)
    }));
    for entry in CATALOG.entries {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let value = recent(entry.name) as f64;
        report.add_gauge(METRIC, &[("kind", entry.name)], value);
    }
    report
}

#[cfg(test)]
mod tests;
