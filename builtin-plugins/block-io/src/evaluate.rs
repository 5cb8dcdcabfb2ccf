//! From lines to events, and from events to the state. Functions of their arguments.

use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Rule, Sighting};
use gpud_sdk::{CheckContext, Event, EventType, Health, Message, RepairAction, Report, Subject};

use crate::config::Config;
use crate::lines::{self, Found, Kind};
use crate::topology::Topology;

/// How far back lost disks count: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of what failed lately.
pub const METRIC: &str = "block_io_errors_recent";

/// Repeats of one kind and device within this time are counted. The block layer prints at most ten lines in five seconds.
const MERGE_SECONDS: u32 = 300;
/// How long a controller that stopped and came back is remembered: a day.
const CONTROLLER_MS: u64 = 24 * 60 * 60 * 1000;

/// Fact: mount points on the device, separated by commas.
const MOUNTED_AT: &str = "mount_points";

/// How a kind of failure is stored.
struct Naming {
    kind: Kind,
    event: &'static str,
    event_type: EventType,
    text: &'static str,
}

const fn naming(
    kind: Kind,
    event: &'static str,
    event_type: EventType,
    text: &'static str,
) -> Naming {
    Naming {
        kind,
        event,
        event_type,
        text,
    }
}

/// All kinds.
static NAMINGS: [Naming; 14] = [
    naming(
        Kind::Medium,
        "disk_medium_error",
        EventType::Critical,
        "medium error",
    ),
    naming(Kind::Io, "disk_io_error", EventType::Warning, "I/O error"),
    naming(
        Kind::Path,
        "disk_path_error",
        EventType::Info,
        "error of one path to the disk",
    ),
    naming(
        Kind::Hardware,
        "disk_hardware_error",
        EventType::Critical,
        "hardware error reported by the disk",
    ),
    naming(
        Kind::Offline,
        "disk_offline",
        EventType::Fatal,
        "disk taken out of service by the kernel",
    ),
    naming(
        Kind::ScsiCommand,
        "scsi_command_failed",
        EventType::Warning,
        "SCSI command failed",
    ),
    naming(
        Kind::ScsiMedium,
        "scsi_medium_error",
        EventType::Warning,
        "medium error reported by the disk",
    ),
    naming(
        Kind::AtaCommand,
        "ata_command_failed",
        EventType::Warning,
        "ATA command failed",
    ),
    naming(
        Kind::AtaMedium,
        "ata_medium_error",
        EventType::Warning,
        "uncorrectable data reported by the disk",
    ),
    naming(
        Kind::AtaLink,
        "ata_link_error",
        EventType::Warning,
        "data damaged between disk and controller",
    ),
    naming(
        Kind::NvmeTimeout,
        "nvme_command_timeout",
        EventType::Warning,
        "NVMe command timed out",
    ),
    naming(
        Kind::NvmeDown,
        "nvme_controller_down",
        EventType::Critical,
        "NVMe controller stopped and is reset",
    ),
    naming(
        Kind::NvmeNotReady,
        "nvme_not_ready",
        EventType::Critical,
        "NVMe controller does not get ready",
    ),
    naming(
        Kind::NvmeRemoved,
        "nvme_removed",
        EventType::Fatal,
        "NVMe controller given up by the kernel",
    ),
];

/// The events of messages, oldest first. `topology` is asked once, and only if there are any.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    topology: impl FnOnce() -> Topology,
) -> Vec<Event> {
    let found: Vec<(&Message, Found<'_>)> = messages
        .iter()
        .filter(|message| incidents::is_kernel_line(message))
        .filter_map(|message| Some((message, lines::find(&message.text)?)))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let topology = topology();
    found
        .into_iter()
        .filter_map(|(message, found)| {
            let sighting = sighting(&found, &topology)?;
            Some(sighting.event(context, message, MERGE_SECONDS))
        })
        .collect()
}

fn sighting(found: &Found<'_>, topology: &Topology) -> Option<Sighting> {
    let naming = NAMINGS.iter().find(|naming| naming.kind == found.kind)?;
    let mut points = topology.points(found.device);
    if points.is_empty() && !found.address.is_empty() {
        points = topology.points(found.address);
    }
    let mut text = format!("{} on {}", capital(naming.text), found.device);
    if !points.is_empty() {
        text.push_str(&format!(" (mounted at {})", points.join(", ")));
    }
    let mut sighting = Sighting::new(naming.event, naming.event_type.clone(), text)
        .of(found.device)
        .fact(MOUNTED_AT, points.join(","));
    for (key, value) in &found.facts {
        sighting = sighting.fact(key, *value);
    }
    if found.address != found.device {
        sighting = sighting.fact("scsi_address", found.address);
    }
    sighting.subject = Some(Subject::Other(("disk".to_owned(), found.device.to_owned())));
    Some(sighting)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn rules(config: &Config) -> Vec<Rule> {
    let broken = |event: &'static str, at_least, health| Rule {
        event,
        at_least,
        remember_ms: config.medium_error_window_seconds * 1000,
        reboot_clears: false,
        ended_by: &[],
        health,
        action: Some(RepairAction::HardwareInspection),
        advice: "Save what is on the disk and have it looked at; set healthy once it is replaced.",
    };
    let often = |event: &'static str, advice: &'static str| Rule {
        remember_ms: config.io_error_window_seconds * 1000,
        advice,
        ..broken(event, config.io_error_threshold, Health::Degraded)
    };
    let lost = |event: &'static str| Rule {
        event,
        at_least: 1,
        remember_ms: LOOK_BACK_MS,
        reboot_clears: true,
        ended_by: &[],
        health: Health::Unhealthy,
        action: Some(RepairAction::RebootSystem),
        advice: "The kernel does not use the disk any more: reboot; if it is lost again, have it looked at.",
    };
    let cable = "Check cables, backplane and disk.";
    let slow = "Check the disk, its firmware and its power saving.";
    vec![
        lost("disk_offline"),
        lost("nvme_removed"),
        lost("nvme_not_ready"),
        // First the worse of two on the same events.
        broken(
            "disk_medium_error",
            config.medium_error_threshold,
            Health::Unhealthy,
        ),
        broken("disk_medium_error", 1, Health::Degraded),
        broken("disk_hardware_error", 1, Health::Degraded),
        often("disk_io_error", cable),
        often("ata_link_error", cable),
        often("nvme_command_timeout", slow),
        Rule {
            remember_ms: CONTROLLER_MS,
            advice: slow,
            ..broken("nvme_controller_down", 1, Health::Degraded)
        },
    ]
}

/// The state.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    boots: &[u64],
) -> Report {
    let rules = rules(config);
    let mut open: Vec<Incident<'_>> = Vec::new();
    for incident in incidents::open(&rules, events, boots, context.now) {
        let same = |other: &Incident<'_>| {
            (other.rule.event, other.device) == (incident.rule.event, incident.device)
        };
        if !open.iter().any(same) {
            open.push(incident);
        }
    }
    let describe = |incident: &Incident<'_>| {
        let event = &incident.newest.event;
        let text = NAMINGS
            .iter()
            .find(|naming| naming.event == incident.rule.event)
            .map_or(event.message.as_str(), |naming| naming.text);
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
    let mut report = Report::of(incidents::state(context, &healthy, &open, describe));
    for naming in &NAMINGS {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let value = recent(naming.event) as f64;
        report = report.gauge_with(METRIC, &[("kind", naming.event)], value);
    }
    report
}

#[cfg(test)]
mod tests;
