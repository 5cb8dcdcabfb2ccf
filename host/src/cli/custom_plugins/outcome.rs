//! The outcome of one check.

use crate::{
    metrics::own::{CHECKER_BYTES, CHECKER_HOST_CALLS, CHECKER_MEMORY, CHECKER_SECONDS, OwnMetric},
    model::Health,
    script::{CheckOutput, judge::Mismatch},
    spec::Plugin,
    wire::HealthState,
};

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Component name.
    pub component: String,
    /// As written in the spec.
    pub run_mode: String,
    /// The verdicts; a script has one.
    pub states: Vec<HealthState>,
    /// Expectations that were not met.
    pub mismatches: Vec<Mismatch>,
    /// Whether a script printed no JSON object although its parser expects values in one.
    pub unchecked: bool,
    /// The output of a script.
    pub output: Vec<u8>,
    /// The exit code of a script.
    pub exit_code: i32,
    /// Present only for a Wasm component.
    pub wasm: Option<WasmCheck>,
}

/// The known facts about a Wasm component besides its verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WasmCheck {
    /// Whether there is something for it to watch on this machine.
    pub supported: bool,
    /// The cost of the check.
    pub bill: Option<Bill>,
}

/// The cost of a check.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Bill {
    /// Time, seconds.
    pub seconds: f64,
    /// Most memory that it had, bytes.
    pub memory_high_water_bytes: f64,
    /// Calls to the host.
    pub host_calls: f64,
    /// That passed between it and the host.
    pub bytes: f64,
}

impl Outcome {
    /// Of a script.
    pub fn of_script(plugin: &Plugin, checked: CheckOutput) -> Self {
        let verdict = checked.verdict;
        let health = verdict.health();
        Self {
            component: plugin.component.clone(),
            run_mode: plugin.spec.run_mode.clone(),
            states: vec![HealthState {
                health: health.as_str().to_owned(),
                reason: verdict.reason,
                error: verdict.error.unwrap_or_default(),
                suggested_actions: verdict.suggested_actions,
                extra_info: verdict.extra_info,
                ..HealthState::default()
            }],
            mismatches: verdict.mismatches,
            unchecked: verdict.unchecked,
            output: checked.output,
            exit_code: checked.exit_code,
            wasm: None,
        }
    }

    /// The worst verdict, the first of several; `None` if there is none.
    pub fn worst(&self) -> Option<&HealthState> {
        // Of equals `max_by_key` gives the last.
        let backwards = self.states.iter().rev();
        backwards.max_by_key(|state| Health::from(state.health.as_str()).rank())
    }

    /// The health of the worst; without any, all is well.
    pub fn health(&self) -> &str {
        self.worst()
            .map_or(Health::Healthy.as_str(), |state| &state.health)
    }

    /// Whether all is well, or there is nothing on this machine that could be otherwise.
    pub fn is_healthy(&self) -> bool {
        self.health() == Health::Healthy.as_str() || self.wasm.is_some_and(|wasm| !wasm.supported)
    }

    /// Returns the error that ends a run at the first plugin that is not healthy, in GPUd's words.
    pub fn failure(&self) -> String {
        let reason = self.worst().map_or("", |state| &state.reason);
        format!(
            "plugin {} returned unhealthy state (summary {reason})",
            self.component
        )
    }
}

impl Bill {
    /// From the metrics of a registry that knows one checker only, in Prometheus' text format.
    pub fn of(exposition: &str) -> Option<Self> {
        let value = |metric: OwnMetric| -> Option<f64> {
            let series = format!("{}{{", metric.name);
            let line = exposition.lines().find(|line| line.starts_with(&series))?;
            line.rsplit(' ').next()?.parse().ok()
        };
        Some(Self {
            seconds: value(CHECKER_SECONDS)?,
            memory_high_water_bytes: value(CHECKER_MEMORY)?,
            host_calls: value(CHECKER_HOST_CALLS)?,
            bytes: value(CHECKER_BYTES)?,
        })
    }
}

#[cfg(test)]
mod tests;
