//! The verdict: plain inputs in, report out. Everything is measured and shown; the first row that is not well gives
//! the health and the reason.

use gpud_sdk::history::{Reboot, StoredEvent};
use gpud_sdk::incidents::clip;
use gpud_sdk::sysfs::{EntryCount, FileContent};
use gpud_sdk::{
    AccessError, CheckContext, Error, Event, Health, HealthState, RepairAction, Report,
};
use serde::Serialize;

use crate::config::Config;
use crate::dstate::{self, Counts, StuckProcesses, Tracker};
use crate::facts::{Facts, Host, Kernel, MachineMetadata, Platform, Virtualization};
use crate::handles::{Handles, allocated_handles, open_files};
use crate::processes::{self, Processes};
use crate::sweep::OtherProcesses;
use crate::waits;

/// How far back reboots, recoveries and crash dumps count: 3 days.
pub const LOOK_BACK_MS: u64 = 3 * 24 * 60 * 60 * 1000;
/// Own events looked at.
pub const MAX_EVENTS: u32 = 1000;

/// Percent of a limit that degrades, and that is too much.
const DEGRADED: f64 = 80.0;
const UNHEALTHY: f64 = 95.0;
/// Zombies that degrade and that are too many, in percent of what there can be, and without knowing that.
const ZOMBIE_PERCENT: [u64; 2] = [20, 80];
const ZOMBIES: [u64; 2] = [1000, 2000];
/// Reboots after which one more is thought useless.
const REBOOTS_BEFORE_INSPECTION: usize = 2;

const LEAKS: &str = "check/restart user applications for leaky file descriptors";

/// All that is judged.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The identity of the machine.
    pub facts: &'a Facts,
    /// Configuration.
    pub config: &'a Config,
    /// `/proc/uptime`.
    pub uptime: Result<String, AccessError>,
    /// `/proc/‹pid›/stat` of all processes whose turn it is.
    pub processes: Result<Vec<FileContent>, AccessError>,
    /// Whether it is the turn of process 1, which every machine and every container has.
    pub is_turn_of_first: bool,
    /// `/proc/‹pid›/wchan` of those of them, and of the followed ones, that are blocked.
    pub wait_channels: Vec<FileContent>,
    /// Entries of `/proc/‹pid›/fd` of the same.
    pub open_files: Result<Vec<EntryCount>, AccessError>,
    /// The known facts about the others.
    pub elsewhere: OtherProcesses,
    /// `/proc/sys/fs/file-nr`.
    pub file_nr: Result<String, AccessError>,
    /// `/proc/sys/fs/file-max`.
    pub file_max: Result<String, AccessError>,
    /// `/proc/sys/kernel/pid_max`.
    pub pid_max: Result<String, AccessError>,
    /// A set-healthy that the tracker has not seen.
    pub mark: Option<u64>,
}

/// Events and reboots of the last three days.
#[derive(Debug, Default)]
pub struct ProcessHistory {
    /// Events of this component.
    pub events: Vec<StoredEvent>,
    /// Reboots.
    pub reboots: Vec<Reboot>,
}

/// One row of the verdict that is not well.
struct Finding {
    health: Health,
    reason: String,
    error: Option<String>,
    action: Option<(RepairAction, String)>,
}

impl Finding {
    fn unknown(context: &CheckContext, error: &AccessError) -> Self {
        let state = HealthState::unjudged(context, error);
        Self {
            health: state.health,
            reason: state.reason,
            error: state.error,
            action: None,
        }
    }

    fn leak(health: Health, reason: String) -> Self {
        Self {
            health,
            reason,
            error: None,
            action: Some((RepairAction::CheckUserAppAndGpu, LEAKS.to_owned())),
        }
    }
}

/// Judges one reading. `past` is asked for only when it matters.
///
/// # Errors
/// That of `past`.
pub fn judge(
    context: &CheckContext,
    inputs: Inputs<'_>,
    tracker: &mut Tracker,
    past: impl FnOnce() -> Result<ProcessHistory, AccessError>,
) -> Result<Report, Error> {
    let now = context.now / 1000;
    // In the order of the rows; the first one counts, and then what is unknown.
    let mut findings = Vec::new();
    let mut unknown = Vec::new();
    let mut notes = None;

    // Shown, and not judged.
    let uptime = parsed(inputs.uptime, "/proc/uptime", uptime_seconds);
    let uptime = uptime.unwrap_or_else(|error| {
        notes = Some(error.text());
        0
    });
    let listed_files = inputs.processes.as_deref().unwrap_or_default();
    let hidden = processes::hidden(listed_files, inputs.is_turn_of_first);
    let processes = inputs.processes.map(|files| Processes::parse(&files));
    let listed = processes.is_ok();
    let processes = known(context, processes, &mut unknown);

    let file_max = parsed(inputs.file_max, "/proc/sys/fs/file-max", whole);
    let pid_max = parsed(inputs.pid_max, "/proc/sys/kernel/pid_max", whole).ok();
    let elsewhere = inputs.elsewhere;
    let zombies = elsewhere.zombies.saturating_add(processes.zombies.into());
    findings.extend(zombie_row(
        zombies,
        file_max.as_ref().ok().copied(),
        pid_max,
    ));

    let blocked = BlockedReading {
        config: inputs.config,
        mark: inputs.mark,
        wait_channels: &inputs.wait_channels,
        processes: listed.then_some(&processes),
        elsewhere: &elsewhere,
    };
    let BlockedVerdict {
        events,
        counts,
        finding,
    } = judge_blocked(context, &blocked, tracker, past)?;
    findings.extend(finding);

    let allocated = parsed(inputs.file_nr, "/proc/sys/fs/file-nr", allocated_handles);
    let allocated = known(context, allocated, &mut unknown);
    let usage = open_files(&inputs.open_files, &mut notes).saturating_add(elsewhere.open_files);
    notes = hidden.or(notes).or(elsewhere.note);
    let limit = known(context, file_max, &mut unknown);
    let running = elsewhere.total.saturating_add(processes.total.into());
    let files = Handles::new(allocated, running, usage, limit);
    findings.extend(pressure_row(
        "too many running pids",
        files.threshold_running_pids_percent,
    ));
    findings.extend(pressure_row(
        "too many allocated file handles",
        files.threshold_allocated_file_handles_percent,
    ));

    let boot_time = match context.boot_time / 1000 {
        0 => now.saturating_sub(uptime),
        boot_time => boot_time,
    };
    let uptimes = Uptimes {
        seconds: uptime,
        boot_time_unix_seconds: boot_time,
    };
    let data = Data::of(inputs.facts, uptimes, zombies, &counts, &files);
    let state = state(context, findings.into_iter().chain(unknown).next(), notes);
    let mut report =
        Report::of(state.info("data", serde_json::to_string(&data).unwrap_or_default()));
    report.events = events;
    if listed {
        report = files.metrics(gauges(report, zombies, &counts));
    }
    Ok(report)
}

fn gauges(report: Report, zombies: u64, counts: &Counts) -> Report {
    report
        .gauge("os_zombie_processes", zombies as f64)
        .gauge("os_blocked_processes", counts.current_count as f64)
        .gauge(
            "os_blocked_processes_persistent",
            counts.persistent_count as f64,
        )
}

/// What is known about processes in uninterruptible sleep.
struct BlockedReading<'a> {
    config: &'a Config,
    mark: Option<u64>,
    wait_channels: &'a [FileContent],
    /// Those that were read, if their list could be read.
    processes: Option<&'a Processes>,
    elsewhere: &'a OtherProcesses,
}

/// The verdict on processes in uninterruptible sleep.
#[derive(Default)]
struct BlockedVerdict {
    events: Vec<Event>,
    counts: Counts,
    finding: Option<Finding>,
}

/// Follows the blocked processes, and judges those that stay blocked.
fn judge_blocked(
    context: &CheckContext,
    reading: &BlockedReading<'_>,
    tracker: &mut Tracker,
    past: impl FnOnce() -> Result<ProcessHistory, AccessError>,
) -> Result<BlockedVerdict, Error> {
    let recovered = |message| dstate::recovered(context.now, message);
    let config = reading.config;
    let mut events = Vec::new();
    if config.names.is_empty() {
        events.extend(tracker.switch_off().map(recovered));
        return Ok(BlockedVerdict {
            events,
            ..BlockedVerdict::default()
        });
    }
    let Some(processes) = reading.processes else {
        return Ok(BlockedVerdict::default());
    };
    let cleared = reading.mark.and_then(|mark| tracker.mark(mark));
    events.extend(cleared.map(recovered));
    let now = context.now / 1000;
    let watched = Processes::parse(&reading.elsewhere.watched).blocked;
    let waiting = waits::for_user_space(reading.wait_channels);
    let mut blocked: Vec<_> = processes.blocked.iter().chain(&watched).cloned().collect();
    blocked.retain(|process| !waiting.contains(&process.pid));
    tracker.update(now, &blocked);
    let stuck = tracker.stuck(now, config.threshold, &config.names);
    let counts = Counts {
        current_count: processes.blocked.len() + reading.elsewhere.blocked as usize,
        persistent_count: stuck.count,
        persistent: stuck.list.clone(),
    };
    let finding = if stuck.count > 0 {
        Some(stuck_row(&stuck, config, past)?)
    } else {
        None
    };
    let reason = finding.as_ref().map(|finding| finding.reason.as_str());
    events.extend(tracker.turn(context.now, reason, &counts));
    Ok(BlockedVerdict {
        events,
        counts,
        finding,
    })
}

/// The state with the health and the reason of a finding, if there is one.
fn state(context: &CheckContext, finding: Option<Finding>, notes: Option<String>) -> HealthState {
    let mut state = HealthState::healthy(context, "ok");
    state.error = notes;
    if let Some(finding) = finding {
        state.health = finding.health;
        state.reason = finding.reason;
        if let Some(error) = finding.error {
            state = state.error(error);
        }
        if let Some((action, description)) = finding.action {
            state = state.action(action, &description);
        }
    }
    state
}

fn parsed<T>(
    text: Result<String, AccessError>,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, AccessError> {
    let text = text?;
    let wrong = || AccessError::Other(format!("{path} reads {:?}", clip(text.trim_end())));
    parse(&text).ok_or_else(wrong)
}

/// The value, or nothing and the finding that it is unknown.
fn known<T: Default>(
    context: &CheckContext,
    value: Result<T, AccessError>,
    unknown: &mut Vec<Finding>,
) -> T {
    value.unwrap_or_else(|error| {
        unknown.push(Finding::unknown(context, &error));
        T::default()
    })
}

fn whole(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn uptime_seconds(text: &str) -> Option<u64> {
    text.split(['.', ' ']).next()?.parse().ok()
}

/// Zombies hold pids, so the most that there can be is also bounded by the number of pids.
fn zombie_row(zombies: u64, file_max: Option<u64>, pid_max: Option<u64>) -> Option<Finding> {
    let most = [file_max, pid_max]
        .into_iter()
        .flatten()
        .filter(|&limit| limit > 0)
        .min();
    let [degraded, unhealthy] = match most {
        Some(most) => {
            ZOMBIE_PERCENT.map(|percent| (u128::from(most) * u128::from(percent) / 100) as u64)
        }
        None => ZOMBIES,
    };
    let row = |health, word, threshold| {
        Finding::leak(
            health,
            format!("too many zombie processes ({word} state threshold: {threshold})"),
        )
    };
    match zombies {
        _ if zombies > unhealthy => Some(row(Health::Unhealthy, "unhealthy", unhealthy)),
        _ if zombies > degraded => Some(row(Health::Degraded, "degraded", degraded)),
        _ => None,
    }
}

fn pressure_row(what: &str, percent: f64) -> Option<Finding> {
    let row = |health, word, threshold: f64| {
        Finding::leak(
            health,
            format!("{what} ({word} state percent threshold: {threshold:.2} %)"),
        )
    };
    match percent {
        _ if percent > UNHEALTHY => Some(row(Health::Unhealthy, "unhealthy", UNHEALTHY)),
        _ if percent > DEGRADED => Some(row(Health::Degraded, "degraded", DEGRADED)),
        _ => None,
    }
}

/// Stuck processes: of a name that escalates, a reboot is due, or when that did not help, an inspection.
fn stuck_row(
    stuck: &StuckProcesses,
    config: &Config,
    past: impl FnOnce() -> Result<ProcessHistory, AccessError>,
) -> Result<Finding, Error> {
    let summary = stuck.summary();
    if !stuck
        .list
        .iter()
        .any(|process| config.names.matches(&process.name))
    {
        let reason = format!(
            "persistent D-state (uninterruptible sleep) processes detected (persistent: {}): {summary}",
            stuck.count
        );
        return Ok(Finding {
            health: Health::Degraded,
            reason,
            error: None,
            action: None,
        });
    }
    let reboots = reboots_since_recovery(&past()?);
    let action = if reboots < REBOOTS_BEFORE_INSPECTION {
        let text = "reboot the system to clear persistent D-state processes stuck in uninterruptible kernel waits";
        (RepairAction::RebootSystem, text.to_owned())
    } else {
        let text = format!(
            "persistent D-state processes reappeared after {reboots} reboots; recommend hardware/driver inspection instead of another reboot"
        );
        (RepairAction::HardwareInspection, text)
    };
    let names = config.names.joined();
    let reason =
        format!("persistent D-state processes matching escalation rules {names:?}: {summary}");
    Ok(Finding {
        health: Health::Unhealthy,
        reason,
        error: None,
        action: Some(action),
    })
}

fn reboots_since_recovery(past: &ProcessHistory) -> usize {
    let recovered = past
        .events
        .iter()
        .filter(|stored| stored.event.name == "blocked_processes_recovered")
        .map(|stored| stored.last_time.max(stored.event.time))
        .max()
        .unwrap_or(0);
    past.reboots
        .iter()
        .filter(|reboot| reboot.time > recovered)
        .count()
}

#[derive(Serialize)]
struct Data<'a> {
    virtualization_environment: &'a Virtualization,
    system_manufacturer: &'a str,
    machine_metadata: &'a MachineMetadata,
    host: &'a Host,
    kernel: &'a Kernel,
    platform: &'a Platform,
    uptimes: Uptimes,
    zombie_processes: u64,
    blocked_processes: &'a Counts,
    file_descriptors: &'a Handles,
}

impl<'a> Data<'a> {
    fn of(
        facts: &'a Facts,
        uptimes: Uptimes,
        zombies: u64,
        counts: &'a Counts,
        files: &'a Handles,
    ) -> Self {
        Self {
            virtualization_environment: &facts.virtualization_environment,
            system_manufacturer: &facts.system_manufacturer,
            machine_metadata: &facts.machine_metadata,
            host: &facts.host,
            kernel: &facts.kernel,
            platform: &facts.platform,
            uptimes,
            zombie_processes: zombies,
            blocked_processes: counts,
            file_descriptors: files,
        }
    }
}

#[derive(Serialize)]
struct Uptimes {
    seconds: u64,
    boot_time_unix_seconds: u64,
}

#[cfg(test)]
mod tests;
