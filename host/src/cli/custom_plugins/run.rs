//! Runs plugins once, one after another, under one limit for all of them.

use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    load::Check,
    outcome::{Bill, Outcome, WasmCheck},
};
use crate::{
    component::{Component, Services},
    metrics,
    node::{Node, clock::Clock},
    script::{CheckOutput, Script, judge::Verdict},
    spec::Plugin,
    wire::{HealthState, Origin},
};

/// The time for all plugins of a file together.
pub const LIMIT: Duration = Duration::from_secs(120);

const TIME_UP: &str = "context deadline exceeded";
const STOPPED: &str = "context canceled";

/// Runs plugins of a file.
pub struct Runner {
    stop: CancellationToken,
    deadline: Instant,
}

impl Runner {
    /// Stops what it runs at the deadline, or on request.
    pub fn new(stop: &CancellationToken, deadline: Instant) -> Self {
        Self {
            stop: stop.clone(),
            deadline,
        }
    }

    /// Checks once. A check that cannot begin or that is stopped is not healthy.
    pub async fn run(&self, check: &Check<'_>) -> Outcome {
        match check {
            Check::Script(plugin) => Outcome::of_script(plugin, self.script(plugin).await),
            Check::Wasm {
                plugin,
                component,
                node,
            } => self.wasm(plugin, component, node).await,
        }
    }

    async fn script(&self, plugin: &Plugin) -> CheckOutput {
        if Instant::now() >= self.deadline {
            return not_run(format!("failed to start command: {TIME_UP}"));
        }
        let stop = self.stop.child_token();
        let script = Script::new(&plugin.spec);
        let deadline = async {
            sleep_until(self.deadline).await;
            // The check ends by itself then, and with it what it started.
            stop.cancel();
            pending::<Infallible>().await
        };
        let mut checked = tokio::select! {
            checked = script.check(Clock::Live.now_ms(), &stop) => checked,
            never = deadline => match never {},
        };
        // GPUd treats the limit as a deadline of the check itself.
        if stop.is_cancelled()
            && !self.stop.is_cancelled()
            && checked.verdict.error.as_deref() == Some(STOPPED)
        {
            checked.verdict.error = Some(TIME_UP.to_owned());
        }
        checked
    }

    async fn wasm(&self, plugin: &Plugin, component: &Component, node: &Arc<Node>) -> Outcome {
        // Metrics of its own, so that the bill in them is this component's.
        let registry = Arc::new(metrics::Registry::new());
        let services = Services::new(Arc::clone(node), None, Arc::clone(&registry)).await;
        let report = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(STOPPED),
            () = sleep_until(self.deadline) => Err(TIME_UP),
            report = component.look(&services) => Ok(report),
        };
        let name = component.name();
        let (supported, states) = match report {
            Ok(report) => {
                let states = report.states.into_iter();
                let wire = |state| HealthState::from_model(name, &Origin::default(), state);
                (report.supported, states.map(wire).collect())
            }
            Err(error) => (true, vec![not_judged(error)]),
        };
        Outcome {
            component: name.to_owned(),
            run_mode: plugin.spec.run_mode.clone(),
            states,
            wasm: Some(WasmCheck {
                supported,
                bill: Bill::of(&registry.exposition()),
            }),
            ..Outcome::default()
        }
    }
}

/// A Wasm component that reached no verdict.
fn not_judged(error: &str) -> HealthState {
    HealthState {
        health: "Unhealthy".to_owned(),
        reason: "the check was stopped".to_owned(),
        error: error.to_owned(),
        ..HealthState::default()
    }
}

/// A script that was not started.
fn not_run(error: String) -> CheckOutput {
    CheckOutput {
        verdict: Verdict {
            reason: "error executing state plugin (exit code: 0)".to_owned(),
            error: Some(error),
            ..Verdict::default()
        },
        output: Vec::new(),
        exit_code: 0,
    }
}

#[cfg(test)]
mod tests;
