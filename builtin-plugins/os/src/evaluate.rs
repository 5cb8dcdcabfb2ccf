//! The verdict: plain inputs in, report out. Everything is measured and shown; the first row that is not well gives
//! the health and the reason.

use gpud_sdk::history::{Reboot, StoredEvent};
use gpud_sdk::sysfs::{EntryCount, FileContent};
use gpud_sdk::{AccessError, CheckContext, Error, Health, HealthState, RepairAction, Report};
use serde::Serialize;

use crate::config::Config;
use crate::dstate::{self, Counts, Tracker};
use crate::facts::{Facts, Host, Kernel, MachineMetadata, Platform, Virtualization};
use crate::handles::{Handles, allocated_handles, open_files};
use crate::processes::Processes;
use crate::sweep::Elsewhere;

mod blocked;

use blocked::{Followed, Seen};

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
    /// `/proc/‹pid›/wchan` of those of them, and of the followed ones, that are blocked.
    pub wait_channels: Vec<FileContent>,
    /// Entries of `/proc/‹pid›/fd` of the same.
    pub open_files: Result<Vec<EntryCount>, AccessError>,
    /// The known facts about the others.
    pub elsewhere: Elsewhere,
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

/// One thing that is wrong.
struct Trouble {
    health: Health,
    reason: String,
    error: Option<String>,
    action: Option<(RepairAction, String)>,
}

impl Trouble {
    fn broken(reason: &str, error: String) -> Self {
        Self {
            health: Health::Unhealthy,
            reason: reason.to_owned(),
            error: Some(error),
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
    // In the order of the rows; the first one counts.
    let mut troubles = Vec::new();
    let mut notes = None;

    let uptime = parsed(inputs.uptime, "/proc/uptime", uptime_seconds);
    let uptime = known(uptime, "error getting uptime", &mut troubles);
    let processes = inputs
        .processes
        .map(|files| Processes::parse(&files))
        .map_err(|error| error.text());
    let listed = processes.is_ok();
    let processes = known(processes, "error getting process count", &mut troubles);

    let file_max = parsed(inputs.file_max, "/proc/sys/fs/file-max", whole);
    let pid_max = parsed(inputs.pid_max, "/proc/sys/kernel/pid_max", whole).ok();
    let elsewhere = inputs.elsewhere;
    let zombies = elsewhere.zombies.saturating_add(processes.zombies.into());
    troubles.extend(zombie_row(
        zombies,
        file_max.as_ref().ok().copied(),
        pid_max,
    ));

    let mut blocked = Followed::default();
    if inputs.config.names.is_empty() {
        let message = tracker.switch_off();
        let event = message.map(|message| dstate::recovered(context.now, message));
        blocked.events.extend(event);
    } else if listed {
        let seen = Seen {
            processes: &processes,
            elsewhere: &elsewhere,
            wait_channels: &inputs.wait_channels,
            mark: inputs.mark,
        };
        blocked = blocked::follow(context, inputs.config, &seen, tracker, past)?;
    }
    let Followed {
        counts,
        trouble,
        events,
    } = blocked;
    troubles.extend(trouble);

    let usage = open_files(&inputs.open_files, &mut notes).saturating_add(elsewhere.open_files);
    notes = notes.or(elsewhere.note);
    let running = elsewhere.total.saturating_add(processes.total.into());
    let files = file_handles(inputs.file_nr, file_max, usage, running, &mut troubles);

    let data = Data {
        virtualization_environment: &inputs.facts.virtualization_environment,
        system_manufacturer: &inputs.facts.system_manufacturer,
        machine_metadata: &inputs.facts.machine_metadata,
        host: &inputs.facts.host,
        kernel: &inputs.facts.kernel,
        platform: &inputs.facts.platform,
        uptimes: Uptimes {
            seconds: uptime,
            boot_time_unix_seconds: boot_time(context, uptime),
        },
        zombie_processes: zombies,
        blocked_processes: &counts,
        file_descriptors: &files,
    };
    let state = first(context, troubles, notes);
    let mut report =
        Report::of(state.info("data", serde_json::to_string(&data).unwrap_or_default()));
    report.events = events;
    if listed {
        report = with_metrics(report, zombies, &counts, &files);
    }
    Ok(report)
}

/// When the machine booted, unix seconds: by the host, or else by its uptime.
fn boot_time(context: &CheckContext, uptime: u64) -> u64 {
    match context.boot_time / 1000 {
        0 => (context.now / 1000).saturating_sub(uptime),
        boot_time => boot_time,
    }
}

/// File handles and processes against what there can be of them.
fn file_handles(
    file_nr: Result<String, AccessError>,
    file_max: Result<u64, String>,
    usage: u64,
    running: u64,
    troubles: &mut Vec<Trouble>,
) -> Handles {
    let allocated = parsed(file_nr, "/proc/sys/fs/file-nr", allocated_handles);
    let allocated = known(allocated, "error getting file handles", troubles);
    let limit = known(file_max, "error getting file descriptor limit", troubles);
    let files = Handles::new(allocated, running, usage, limit);
    troubles.extend(pressure_row(
        "too many running pids",
        files.threshold_running_pids_percent,
    ));
    troubles.extend(pressure_row(
        "too many allocated file handles",
        files.threshold_allocated_file_handles_percent,
    ));
    files
}

fn with_metrics(report: Report, zombies: u64, counts: &Counts, files: &Handles) -> Report {
    let report = report
        .gauge("os_zombie_processes", zombies as f64)
        .gauge("os_blocked_processes", counts.current_count as f64)
        .gauge(
            "os_blocked_processes_persistent",
            counts.persistent_count as f64,
        );
    files.metrics(report)
}

/// The state: Healthy, or what the first trouble makes of it.
fn first(context: &CheckContext, troubles: Vec<Trouble>, notes: Option<String>) -> HealthState {
    let mut state = HealthState::healthy(context, "ok");
    state.error = notes;
    if let Some(trouble) = troubles.into_iter().next() {
        state.health = trouble.health;
        state.reason = trouble.reason;
        if let Some(error) = trouble.error {
            state = state.error(error);
        }
        if let Some((action, description)) = trouble.action {
            state = state.action(action, &description);
        }
    }
    state
}

fn parsed<T>(
    text: Result<String, AccessError>,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, String> {
    let text = text.map_err(|error| error.text())?;
    parse(&text).ok_or_else(|| format!("{path} reads {:?}", text.trim_end()))
}

/// The value, or a trouble and nothing.
fn known<T: Default>(value: Result<T, String>, reason: &str, troubles: &mut Vec<Trouble>) -> T {
    value.unwrap_or_else(|error| {
        troubles.push(Trouble::broken(reason, error));
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
fn zombie_row(zombies: u64, file_max: Option<u64>, pid_max: Option<u64>) -> Option<Trouble> {
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
        Trouble::leak(
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

fn pressure_row(what: &str, percent: f64) -> Option<Trouble> {
    let row = |health, word, threshold: f64| {
        Trouble::leak(
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

#[derive(Serialize)]
struct Uptimes {
    seconds: u64,
    boot_time_unix_seconds: u64,
}

#[cfg(test)]
mod tests;
