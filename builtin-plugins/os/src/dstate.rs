//! Processes that stay in uninterruptible sleep (state `D`), followed from check to check.
//!
//! Being in that state is normal for moments; staying is not. A process counts as stuck after a number of checks in
//! a row that are also that many minutes apart, so that checks on demand do not hurry it. Missing one check is
//! forgiven: a stuck process can look runnable for an instant.

use gpud_sdk::{Event, EventType};
use serde::Serialize;

use crate::names::Names;
use crate::processes::Blocked;

/// Processes followed at most; the retained state must fit into one value of `state` (64 KiB).
const MAX_FOLLOWED: usize = 400;
/// Stuck processes listed.
const MAX_LISTED: usize = 20;
/// Stuck processes named in a reason.
const MAX_NAMED: usize = 3;
/// Longest name kept, in bytes; the kernel's own limit.
const MAX_NAME: usize = 64;

/// All that is followed, and whether a `blocked_processes_persistent` event waits for its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracker {
    open: bool,
    /// The last set-healthy that was acted on, unix milliseconds.
    marked: u64,
    followed: Vec<Followed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Followed {
    process: Blocked,
    first: u64,
    last: u64,
    checks: u32,
    absent: u32,
}

/// What the report of an episode's end contains.
const CLEARED: &str = "persistent blocked processes cleared";
const CLEARED_BY_MARK: &str = "persistent blocked processes cleared (set-healthy)";
const SWITCHED_OFF: &str = "D-state process checking disabled (empty name regexes)";

impl Tracker {
    /// Goes on where [`Tracker::save`] left off. A boot ends everything without a word: that a process is stuck again
    /// after a reboot is what tells a broken device, and a `recovered` event would hide the reboots before it.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        saved
            .and_then(|saved| Self::parse(saved, boot_id))
            .unwrap_or_default()
    }

    fn parse(saved: &str, boot_id: &str) -> Option<Self> {
        let mut lines = saved.strip_prefix(boot_id)?.strip_prefix('\n')?.lines();
        let (open, marked) = lines.next()?.split_once(' ')?;
        let followed = lines.map(Followed::parse).collect::<Option<_>>()?;
        Some(Self {
            open: open == "open",
            marked: marked.parse().ok()?,
            followed,
        })
    }

    /// As text.
    pub fn save(&self, boot_id: &str) -> String {
        let mut text = format!(
            "{boot_id}\n{} {}\n",
            if self.open { "open" } else { "closed" },
            self.marked
        );
        for Followed {
            process,
            first,
            last,
            checks,
            absent,
        } in &self.followed
        {
            let Blocked { pid, start, name } = process;
            text.push_str(&format!(
                "{pid} {start} {first} {last} {checks} {absent} {name}\n"
            ));
        }
        text
    }

    /// Since when a set-healthy would matter, unix milliseconds; nothing while nothing is followed.
    pub fn wants_marks_since(&self) -> Option<u64> {
        let first = self.followed.iter().map(|followed| followed.first).min()?;
        Some(self.marked.max(first.saturating_mul(1000)))
    }

    /// The processes that are followed.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.followed.iter().map(|followed| followed.process.pid)
    }

    /// An operator says that all is well.
    pub fn mark(&mut self, at: u64) -> Option<&'static str> {
        self.marked = at;
        self.followed.clear();
        std::mem::take(&mut self.open).then_some(CLEARED_BY_MARK)
    }

    /// Nothing is to be watched.
    pub fn switch_off(&mut self) -> Option<&'static str> {
        self.followed.clear();
        std::mem::take(&mut self.open).then_some(SWITCHED_OFF)
    }

    /// Takes in what one check saw. `now` is in unix seconds.
    pub fn update(&mut self, now: u64, seen: &[Blocked]) {
        for followed in &mut self.followed {
            match seen.iter().find(|process| {
                process.pid == followed.process.pid && process.start == followed.process.start
            }) {
                Some(process) => followed.seen(now, process),
                None => followed.absent += 1,
            }
        }
        self.followed.retain(|followed| followed.absent < 2);
        for process in seen {
            let known = self.followed.iter().any(|followed| {
                followed.process.pid == process.pid && followed.process.start == process.start
            });
            if !known && self.followed.len() < MAX_FOLLOWED {
                self.followed.push(Followed::new(now, process));
            }
        }
    }

    /// The stuck ones. Those with a watched name come first, so that any number of others hides none of them.
    pub fn stuck(&self, now: u64, threshold: u32, watched: &Names) -> StuckProcesses {
        let long = u64::from(threshold.saturating_sub(1)).saturating_mul(60);
        let mut list: Vec<BlockedEntry> = self
            .followed
            .iter()
            .filter(|followed| {
                followed.checks >= threshold && now.saturating_sub(followed.first) >= long
            })
            .map(|followed| followed.listed(now))
            .collect();
        list.sort_by_key(|process| {
            let is_other = !watched.matches(&process.name);
            (is_other, process.first_seen_unix_seconds, process.pid)
        });
        let count = list.len();
        list.truncate(MAX_LISTED);
        StuckProcesses { count, list }
    }

    /// Notes that some are stuck, or none. Gives the event when that is news; `reason` tells of the stuck ones.
    pub fn turn(&mut self, time: u64, reason: Option<&str>, counts: &Counts) -> Option<Event> {
        match (reason, std::mem::replace(&mut self.open, reason.is_some())) {
            (Some(reason), false) => {
                let mut event = Event::new(
                    time,
                    "blocked_processes_persistent",
                    EventType::Warning,
                    reason,
                );
                let counts = serde_json::to_string(counts).unwrap_or_default();
                event
                    .extra_info
                    .push(("blocked_processes".to_owned(), counts));
                Some(event)
            }
            (None, true) => Some(recovered(time, CLEARED)),
            _ => None,
        }
    }
}

/// The event at the end of an episode.
pub fn recovered(time: u64, message: &str) -> Event {
    Event::new(
        time,
        "blocked_processes_recovered",
        EventType::Info,
        message,
    )
}

impl Followed {
    fn new(now: u64, process: &Blocked) -> Self {
        let mut process = process.clone();
        process.name = plain_name(&process.name);
        Self {
            process,
            first: now,
            last: now,
            checks: 1,
            absent: 0,
        }
    }

    fn seen(&mut self, now: u64, process: &Blocked) {
        self.checks = self.checks.saturating_add(1);
        self.absent = 0;
        self.last = now;
        if !process.name.is_empty() {
            self.process.name = plain_name(&process.name);
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(7, ' ');
        let mut next = || fields.next();
        Some(Self {
            process: Blocked {
                pid: next()?.parse().ok()?,
                start: next()?.parse().ok()?,
                name: String::new(),
            },
            first: next()?.parse().ok()?,
            last: next()?.parse().ok()?,
            checks: next()?.parse().ok()?,
            absent: next()?.parse().ok()?,
        })
        .map(|mut followed| {
            followed.process.name = fields.next().unwrap_or("").to_owned();
            followed
        })
    }

    fn listed(&self, now: u64) -> BlockedEntry {
        BlockedEntry {
            pid: self.process.pid,
            name: self.process.name.clone(),
            first_seen_unix_seconds: self.first,
            last_seen_unix_seconds: self.last,
            blocked_seconds: now.saturating_sub(self.first),
            consecutive_checks: self.checks,
        }
    }
}

/// Without what would break a line, and not longer than a name can be.
fn plain_name(name: &str) -> String {
    let mut plain: String = name
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    plain.truncate(plain.floor_char_boundary(MAX_NAME));
    plain
}

/// Stuck processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StuckProcesses {
    /// How many.
    pub count: usize,
    /// The first of them: those with a watched name, and of each kind the longest stuck one first.
    pub list: Vec<BlockedEntry>,
}

/// A blocked process as the `data` document shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockedEntry {
    /// Process id.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// When it was first seen blocked.
    pub first_seen_unix_seconds: u64,
    /// When it was last seen blocked.
    pub last_seen_unix_seconds: u64,
    /// Seconds since it was first seen.
    pub blocked_seconds: u64,
    /// Checks in a row.
    pub consecutive_checks: u32,
}

/// Blocked and stuck processes, as the `data` document shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Blocked at this moment.
    pub current_count: usize,
    /// Stuck processes.
    pub persistent_count: usize,
    /// The first of the stuck ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent: Vec<BlockedEntry>,
}

impl StuckProcesses {
    /// The longest stuck ones in words.
    pub fn summary(&self) -> String {
        let mut items: Vec<String> = self
            .list
            .iter()
            .take(MAX_NAMED)
            .map(|process| {
                format!(
                    "pid={} name={} blocked={} consecutive_checks={}",
                    process.pid,
                    process.name,
                    duration(process.blocked_seconds),
                    process.consecutive_checks
                )
            })
            .collect();
        if self.list.len() > MAX_NAMED {
            items.push(format!("+{} more", self.list.len() - MAX_NAMED));
        }
        items.join("; ")
    }
}

/// `45s`, `4m0s`, `1h0m5s`.
fn duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests;
