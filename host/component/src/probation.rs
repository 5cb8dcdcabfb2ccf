//! Probation of a new version of a plugin: the version works when each of its components has had some good checks, and
//! it is rolled back if it traps, exceeds a limit, or returns an unusable answer before that.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::runtime::CallError;

/// Good checks of each component after which the version works.
pub const CHECKS: u32 = 3;

/// The outcome of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Worked,
    /// It does not, and the previous version must run again.
    Failed {
        /// The component that failed.
        component: String,
        /// How, as a sentence whose subject is the version.
        reason: String,
    },
}

/// A version on probation. Shared by its components.
pub struct Probation {
    progress: Mutex<Progress>,
    /// Whether there is a previous version.
    can_return: bool,
    on_verdict: Box<dyn Fn(Verdict) + Send + Sync>,
    stays: CancellationToken,
}

struct Progress {
    /// Good checks that are still missing, by component.
    wanted: BTreeMap<String, u32>,
    /// No batch of kernel messages has been handled yet.
    first_batch: bool,
    stage: ProbationStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProbationStage {
    Trying,
    Worked,
    Failed,
    /// It failed, and no other version could replace it.
    Stays,
}

impl Probation {
    /// Begins the probation of a version with these components. The outcome is reported once; a failure only if
    /// `can_return`: without a previous version, a failing version is treated like any other failing checker.
    pub fn new(
        components: impl IntoIterator<Item = String>,
        can_return: bool,
        on_verdict: impl Fn(Verdict) + Send + Sync + 'static,
    ) -> Self {
        let wanted = components.into_iter().map(|name| (name, CHECKS));
        Self {
            progress: Mutex::new(Progress {
                wanted: wanted.collect(),
                first_batch: true,
                stage: ProbationStage::Trying,
            }),
            can_return,
            on_verdict: Box::new(on_verdict),
            stays: CancellationToken::new(),
        }
    }

    /// Whether a component still lacks good checks.
    pub fn is_on(&self) -> bool {
        self.progress().stage == ProbationStage::Trying
    }

    /// Records that the version failed and the previous one could not run: from now on it is a failing checker like any other.
    pub fn stays(&self) {
        self.progress().stage = ProbationStage::Stays;
        self.stays.cancel();
    }

    /// Waits until it [`stays`](Self::stays).
    pub(super) async fn remains(&self) {
        self.stays.cancelled().await;
    }

    /// Counts a check that has ended. Returns true if the version is being rolled back: the component then does not show the
    /// failure.
    pub(super) fn check_ended(&self, component: &str, outcome: Result<(), &CallError>) -> bool {
        match outcome {
            Ok(()) => {
                let mut progress = self.progress();
                if let Some(wanted) = progress.wanted.get_mut(component) {
                    *wanted = wanted.saturating_sub(1);
                }
                let all = progress.wanted.values().all(|wanted| *wanted == 0);
                if all && progress.stage == ProbationStage::Trying {
                    progress.stage = ProbationStage::Worked;
                    drop(progress);
                    (self.on_verdict)(Verdict::Worked);
                }
                false
            }
            Err(error) => {
                let on = self.progress().stage != ProbationStage::Worked;
                on && counts(error) && self.failed(component, format!("it {error}"))
            }
        }
    }

    /// Counts a batch of kernel messages and its outcome. The first batch counts even after all good checks.
    pub(super) fn batch_ended(&self, component: &str, outcome: Result<(), &CallError>) -> bool {
        match outcome {
            Ok(()) => {
                self.progress().first_batch = false;
                false
            }
            Err(error) => {
                let on = {
                    let progress = self.progress();
                    progress.first_batch || progress.stage != ProbationStage::Worked
                };
                let reason = format!("on kernel messages it {error}");
                on && counts(error) && self.failed(component, reason)
            }
        }
    }

    /// Counts patterns that cannot be used as a failure.
    pub(super) fn patterns_failed(&self, component: &str, problem: &str) -> bool {
        let on = self.progress().stage != ProbationStage::Worked;
        on && self.failed(component, format!("its patterns cannot be used: {problem}"))
    }

    fn failed(&self, component: &str, reason: String) -> bool {
        let mut progress = self.progress();
        if !self.can_return || progress.stage == ProbationStage::Stays {
            return false;
        }
        let again = progress.stage == ProbationStage::Failed;
        progress.stage = ProbationStage::Failed;
        drop(progress);
        if !again {
            let component = component.to_owned();
            (self.on_verdict)(Verdict::Failed { component, reason });
        }
        true
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a failure counts against the version. An error that it reports itself, or a source that does not answer,
/// does not count.
fn counts(error: &CallError) -> bool {
    match error {
        CallError::Trap(_)
        | CallError::Memory(_)
        | CallError::Deadline(_)
        | CallError::Invalid(_)
        | CallError::Contract(_) => true,
        CallError::Failed(_) | CallError::Source(_) | CallError::Database(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::node::error::SourceError;

    fn probation(components: &[&str], can_return: bool) -> (Probation, Arc<Mutex<Vec<Verdict>>>) {
        let verdicts: Arc<Mutex<Vec<Verdict>>> = Arc::default();
        let list = Arc::clone(&verdicts);
        let names = components.iter().map(|&name| name.to_owned());
        let probation = Probation::new(names, can_return, move |verdict| {
            list.lock().unwrap().push(verdict);
        });
        (probation, verdicts)
    }

    fn trap() -> CallError {
        CallError::Trap("x".into())
    }

    #[test]
    fn it_has_worked_after_three_good_checks_of_every_component() {
        let (probation, verdicts) = probation(&["a", "b"], true);
        for component in ["a", "a", "a", "a", "b", "b"] {
            assert!(!probation.check_ended(component, Ok(())));
            assert!(probation.is_on() && verdicts.lock().unwrap().is_empty());
        }
        assert!(!probation.check_ended("b", Ok(())));
        assert!(!probation.is_on());
        assert!(!probation.check_ended("b", Ok(())));
        assert_eq!(*verdicts.lock().unwrap(), [Verdict::Worked], "one outcome");
        assert!(
            !probation.check_ended("a", Err(&trap())),
            "from now on it fails like any other"
        );
    }

    #[test]
    fn a_failure_of_the_version_is_reported_once() {
        for (error, fails) in [
            (trap(), true),
            (CallError::Invalid("x".into()), true),
            (CallError::Contract("x".into()), true),
            (CallError::Deadline(std::time::Duration::from_secs(1)), true),
            (CallError::Failed("x".into()), false),
            (CallError::Source(SourceError::Denied("/x".into())), false),
        ] {
            let (probation, verdicts) = probation(&["a"], true);
            probation.check_ended("a", Ok(()));
            assert_eq!(probation.check_ended("a", Err(&error)), fails, "{error}");
            assert_eq!(probation.check_ended("a", Err(&error)), fails, "{error}");
            let expected: &[Verdict] = &[Verdict::Failed {
                component: "a".into(),
                reason: format!("it {error}"),
            }];
            let expected = if fails { expected } else { &[] };
            assert_eq!(*verdicts.lock().unwrap(), expected);
        }
    }

    #[test]
    fn the_first_batch_counts_also_after_the_checks() {
        let (one, verdicts) = probation(&["a"], true);
        (0..CHECKS).for_each(|_| assert!(!one.check_ended("a", Ok(()))));
        assert!(one.batch_ended("a", Err(&trap())));
        assert_eq!(verdicts.lock().unwrap().len(), 2);
        let (other, verdicts) = probation(&["a"], true);
        assert!(!other.batch_ended("a", Ok(())));
        (0..CHECKS).for_each(|_| assert!(!other.check_ended("a", Ok(()))));
        assert!(!other.batch_ended("a", Err(&trap())), "not the first one");
        assert_eq!(*verdicts.lock().unwrap(), [Verdict::Worked]);
        let (patterns, verdicts) = probation(&["a"], true);
        assert!(patterns.patterns_failed("a", "too many"));
        assert_eq!(verdicts.lock().unwrap().len(), 1);
    }

    #[test]
    fn without_a_version_before_it_is_a_failing_checker() {
        let (probation, verdicts) = probation(&["a"], false);
        assert!(!probation.check_ended("a", Err(&trap())));
        (0..CHECKS).for_each(|_| assert!(!probation.check_ended("a", Ok(()))));
        assert_eq!(*verdicts.lock().unwrap(), [Verdict::Worked]);
    }

    #[tokio::test]
    async fn one_that_stays_fails_as_any_other() {
        let (probation, verdicts) = probation(&["a"], true);
        assert!(probation.check_ended("a", Err(&trap())));
        probation.stays();
        probation.remains().await;
        assert!(!probation.check_ended("a", Err(&trap())));
        assert_eq!(verdicts.lock().unwrap().len(), 1);
    }
}
