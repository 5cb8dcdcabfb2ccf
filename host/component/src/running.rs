//! A component at work: checks, scans, set-healthy, and the part of their outcome that is retained.

use std::{
    sync::{Arc, PoisonError},
    time::Instant,
};

use super::{
    CheckTurn, Component, Latest, Services, WasmChecker,
    checker::{CheckedReport, Checker},
    commit, failure, health_log, script,
    services::OWN_TROUBLE,
};
use crate::{
    metrics::Owner,
    model::{CheckContext, Health, HealthState, Report, SetHealthy, Trigger, UnixMillis},
    runtime::{CallError, Finished},
    store::Store,
};

/// Events that are later than the clock by at most this many milliseconds stay: they occurred while set-healthy ran.
const EVENTS_AHEAD: UnixMillis = 1_000;

/// The problem of a component whose events cannot be stored.
const KERNEL_MESSAGES_WAIT: &str =
    "kernel messages wait, because the database cannot be written (see the component os)";

impl Component {
    /// Runs a check after the one that is under way, if any. Stores its events and metrics, and returns the verdicts; without
    /// a checker those of [`Self::states`].
    pub async fn check(&self, services: &Services, trigger: Trigger) -> Vec<HealthState> {
        self.check_with_output(services, trigger).await.0
    }

    /// Runs a check like [`Self::check`], and also returns the output of its script.
    pub async fn check_with_output(
        &self,
        services: &Services,
        trigger: Trigger,
    ) -> (Vec<HealthState>, Vec<u8>) {
        let turn = self.turn.lock().await;
        self.check_in_turn(services, trigger, turn).await
    }

    /// Runs a check like [`Self::check`], unless a check is under way or the component is backing off after failures.
    pub async fn check_if_idle(&self, services: &Services, trigger: Trigger) -> bool {
        let Ok(turn) = self.turn.try_lock() else {
            return false;
        };
        if turn
            .not_before
            .is_some_and(|instant| Instant::now() < instant)
        {
            return false;
        }
        self.check_in_turn(services, trigger, turn).await;
        true
    }

    /// Judges the moment: what it reads is read after this call, and becomes the latest states and metrics. A component that
    /// has a scan of its own for this answers with that, unless the latest states are worse.
    pub async fn trigger(&self, services: &Services) -> Vec<HealthState> {
        self.settled().await;
        services.node.nvml.refresh();
        // The scan comes first: a check remembers counters, and what rose before it would be hidden from a scan after it.
        let scanned = match self.checker().as_ref().and_then(Checker::scanner) {
            Some(checker) => Some(self.scan(services, checker).await.states),
            None => None,
        };
        let states = self.check(services, Trigger::Manual).await;
        let worst = |states: &[HealthState]| states.iter().map(|state| state.health.rank()).max();
        scanned
            .filter(|scanned| worst(scanned) >= worst(&states))
            .unwrap_or(states)
    }

    async fn scan(&self, services: &Services, checker: &WasmChecker) -> Report {
        let _turn = self.turn.lock().await;
        let context = self.context(services, Trigger::Manual, None);
        let finished = checker.scan(services, &context).await;
        commit::bill(services, &self.name, &finished);
        if let Err(error) = &finished.answer {
            self.is_taken_back(Err(error));
        }
        let mut report = finished.answer.unwrap_or_else(|error| Report {
            supported: true,
            states: vec![failure::state(&self.name, context.now, &error, None)],
            ..Report::default()
        });
        if report.supported
            && checker.watches_kmsg()
            && let Some(problem) = services.kernel_log_problem().await
        {
            report.states = self.without_kernel_log(report.states, &problem);
        }
        report.states = self.with_trouble(services, report.states);
        report
    }

    /// Returns the states as they count while the kernel log cannot be read.
    fn without_kernel_log(&self, states: Vec<HealthState>, problem: &str) -> Vec<HealthState> {
        match self.descriptor() {
            Some(described) if described.judged_by_kernel_log => failure::unknown(states, problem),
            _ => failure::with_error(states, problem),
        }
    }

    /// Returns the states, with the part of the configuration that is not used in `error`. None of them is healthy while
    /// kernel messages wait: what follows those that the component knows is not examined.
    fn with_trouble(&self, services: &Services, states: Vec<HealthState>) -> Vec<HealthState> {
        let has_waiting = |store: &Store| store.has_waiting(&self.name);
        // The one of the daemon's own trouble says what is the matter with the database.
        let waits = self.name != OWN_TROUBLE && services.store.as_ref().is_some_and(has_waiting);
        let states = match waits {
            true => failure::unknown(states, KERNEL_MESSAGES_WAIT),
            false => states,
        };
        match self.misconfigured.get() {
            Some(problem) => failure::with_error(states, problem),
            None => states,
        }
    }

    /// Runs one scan, or else one check, without a daemon, for `gpud scan`.
    pub async fn look(&self, services: &Services) -> Report {
        let Some(checker) = self.checker() else {
            let states = self.states(services.node.clock.now_ms());
            return Report {
                supported: true,
                states,
                ..Report::default()
            };
        };
        if let Some(scanner) = checker.scanner() {
            return self.scan(services, scanner).await;
        }
        let states = self.check(services, Trigger::Manual).await;
        Report {
            supported: self.is_supported(),
            states,
            ..Report::default()
        }
    }

    /// As [`Self::set_healthy`]. While the plugin is being loaded it is recorded at once, and applied once that is there: what
    /// is recorded up to now is cleared, not what the plugin then finds.
    ///
    /// # Errors
    /// As [`Self::set_healthy`]. Whether a component offers it is not known before it is loaded; the log has it then.
    pub async fn set_healthy_or_record(
        self: &Arc<Self>,
        services: &Arc<Services>,
    ) -> Result<(), SetHealthyProblem> {
        if !self.is_loading() {
            return self.set_healthy(services).await;
        }
        let now = services.node.clock.now_ms();
        if let Some(store) = &services.store {
            let failed =
                |error: crate::store::StoreError| SetHealthyProblem::Failed(error.to_string());
            store.add_mark(&self.name, now).await.map_err(failed)?;
        }
        services
            .latches
            .clear(&self.name, services.store.as_ref())
            .await;
        let (component, services) = (Arc::clone(self), Arc::clone(services));
        tokio::spawn(async move {
            tokio::select! {
                () = component.closed.cancelled() => return,
                () = component.settled.cancelled() => {}
            }
            match component.clear_up_to(&services, now).await {
                Ok(()) | Err(SetHealthyProblem::Unsupported) => {}
                Err(SetHealthyProblem::Failed(problem)) => {
                    tracing::error!(component = component.name, "set-healthy failed: {problem}");
                }
            }
        });
        Ok(())
    }

    /// Clears the component's recorded trouble and checks it again.
    ///
    /// # Errors
    /// In words: the component does not offer it, or the store failed.
    pub async fn set_healthy(&self, services: &Services) -> Result<(), SetHealthyProblem> {
        self.settled().await;
        self.clear_up_to(services, services.node.clock.now_ms())
            .await
    }

    /// Clears the trouble that was recorded up to a time.
    async fn clear_up_to(
        &self,
        services: &Services,
        now: UnixMillis,
    ) -> Result<(), SetHealthyProblem> {
        let mode = self
            .descriptor()
            .map_or(SetHealthy::Unsupported, |d| d.set_healthy);
        let latched = services.latches.holds(&self.name);
        if mode == SetHealthy::Unsupported && !latched {
            return Err(SetHealthyProblem::Unsupported);
        }
        if let Some(store) = &services.store {
            let failed =
                |error: crate::store::StoreError| SetHealthyProblem::Failed(error.to_string());
            let present = services.node.clock.now_ms();
            store.settle_marks(present).await.map_err(failed)?;
            store.add_mark(&self.name, now).await.map_err(failed)?;
            if mode == SetHealthy::ClearsEvents {
                store.delete_events(&self.name, now).await.map_err(failed)?;
                // Events of the future are older than the present, too: the clock was set back.
                let future = present.saturating_add(EVENTS_AHEAD);
                let deleted = store.delete_events_after(&self.name, future).await;
                deleted.map_err(failed)?;
            }
        }
        services
            .latches
            .clear(&self.name, services.store.as_ref())
            .await;
        self.check(services, Trigger::SetHealthy).await;
        Ok(())
    }

    async fn check_in_turn(
        &self,
        services: &Services,
        trigger: Trigger,
        mut turn: tokio::sync::MutexGuard<'_, CheckTurn>,
    ) -> (Vec<HealthState>, Vec<u8>) {
        let Some(checker) = self.checker() else {
            return (self.states(services.node.clock.now_ms()), Vec::new());
        };
        if self.closed.is_cancelled() {
            // Another one took its place while this check waited for its turn.
            return (self.states(services.node.clock.now_ms()), Vec::new());
        }
        let context = self.context(services, trigger, turn.previous_check);
        let CheckedReport { finished, output } =
            checker.check(services, &context, &self.closed).await;
        commit::bill(services, &self.name, &finished);
        if let Some(shadow) = &self.shadow {
            shadow.check_beside(&context, &finished);
        }
        let outcome = finished.answer.as_ref().map(|_| ());
        if self.is_taken_back(outcome) {
            // What is shown stays as it is: the version before judges in a moment.
            let error = finished.answer.err();
            let state = error.map(|error| failure::state(&self.name, context.now, &error, None));
            return (state.into_iter().collect(), output);
        }
        let judged = self.judge(services, &checker, finished, context.now, &mut turn);
        let (supported, states) = judged.await;
        turn.previous_check = Some(context.now);
        let unfed = || self.unfed.get().cloned();
        let states = if supported
            && checker.kmsg_watcher().is_some()
            && let Some(problem) = services.kernel_log_problem().await.or_else(unfed)
        {
            self.without_kernel_log(states, &problem)
        } else {
            states
        };
        let states = self.with_trouble(services, states);
        let judged = Latest {
            supported,
            states,
            raw_output: script::shown(&output),
        };
        (self.keep(services, judged, context.now).await, output)
    }

    /// Stores what a check reported, and returns whether the component is supported here and its verdicts. A check that
    /// failed is a verdict of its own.
    async fn judge(
        &self,
        services: &Services,
        checker: &Checker,
        finished: Finished<Report>,
        now: UnixMillis,
        turn: &mut CheckTurn,
    ) -> (bool, Vec<HealthState>) {
        match finished.answer {
            Ok(report) => {
                turn.failures = 0;
                turn.not_before = None;
                let Report {
                    supported,
                    states,
                    events,
                    metrics,
                } = report;
                let written =
                    commit::events_and_state(services, &self.name, events, finished.state_writes);
                let owner = match self.is_plugin() {
                    true => Owner::Plugin,
                    false => Owner::BuiltIn,
                };
                let states = match written.await {
                    Ok(()) => states,
                    // Kept, and shown and logged as the daemon's own trouble.
                    Err(error) if error.is_outage() => states,
                    Err(error) => {
                        let problem = format!("events and values could not be stored: {error}");
                        tracing::error!(component = self.name, "{problem}");
                        failure::with_error(states, &problem)
                    }
                };
                commit::metrics(
                    services,
                    &self.name,
                    owner,
                    &metrics,
                    &checker.descriptor().metrics,
                );
                (supported, states)
            }
            Err(error) => {
                let retry = failure::back_off(&error, &mut turn.failures, checker.retry_interval());
                turn.not_before = retry.map(|retry| Instant::now() + retry.wait);
                if !matches!(error, CallError::Source(_) | CallError::Database(_)) {
                    let blame = error.blame().as_str();
                    tracing::warn!(component = self.name, blame, "check failed: {error}");
                }
                let failed = failure::state(&self.name, now, &error, retry.as_ref());
                (true, failure::states(failed, &error, self.states(now)))
            }
        }
    }

    /// Makes these and the latched states the latest verdicts, and records the changes.
    pub(super) async fn keep(
        &self,
        services: &Services,
        mut judged: Latest,
        now: UnixMillis,
    ) -> Vec<HealthState> {
        let boot = &services.node.boot.id;
        let store = services.store.as_ref();
        judged.states = services
            .latches
            .apply(&self.name, judged.states, now, boot, store)
            .await;
        let states = judged.states.clone();
        let before = std::mem::replace(
            &mut *self.latest.write().unwrap_or_else(PoisonError::into_inner),
            judged,
        );
        if services.logs_changes {
            health_log::log_changes(&self.name, &before.states, &states);
        }
        services
            .feed
            .verdicts(&self.name, &before.states, &states, now);
        commit::changes(services, &self.name, &before.states, &states, now).await;
        states
    }

    /// Sets the latest verdict of a part of the daemon.
    pub async fn show(&self, services: &Services, health: Health, reason: &str) {
        let now = services.node.clock.now_ms();
        let judged = Latest {
            supported: true,
            states: vec![HealthState {
                name: Some(self.name.clone()),
                time: Some(now),
                health,
                reason: reason.to_owned(),
                ..HealthState::default()
            }],
            raw_output: String::new(),
        };
        self.keep(services, judged, now).await;
    }

    pub(super) fn context(
        &self,
        services: &Services,
        trigger: Trigger,
        previous_check: Option<UnixMillis>,
    ) -> CheckContext {
        CheckContext {
            component: self.name.clone(),
            now: services.node.clock.now_ms(),
            trigger,
            boot_id: services.node.boot.id.clone(),
            boot_time: services.node.boot_time(),
            previous_check,
        }
    }
}

/// Why a component was not set healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetHealthyProblem {
    /// The component does not offer it.
    Unsupported,
    /// It was tried.
    Failed(String),
}

#[cfg(test)]
mod tests;
