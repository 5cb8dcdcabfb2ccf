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
    pub fn stuck(&self, now: u64, threshold: u32, watched: &Names) -> Stuck {
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
        Stuck { count, list }
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
pub struct Stuck {
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
    /// Stuck.
    pub persistent_count: usize,
    /// The first of the stuck ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub persistent: Vec<BlockedEntry>,
}

impl Stuck {
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
mod tests {
    use super::*;

    fn process(pid: u32, start: u64) -> Blocked {
        Blocked {
            pid,
            start,
            name: format!("p{pid}"),
        }
    }

    fn after(checks: &[(u64, &[Blocked])]) -> Tracker {
        let mut tracker = Tracker::default();
        for (now, seen) in checks {
            tracker.update(*now, seen);
        }
        tracker
    }

    fn none() -> Names {
        Names::default()
    }

    #[test]
    fn a_watched_one_comes_before_any_number_of_others() {
        let mut seen: Vec<_> = (0..30).map(|pid| process(pid, 1)).collect();
        seen.push(process(77, 1));
        let watched = Names::parse(&["^p77".to_owned()]).unwrap();
        let stuck = after(&[(0, &seen)]).stuck(0, 1, &watched);
        assert_eq!((stuck.count, stuck.list.len()), (31, 20));
        let pids: Vec<u32> = stuck.list.iter().map(|process| process.pid).collect();
        assert_eq!(pids[..3], [77, 0, 1]);
    }

    #[test]
    fn both_checks_and_time_make_a_process_stuck() {
        let one = [process(7, 1)];
        let hurried = after(&[(0, &one), (1, &one), (2, &one)]);
        assert_eq!(hurried.stuck(2, 3, &none()).count, 0);
        let slow = after(&[(0, &one), (300, &one)]);
        assert_eq!(slow.stuck(300, 3, &none()).count, 0);
        let stuck = after(&[(1000, &one), (1060, &one), (1120, &one)]).stuck(1120, 3, &none());
        assert_eq!(
            stuck.summary(),
            "pid=7 name=p7 blocked=2m0s consecutive_checks=3"
        );
        assert_eq!(after(&[(0, &one)]).stuck(0, 1, &none()).count, 1);
    }

    #[test]
    fn one_absence_is_forgiven() {
        let one = [process(7, 1)];
        let mut tracker = after(&[(0, &one), (60, &one), (120, &one), (180, &[])]);
        assert_eq!(tracker.stuck(180, 3, &none()).list[0].consecutive_checks, 3);
        tracker.update(240, &one);
        assert_eq!(tracker.stuck(240, 3, &none()).list[0].consecutive_checks, 4);
        tracker.update(300, &[]);
        tracker.update(360, &[]);
        assert_eq!(tracker, Tracker::default());
    }

    #[test]
    fn a_reused_pid_is_somebody_else() {
        let tracker = after(&[
            (0, &[process(7, 1)]),
            (60, &[process(7, 1)]),
            (120, &[process(7, 2)]),
        ]);
        assert_eq!(tracker.stuck(1000, 2, &none()).list.len(), 1);
        assert_eq!(tracker.followed[1].checks, 1);
    }

    #[test]
    fn lists_and_summaries_are_bounded() {
        let many: Vec<_> = (0..600).map(|pid| process(pid, 1)).collect();
        let stuck = after(&[(0, &many)]).stuck(0, 1, &none());
        assert_eq!((stuck.count, stuck.list.len()), (MAX_FOLLOWED, 20));
        assert!(
            stuck
                .summary()
                .starts_with("pid=0 name=p0 blocked=0s consecutive_checks=1; pid=1 ")
        );
        assert!(
            stuck.summary().ends_with("; +17 more"),
            "{}",
            stuck.summary()
        );
        let long = Blocked {
            pid: u32::MAX,
            start: u64::MAX,
            name: "é".repeat(900),
        };
        let longest = Followed {
            last: u64::MAX,
            ..Followed::new(u64::MAX, &long)
        };
        let full = Tracker {
            followed: vec![longest; MAX_FOLLOWED],
            ..Tracker::default()
        };
        assert!(full.save("b-1").len() < 64 * 1024);
    }

    #[test]
    fn it_survives_a_restart_but_not_a_boot() {
        let odd = Blocked {
            pid: 8,
            start: 9,
            name: "a b\nc".into(),
        };
        let mut tracker = after(&[(60, &[process(7, 1), odd])]);
        tracker.open = true;
        tracker.marked = 59_000;
        let restored = Tracker::restore(Some(&tracker.save("b-1")), "b-1");
        assert_eq!(restored, tracker);
        assert_eq!(restored.followed[1].process.name, "a b?c");
        assert_eq!(restored.wants_marks_since(), Some(60_000));
        for saved in [
            None,
            Some(""),
            Some("b-1\nopen x"),
            Some("b-1\nopen 1\nx"),
            Some(tracker.save("b-2").as_str()),
        ] {
            assert_eq!(
                Tracker::restore(saved, "b-1"),
                Tracker::default(),
                "{saved:?}"
            );
        }
    }

    #[test]
    fn an_episode_has_one_beginning_and_one_end() {
        let one = [process(7, 1)];
        let mut tracker = after(&[(0, &one)]);
        let counts = Counts {
            current_count: 1,
            ..Counts::default()
        };
        let event = tracker.turn(5, Some("why"), &counts).unwrap();
        assert_eq!(
            (event.name.as_str(), event.message.as_str()),
            ("blocked_processes_persistent", "why")
        );
        let expected = r#"{"current_count":1,"persistent_count":0}"#;
        assert_eq!(
            event.extra_info,
            [("blocked_processes".to_owned(), expected.to_owned())]
        );
        assert_eq!(tracker.turn(6, Some("why"), &counts), None);
        let event = tracker.turn(7, None, &counts).unwrap();
        assert_eq!(
            (event.event_type, event.message.as_str()),
            (EventType::Info, CLEARED)
        );
        assert_eq!(tracker.turn(8, None, &counts), None);
        assert_eq!((tracker.mark(9), tracker.switch_off()), (None, None));

        tracker = after(&[(0, &one)]);
        tracker.open = true;
        assert_eq!(
            (tracker.mark(9), tracker.marked, tracker.followed.len()),
            (Some(CLEARED_BY_MARK), 9, 0)
        );
        tracker.open = true;
        assert_eq!(tracker.switch_off(), Some(SWITCHED_OFF));
    }

    #[test]
    fn durations() {
        let cases = [
            (0, "0s"),
            (59, "59s"),
            (240, "4m0s"),
            (3605, "1h0m5s"),
            (90_000, "25h0m0s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
    }
}
