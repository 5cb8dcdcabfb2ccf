//! OOM kills, put together from the several lines that the kernel writes for one (`mm/oom_kill.c`).
//!
//! A kill begins with `‹name› invoked oom-killer: …`. Its victim stands in the summary `oom-kill:constraint=…` (Linux
//! 5.0 and later: `dump_oom_summary`; with `oom_memcg=‹cgroup›` where a cgroup's limit was hit, else with `global_oom`), in
//! `Task in ‹cgroup› killed as a result of limit of ‹cgroup›` (before 4.19), or in `… Killed process ‹pid› (‹name›) …`
//! (all).
//! The kernel limits how often it writes the beginning and the summary, but writes each kill
//! (`oom_kill_process`): a line that names a victim outside of a kill that began is one of its own, unless it repeats
//! the victim of the last.

use gpud_sdk::incidents::{after_process_name, clip, is_kernel_line};
use gpud_sdk::{CheckContext, Event, Evidence, Message};

use crate::patterns::OOM;

pub use crate::patterns::PATTERNS;

/// Repeats of the same event within this time are counted, not stored.
const MERGE_SECONDS: u32 = 60;
/// The cgroup of the machine as a whole.
const ROOT: &str = "/";

/// The position of the log within a kill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Matcher {
    /// Between two kills.
    #[default]
    Outside,
    /// A kill has begun; its victim is not known yet.
    Begun {
        /// The cgroup whose limit was hit.
        limited: String,
    },
    /// A kill was logged; the line that repeats it may follow.
    Reported {
        /// Its victim.
        pid: i64,
    },
}

impl Matcher {
    /// Goes on where [`Matcher::save`] left off, unless the machine was booted since.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved = saved.and_then(|saved| saved.strip_prefix(boot_id)?.strip_prefix('\n'));
        match (saved, saved.and_then(|saved| saved.parse().ok())) {
            (None, _) => Self::Outside,
            (_, Some(pid)) => Self::Reported { pid },
            (Some(limited), None) => Self::Begun {
                limited: limited.to_owned(),
            },
        }
    }

    /// What to keep until the next lines come; nothing before the first kill. A cgroup begins with `/`.
    pub fn save(&self, boot_id: &str) -> Option<String> {
        match self {
            Self::Outside => None,
            Self::Begun { limited } => Some(format!("{boot_id}\n{limited}")),
            Self::Reported { pid } => Some(format!("{boot_id}\n{pid}")),
        }
    }

    /// The event that a message completes, if any.
    pub fn event(&mut self, context: &CheckContext, message: &Message) -> Option<Event> {
        if !is_kernel_line(message) {
            return None;
        }
        let text = self.line(&message.text)?;
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        let at = message.time.min(context.now);
        let mut event = Event::new(at, OOM.name, OOM.event_type(), text.as_str());
        event.evidence.push(Evidence::Kmsg(message.sequence));
        Some(event.merged_by(text, MERGE_SECONDS))
    }

    fn line(&mut self, line: &str) -> Option<String> {
        if after_process_name(line, " invoked oom-killer:").is_some() {
            let limited = ROOT.to_owned();
            *self = Self::Begun { limited };
            return None;
        }
        if let Some(summary) = Summary::parse(line) {
            let limited = clip(summary.limited).to_owned();
            let Ok(pid) = summary.pid.parse::<i64>() else {
                *self = Self::Outside;
                return None;
            };
            if pid == 0 {
                *self = Self::Begun { limited };
                return None;
            }
            return self.tell(&limited, summary.task, pid);
        }
        if let (Self::Begun { limited }, Some(cgroup)) = (&mut *self, legacy_limit(line)) {
            *limited = clip(&clean(cgroup)).to_owned();
        }
        let (pid, name) = killed_process(line)?;
        let limited = match self {
            Self::Begun { limited } => limited.clone(),
            Self::Reported { pid: reported } if *reported == pid => return None,
            _ => limit_of_lone(line)?.to_owned(),
        };
        self.tell(&limited, name, pid)
    }

    fn tell(&mut self, limited: &str, victim: &str, pid: i64) -> Option<String> {
        *self = Self::Reported { pid };
        let whose = if limited == ROOT { "System " } else { "" };
        let what = if victim.is_empty() || pid == 0 {
            OOM.say_otherwise(&[])
        } else {
            OOM.say(&[("victim", clip(victim)), ("pid", &pid.to_string())])
        };
        Some(format!("{whose}{what}"))
    }
}

/// The summary of a kill.
#[derive(Debug, PartialEq, Eq)]
struct Summary<'a> {
    limited: &'a str,
    task: &'a str,
    pid: &'a str,
}

impl<'a> Summary<'a> {
    /// All fields, in this order. Names may hold commas and even what looks like a field, so the last place where
    /// each separator can stand is taken, from the right. A kill of the machine as a whole has no cgroup with a limit.
    fn parse(line: &'a str) -> Option<Self> {
        let fields = line.strip_prefix("oom-kill:constraint=")?;
        let (rest, _uid) = fields.rsplit_once(",uid=")?;
        let (rest, pid) = rest.rsplit_once(",pid=")?;
        let (rest, task) = rest.rsplit_once(",task=")?;
        let of_cgroup = rest
            .rsplit_once(",task_memcg=")
            .and_then(|(rest, _cgroup)| rest.rsplit_once(",oom_memcg="));
        let (rest, limited) = match of_cgroup {
            Some(found) => found,
            None => (rest.rsplit_once(",global_oom,task_memcg=")?.0, ROOT),
        };
        let (rest, _mems) = rest.rsplit_once(",mems_allowed=")?;
        let (rest, _cpuset) = rest.rsplit_once(",cpuset=")?;
        rest.rsplit_once(",nodemask=")?;
        Some(Self { limited, task, pid })
    }
}

/// `Task in ‹cgroup of the victim› killed as a result of limit of ‹cgroup›`.
fn legacy_limit(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Task in ")?;
    Some(rest.rsplit_once(" killed as a result of limit of ")?.1)
}

/// What the kernel writes before `Killed process`, if anything.
const REASONS: [&str; 3] = [
    "Out of memory: ",
    "Out of memory (oom_kill_allocating_task): ",
    "Memory cgroup out of memory: ",
];

/// `[‹reason›: ]Killed process ‹pid› (‹name›)`; the name reaches to the line's last bracket.
fn killed_process(line: &str) -> Option<(i64, &str)> {
    let reason = REASONS.iter().find_map(|reason| line.strip_prefix(reason));
    let rest = reason.unwrap_or(line).strip_prefix("Killed process ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let pid = rest.get(..digits)?.parse().ok()?;
    let (name, _) = rest.get(digits..)?.strip_prefix(" (")?.rsplit_once(')')?;
    (!name.is_empty()).then_some((pid, name))
}

/// What a kill's own line says of the limit that was hit: [`ROOT`], or some cgroup's. Nothing where another part of the
/// kernel may have written it.
fn limit_of_lone(line: &str) -> Option<&'static str> {
    if line.starts_with("Out of memory") {
        Some(ROOT)
    } else {
        let oom = line.starts_with("Memory cgroup out of memory") || line.contains(" total-vm:");
        oom.then_some("")
    }
}

/// A cgroup's path, absolute and without empty, `.` and `..` parts.
fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests;
