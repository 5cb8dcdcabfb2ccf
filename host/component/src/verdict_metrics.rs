//! The series with each component's health, made when a client requests metrics.

use super::Registry;
use crate::{
    metrics::{self, MetricError, own},
    model::{Health, UnixMillis},
};

/// The healths that have a series.
const HEALTHS: [Health; 4] = [
    Health::Healthy,
    Health::Degraded,
    Health::Unhealthy,
    Health::Initializing,
];

/// Replaces the series about verdicts by those of the components that are registered now and apply to this machine.
///
/// # Errors
/// A component has a metric of the same name.
pub fn record(
    metrics: &metrics::Registry,
    components: &Registry,
    now: UnixMillis,
) -> Result<(), MetricError> {
    let mut healths = Vec::new();
    let mut checks = Vec::new();
    for component in components.all() {
        if !component.is_supported() {
            continue;
        }
        let label = (own::COMPONENT_LABEL.to_owned(), component.name().to_owned());
        let states = component.states(now);
        let worst = states
            .iter()
            .map(|state| &state.health)
            .max_by_key(|health| health.rank());
        for health in &HEALTHS {
            let is_worst = worst.is_some_and(|worst| worst.rank() == health.rank());
            let word = (own::HEALTH_LABEL.to_owned(), health.as_str().to_owned());
            healths.push((vec![label.clone(), word], f64::from(u8::from(is_worst))));
        }
        let initializing = worst.is_none_or(|worst| *worst == Health::Initializing);
        let checked = states.iter().filter_map(|state| state.time).max();
        if let Some(time) = checked.filter(|_| !initializing) {
            checks.push((vec![label], time as f64 / 1000.0));
        }
    }
    let own::OwnMetric { name, help } = own::HEALTH;
    metrics.replace_gauges(name, help, healths)?;
    let own::OwnMetric { name, help } = own::LAST_CHECK;
    metrics.replace_gauges(name, help, checks)
}
