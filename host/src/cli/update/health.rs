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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        wait: Duration::from_secs(60),
        settle: Duration::from_secs(10),
    };

    fn daemon(pid: u32, version: &str, answers: bool) -> Sighting {
        Sighting::Daemon {
            pid,
            version: version.to_owned(),
            answer: answers.then_some(()).ok_or_else(|| "503".to_owned()),
        }
    }

    /// The verdict after the last of these looks; all before must leave it open.
    fn after(looks: &[(u64, Sighting)]) -> Verdict {
        let mut watch = Watch::new("2", LIMITS);
        let mut last = Verdict::Undecided;
        for (second, seen) in looks {
            assert_eq!(last, Verdict::Undecided, "before {second} s");
            last = watch.judge(Duration::from_secs(*second), seen);
        }
        last
    }

    #[test]
    fn one_that_goes_on_answering_is_healthy() {
        let good = || daemon(7, "2", true);
        assert_eq!(
            after(&[(1, Sighting::Nobody), (2, good()), (11, good())]),
            Verdict::Undecided
        );
        assert_eq!(after(&[(2, good()), (12, good())]), Verdict::Healthy);
        // One that answers just before the limit gets its time.
        assert_eq!(
            after(&[(59, good()), (65, good()), (69, good())]),
            Verdict::Healthy
        );
    }

    #[test]
    fn one_that_ends_and_comes_again_begins_from_the_start() {
        let good = |pid| daemon(pid, "2", true);
        assert_eq!(
            after(&[(2, good(7)), (11, good(8)), (12, good(8))]),
            Verdict::Undecided
        );
        assert_eq!(
            after(&[(55, good(7)), (61, good(8))]),
            Verdict::Failed("it ended and was started again".to_owned())
        );
    }

    #[test]
    fn the_reason_is_that_of_the_last_look() {
        let failed = |seen| after(&[(1, Sighting::Nobody), (60, seen)]);
        for (seen, reason) in [
            (Sighting::Nobody, "no daemon runs"),
            (daemon(7, "1", true), "version 1 runs"),
            (daemon(7, "2", false), "it does not answer: 503"),
        ] {
            assert_eq!(failed(seen), Verdict::Failed(reason.to_owned()));
        }
    }

    proptest! {
        /// Whatever is seen, there is a verdict after both limits.
        #[test]
        fn it_ends(looks in prop::collection::vec((0_u32..3, any::<bool>(), any::<bool>()), 1..80)) {
            let mut watch = Watch::new("2", LIMITS);
            for (second, (pid, is_new, answers)) in (0_u64..).zip(looks) {
                let verdict = watch.judge(Duration::from_secs(second), &daemon(pid, if is_new { "2" } else { "1" }, answers));
                if verdict != Verdict::Undecided {
                    break;
                }
                prop_assert!(second < 70, "no verdict");
            }
        }
    }
}
