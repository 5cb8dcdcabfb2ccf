//! Decides whether a daemon has started with a version. No I/O.

use std::time::Duration;

use crate::cli::terminal::printable;

/// How long a daemon may take, and must run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until it answers.
    pub wait: Duration,
    /// How long the same process must then go on answering.
    pub settle: Duration,
}

/// The state of the daemon at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonSample {
    /// No daemon uses the data folder.
    Nobody,
    /// One does.
    Daemon {
        /// Its process id.
        pid: u32,
        /// Its version.
        version: String,
        /// Whether it answers at `/healthz`, or why not.
        answer: Result<(), String>,
    },
}

/// The verdict on the start of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartVerdict {
    /// It runs and answers.
    Healthy,
    /// Look again.
    Undecided,
    /// It does not, for this reason.
    Failed(String),
}

/// Judges samples of a daemon that was restarted.
#[derive(Debug)]
pub struct Watch<'a> {
    version: &'a str,
    limits: Limits,
    /// The process that answers, and since when.
    good: Option<(u32, Duration)>,
}

impl<'a> Watch<'a> {
    /// Makes one for the version that must start.
    pub fn new(version: &'a str, limits: Limits) -> Self {
        Self {
            version,
            limits,
            good: None,
        }
    }

    /// Judges what was seen this long after the restart.
    pub fn judge(&mut self, now: Duration, seen: &DaemonSample) -> StartVerdict {
        let (pid, problem) = match seen {
            DaemonSample::Nobody => (0, Some("no daemon runs".to_owned())),
            DaemonSample::Daemon { version, .. } if version != self.version => {
                (0, Some(format!("version {} runs", printable(version))))
            }
            DaemonSample::Daemon { pid, answer, .. } => {
                let problem = answer.as_ref().err();
                (
                    *pid,
                    problem.map(|why| format!("it does not answer: {why}")),
                )
            }
        };
        if let Some(problem) = problem {
            self.good = None;
            return match now >= self.limits.wait {
                true => StartVerdict::Failed(problem),
                false => StartVerdict::Undecided,
            };
        }
        let since = match self.good {
            Some((before, since)) if before == pid => since,
            // Another process: the one before has ended.
            Some(_) if now >= self.limits.wait => {
                return StartVerdict::Failed("it ended and was started again".to_owned());
            }
            _ => now,
        };
        self.good = Some((pid, since));
        match now.saturating_sub(since) >= self.limits.settle {
            true => StartVerdict::Healthy,
            false => StartVerdict::Undecided,
        }
    }
}

#[cfg(test)]
mod tests;
