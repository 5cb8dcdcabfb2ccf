//! A component's description of itself, made once and without any capability.

use std::time::Duration;

/// When a component runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunMode {
    /// On its interval.
    #[default]
    Auto,
    /// Only when triggered.
    Manual,
}

/// The effect of set-healthy on a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetHealthy {
    /// The component does not offer it.
    #[default]
    Unsupported,
    /// The component's stored events up to now are deleted and its state is judged again.
    ClearsEvents,
    /// A mark is recorded and the component is checked at once; the checker decides what the mark means.
    Marks,
}

/// One metric that a component gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricDescription {
    /// Full Prometheus name.
    pub name: String,
    /// Help text, with the unit.
    pub help: String,
    /// Upper bounds, ascending, for a histogram; empty otherwise.
    pub buckets: Vec<f64>,
}

/// One component of a plugin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComponentDescriptor {
    /// Unique name, for example `accelerator-nvidia-error-xid`.
    pub name: String,
    /// One line.
    pub description: String,
    /// For trigger-by-tag.
    pub tags: Vec<String>,
    /// Between two scheduled checks; `None` means one minute.
    pub interval: Option<Duration>,
    /// When it runs.
    pub run_mode: RunMode,
    /// The effect of set-healthy.
    pub set_healthy: SetHealthy,
    /// Metrics that it gives.
    pub metrics: Vec<MetricDescription>,
    /// JSON Schema of its configuration, if it takes one.
    pub config_schema: Option<String>,
    /// Whether a healthy verdict means nothing while the kernel log cannot be read.
    pub judged_by_kernel_log: bool,
    /// Whether its plugin's scan is for other components only.
    pub without_scan: bool,
    /// Whether its plugin watches the kernel log for other components only.
    pub without_kmsg_watcher: bool,
}
