//! The `os` check: who the machine is, processes that are dead or stuck in the kernel, pressure on pids and file
//! handles, and kernel panics in the kernel log and in what a crash left behind.
//!
//! The host writes `reboot` events into this component's history; nothing here touches them.

pub mod config;
pub mod dstate;
pub mod evaluate;
pub mod facts;
pub mod handles;
pub mod names;
pub mod panic;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod processes;
pub mod sweep;
pub mod waits;

use gpud_sdk::policy::{self, Policy};
use gpud_sdk::sysfs::{EntryCount, FileContent, FileKind};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Trigger, exec, history, log, state, sysfs,
};

use config::Config;
use dstate::Tracker;
use evaluate::{Inputs, ProcessHistory};
use facts::{Facts, Sources};
use processes::Processes;
use sweep::{OtherProcesses, Sweep, SweepPart};

const FACTS_KEY: &str = "facts";
const TRACKER_KEY: &str = "dstate";
const PANIC_KEY: &str = "panic";
const SWEEP_KEY: &str = "sweep";

/// Most single-value files; one page.
const MAX_SMALL_BYTES: u32 = 4096;
/// Processes looked at in one check, and entries of other lists; beyond it there is no answer at all.
const MAX_PROCESSES: u32 = 65_536;
/// Blocked processes whose `wchan` is read one by one; of more it is read of all whose turn it is, in one call.
const MAX_ONE_BY_ONE: usize = 1_000;
/// systemd-detect-virt asks the firmware and takes some milliseconds.
const DETECT_VIRT_TIMEOUT_MS: u32 = 3_000;

/// Where systemd-pstore puts the kernel's last words after a crash.
const PSTORE: &str = "/var/lib/systemd/pstore";
/// Folders below it are followed this deep.
const PSTORE_DEPTH: u32 = 3;
const PSTORE_MAX_FILES: usize = 64;
/// A crash dump of the log is at most as long as the ring buffer, some 256 KiB.
const PSTORE_MAX_BYTES: u32 = 1 << 20;

/// The checker.
pub struct Os;

impl Checker for Os {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let stored = history::available();
        let facts = current_facts(context)?;
        let (config, policy) = policy::configured(&patterns::CATALOG, |document| {
            Config::parse(document, facts.nvidia_gpus, stored)
        })?;

        let saved = state::get_string(TRACKER_KEY)?;
        let mut tracker = Tracker::restore(saved.as_deref(), &context.boot_id);
        let mark = match tracker.wants_marks_since() {
            Some(since) if stored => history::set_healthy_marks(since)?.first().copied(),
            _ => None,
        };
        let (seen, open_files) = look_at_processes(context, &tracker)?;
        let inputs = Inputs {
            facts: &facts,
            config: &config,
            uptime: small("/proc/uptime"),
            processes: seen.processes,
            is_turn_of_first: seen.is_turn_of_first,
            wait_channels: seen.wait_channels,
            open_files,
            elsewhere: seen.elsewhere,
            file_nr: small("/proc/sys/fs/file-nr"),
            file_max: small("/proc/sys/fs/file-max"),
            pid_max: small("/proc/sys/kernel/pid_max"),
            mark,
        };
        let mut report = evaluate::judge(context, inputs, &mut tracker, || read_past(context.now))?;
        let after = tracker.save(&context.boot_id);
        if saved.as_ref() != Some(&after) {
            state::set(TRACKER_KEY, after.as_bytes())?;
        }

        let past = events_by_policy(context, &policy)?;
        report = policy.add(context, past.as_ref(), report);

        report.events.extend(overdue_panic(context)?);
        if stored && context.trigger == Trigger::Startup {
            report.events.extend(panics_of_last_boots(context.now));
        }
        Ok(report)
    }
}

type ReadResult<T> = Result<Vec<T>, AccessError>;

/// Processes as one check sees them.
struct ProcessSample {
    /// `/proc/‹pid›/stat` of those whose turn it is.
    processes: ReadResult<FileContent>,
    /// Whether it is the turn of process 1.
    is_turn_of_first: bool,
    /// `/proc/‹pid›/wchan` of the blocked ones.
    wait_channels: Vec<FileContent>,
    /// What is known of the others.
    elsewhere: OtherProcesses,
}

/// The processes whose turn it is, with their open files, and what is known of the others.
fn look_at_processes(
    context: &CheckContext,
    tracker: &Tracker,
) -> Result<(ProcessSample, ReadResult<EntryCount>), AccessError> {
    let saved = state::get_string(SWEEP_KEY)?;
    let mut sweep = Sweep::restore(saved.as_deref(), &context.boot_id);
    let scheduled = context.trigger == Trigger::Scheduled;

    let read = |turn: &SweepPart| {
        let pattern = turn.pattern("stat");
        sysfs::read_glob(&pattern, MAX_SMALL_BYTES, MAX_PROCESSES)
    };
    let mut turn = if scheduled {
        sweep.turn()
    } else {
        SweepPart::All
    };
    let mut files = read(&turn);
    if let Err(AccessError::TooLarge(_)) = files {
        turn = sweep.one_part();
        files = read(&turn);
    }
    sweep.take(&turn, &files);

    let files_turn = match scheduled {
        true => sweep.files_turn(context.now),
        false => Some(SweepPart::All),
    };
    let (open_files, files_turn) = count_open_files(&mut sweep, files_turn, context.now);

    let followed = tracker.pids().filter(|pid| !turn.has(*pid));
    let watched: Vec<_> = followed.map(|pid| file_of(pid, "stat")).collect();
    let wait_channels = wait_channels(&turn, files.as_deref().unwrap_or_default(), &watched);
    let elsewhere = sweep.elsewhere(&turn, files_turn.as_ref(), watched);
    let after = sweep.save(&context.boot_id);
    if saved.as_ref() != Some(&after) {
        state::set(SWEEP_KEY, after.as_bytes())?;
    }
    let seen = ProcessSample {
        processes: files,
        is_turn_of_first: turn.has(1),
        wait_channels,
        elsewhere,
    };
    Ok((seen, open_files))
}

/// A file of one process.
fn file_of(pid: u32, name: &str) -> FileContent {
    let path = format!("/proc/{pid}/{name}");
    let content = sysfs::read(&path, MAX_SMALL_BYTES);
    FileContent { path, content }
}

/// Where the blocked ones of these processes sleep.
fn wait_channels(
    turn: &SweepPart,
    listed: &[FileContent],
    watched: &[FileContent],
) -> Vec<FileContent> {
    let blocked = Processes::parse(listed.iter().chain(watched)).blocked;
    if blocked.len() > MAX_ONE_BY_ONE {
        let pattern = turn.pattern("wchan");
        return sysfs::read_glob(&pattern, MAX_SMALL_BYTES, MAX_PROCESSES).unwrap_or_default();
    }
    let pids = blocked.iter().map(|process| process.pid);
    pids.map(|pid| file_of(pid, "wchan")).collect()
}

/// Open files of the processes whose turn it is, and whose it was.
fn count_open_files(
    sweep: &mut Sweep,
    turn: Option<SweepPart>,
    now: u64,
) -> (ReadResult<EntryCount>, Option<SweepPart>) {
    let Some(mut turn) = turn else {
        return (Ok(Vec::new()), None);
    };
    let count = |turn: &SweepPart| sysfs::count_entries(&turn.pattern("fd"), MAX_PROCESSES);
    let mut counted = count(&turn);
    if let Err(AccessError::TooLarge(_)) = counted {
        turn = sweep.files_of_one_part();
        counted = count(&turn);
    }
    let mut note = None;
    handles::open_files(&counted, &mut note);
    sweep.take_files(&turn, &counted, note.as_deref(), now);
    (counted, Some(turn))
}

/// The events that a policy judges: those since the component was last set healthy, which deletes none here.
fn events_by_policy(
    context: &CheckContext,
    policy: &Policy,
) -> Result<Option<policy::PolicyInput>, AccessError> {
    let Some(mut past) = policy::PolicyInput::ask(context, policy, true)? else {
        return Ok(None);
    };
    let oldest = past
        .events
        .last()
        .map_or(context.now, |stored| stored.event.time);
    if let Some(mark) = history::set_healthy_marks(oldest)?.first() {
        past.events.retain(|stored| stored.last_time > *mark);
    }
    Ok(Some(past))
}

/// The identity of the machine, gathered once per boot and start of the daemon.
fn current_facts(context: &CheckContext) -> Result<Facts, AccessError> {
    let known = if context.trigger == Trigger::Startup {
        None
    } else {
        state::get_string(FACTS_KEY)?
    };
    if let Some(facts) = known.and_then(|known| Facts::restore(&known, &context.boot_id)) {
        return Ok(facts);
    }
    let facts = Facts::gather(&Node, &context.boot_id);
    state::set(FACTS_KEY, facts.save().as_bytes())?;
    Ok(facts)
}

/// The machine as a source of facts.
struct Node;

impl Sources for Node {
    fn file(&self, path: &str) -> Option<String> {
        small(path).ok()
    }

    fn files(&self, pattern: &str) -> Vec<String> {
        let files = sysfs::read_glob(pattern, MAX_SMALL_BYTES, MAX_PROCESSES).unwrap_or_default();
        files
            .into_iter()
            .filter_map(|file| Some(sysfs::text(file.content.ok()?)))
            .collect()
    }

    fn program(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        let options = exec::Options {
            timeout_ms: DETECT_VIRT_TIMEOUT_MS,
            max_output_bytes: MAX_SMALL_BYTES,
            environment: Vec::new(),
        };
        let output = exec::run_program(program, &arguments, &options).ok()?;
        Some(sysfs::text(output.stdout))
    }
}

fn small(path: &str) -> Result<String, AccessError> {
    sysfs::read_to_string(path, MAX_SMALL_BYTES)
}

fn read_past(now: u64) -> Result<ProcessHistory, AccessError> {
    let since = now.saturating_sub(evaluate::LOOK_BACK_MS);
    Ok(ProcessHistory {
        events: history::own_events(since, evaluate::MAX_EVENTS)?,
        reboots: history::reboots(since)?,
    })
}

/// A panic whose further lines never came.
fn overdue_panic(context: &CheckContext) -> Result<Option<Event>, AccessError> {
    let Some(saved) = state::get_string(PANIC_KEY)? else {
        return Ok(None);
    };
    let mut matcher = panic::Matcher::restore(Some(&saved));
    let event = matcher.overdue(&context.boot_id, context.now);
    if event.is_some() {
        state::delete(PANIC_KEY)?;
    }
    Ok(event)
}

/// Panics in files that are not older than the look-back. An event carries its file's time, so finding it again at
/// the next start adds nothing.
fn panics_of_last_boots(now: u64) -> Vec<Event> {
    let mut paths = Vec::new();
    if let Err(error) = list_pstore(PSTORE, PSTORE_DEPTH, &mut paths)
        && !matches!(error, AccessError::NotFound(_))
    {
        log!(warn, "{PSTORE}: {}", error.text());
    }
    let since = now.saturating_sub(evaluate::LOOK_BACK_MS);
    let mut events = Vec::new();
    for path in paths.iter().take(PSTORE_MAX_FILES) {
        let read = sysfs::stat(path).and_then(|stat| {
            let recent = stat.modified >= since;
            let text = if recent {
                sysfs::read_to_string(path, PSTORE_MAX_BYTES)?
            } else {
                String::new()
            };
            Ok((stat.modified.min(now), text))
        });
        match read {
            Ok((modified, text)) => events.extend(panic::in_dump(&text, path, modified)),
            Err(error) => log!(warn, "{path}: {}", error.text()),
        }
    }
    events
}

fn list_pstore(folder: &str, depth: u32, paths: &mut Vec<String>) -> Result<(), AccessError> {
    for entry in sysfs::list_directory(folder, 1024)? {
        let path = format!("{folder}/{}", entry.name);
        if entry.kind != FileKind::Directory {
            paths.push(path);
        } else if depth > 0 {
            list_pstore(&path, depth - 1, paths)?;
        }
    }
    Ok(())
}

impl KmsgWatcher for Os {
    fn patterns(_component: &str) -> Vec<String> {
        panic::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let before = state::get_string(PANIC_KEY)?;
        let (events, after) = panic::events(context, messages, before.as_deref());
        match after {
            Some(after) if before.as_ref() != Some(&after) => {
                state::set(PANIC_KEY, after.as_bytes())?
            }
            None if before.is_some() => state::delete(PANIC_KEY)?,
            _ => {}
        }
        Ok(events)
    }
}

gpud_sdk::member!("os" => Os + kmsg_watcher: Descriptor::new(
    "os",
    "Identity, uptime, zombie and stuck processes, pids and file handles, kernel panics, reboots",
)
.set_healthy_marks()
.metric("os_zombie_processes", "Processes that ended and were not waited for")
.metric("os_blocked_processes", "Processes in uninterruptible sleep; 0 while that is not watched")
.metric("os_blocked_processes_persistent", "Processes that stay in uninterruptible sleep")
.metric("os_allocated_file_handles", "File handles that the kernel has allocated")
.metric("os_running_pids", "Processes")
.metric("os_limit", "Most file handles that the kernel allocates (fs.file-max)")
.metric("os_allocated_file_handles_percent", "Allocated file handles in percent of os_limit")
.metric("os_used_percent", "Open files of all processes in percent of os_limit")
.metric("os_threshold_running_pids", "Number of processes that counts as 100 %")
.metric("os_threshold_running_pids_percent", "Processes in percent of their threshold")
.metric("os_threshold_allocated_file_handles", "Number of open files that counts as 100 %")
.metric("os_threshold_allocated_file_handles_percent", "Open files in percent of their threshold")
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
