//! Whether a daemon has come up with a version. Pure.

use std::time::Duration;

use crate::cli::terminal::printable;

/// How long a daemon may take, and must run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until it answers.
    pub wait: Duration,
    /// For how long the same process must then go on answering.
    pub settle: Duration,
}

/// What was seen at one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
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

/// What follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs and answers.
    Healthy,
    /// Look again.
    Undecided,
    /// It does not, for this reason.
    Failed(String),
}

/// Judges sightings of a daemon that was restarted.
#[derive(Debug)]
pub struct Watch<'a> {
    version: &'a str,
    limits: Limits,
    /// The process that answers, and since when.
    good: Option<(u32, Duration)>,
}

impl<'a> Watch<'a> {
    /// For the version that must come up.
    pub fn new(version: &'a str, limits: Limits) -> Self {
        Self {
            version,
            limits,
            good: None,
        }
    }

    /// Judges what was seen this long after the restart.
    pub fn judge(&mut self, now: Duration, seen: &Sighting) -> Verdict {
        let (pid, problem) = match seen {
            Sighting::Nobody => (0, Some("no daemon runs".to_owned())),
            Sighting::Daemon { version, .. } if version != self.version => {
                (0, Some(format!("version {} runs", printable(version))))
            }
            Sighting::Daemon { pid, answer, .. } => {
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
                true => Verdict::Failed(problem),
                false => Verdict::Undecided,
            };
        }
        let since = match self.good {
            Some((before, since)) if before == pid => since,
            // Another process: the one before has ended.
            Some(_) if now >= self.limits.wait => {
                return Verdict::Failed("it ended and was started again".to_owned());
            }
            _ => now,
        };
        self.good = Some((pid, since));
        match now.saturating_sub(since) >= self.limits.settle {
            true => Verdict::Healthy,
            false => Verdict::Undecided,
        }
    }
}

#[cfg(test)]
mod tests;
