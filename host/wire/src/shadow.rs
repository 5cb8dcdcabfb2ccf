//! `GET /v1/plugins/shadow`: how a second version of a plugin compares with the one that runs.

use serde::Serialize;

use super::{MetaTime, is_zero};

/// The known facts about the version beside a component.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ShadowView {
    /// The component.
    pub component: String,
    /// `sha256:…` of the second version's file; empty if it could not be read.
    pub digest: String,
    /// Why nothing is compared (any more), if so.
    #[serde(skip_serializing_if = "is_zero")]
    pub problem: String,
    /// Calls that both have made.
    pub compared: u64,
    /// Calls without a difference.
    pub same: u64,
    /// Calls that the second version was not given, because it was still at an earlier one.
    pub skipped: u64,
    /// In how many calls which kind of thing was different.
    pub differing: Differing,
    /// The last ones, newest first.
    pub comparisons: Vec<Comparison>,
}

/// Calls in which something was different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Differing {
    /// One of them gave no answer, or they failed differently.
    pub outcome: u64,
    /// A state's health, or which states there are.
    pub health: u64,
    /// A state's reason, while its health is the same.
    pub reason: u64,
    /// Events.
    pub events: u64,
    /// Metrics: which there are, or their values.
    pub metrics: u64,
}

/// One call that both have made.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Comparison {
    /// When the running version was asked.
    pub time: MetaTime,
    /// `check` or `kernel messages`.
    pub call: &'static str,
    /// Nothing is different.
    pub same: bool,
    /// What is.
    pub differences: Vec<Difference>,
    /// Differences beyond those that are listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub further_differences: u64,
    /// The cost of the running version's call.
    pub running: CallCost,
    /// The cost of the second version's call.
    pub shadow: CallCost,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Difference {
    /// `outcome`, `health`, `reason`, `events` or `metrics`.
    pub what: &'static str,
    /// The name of the state, event or metric that differs.
    pub of: String,
    /// The running version's value; empty if it has none.
    pub running: String,
    /// The second version's value.
    pub shadow: String,
}

/// The cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CallCost {
    /// Wall-clock time.
    pub seconds: f64,
    /// Largest memory, bytes.
    pub memory_bytes: u64,
    /// Calls into the host.
    pub host_calls: u64,
    /// Bytes from and to the host.
    pub host_bytes: u64,
}
