//! Makes one verdict of the states of all components.

use std::collections::BTreeSet;

use super::error::HealthcheckError;
use crate::{
    cli::{components::ComponentSelection, options::FailOn, status::ask::Component},
    model::{Health, RepairAction},
};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Works, but not as it should.
    Degraded,
    /// Does not work.
    Unhealthy,
}

/// One state that is not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The component.
    pub component: String,
    /// Why.
    pub reason: String,
    /// Repair actions, in the API's words.
    pub actions: Vec<String>,
}

/// The verdict of all states together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The worst first, then by component.
    pub findings: Vec<Finding>,
    /// How many components were judged.
    pub components: usize,
    /// How many of them have not been checked yet.
    pub starting: usize,
    /// How many are not healthy, and suggest none of the actions that count.
    pub uncounted: usize,
}

impl Verdict {
    /// Judges the states of the selected components. With actions, a state that suggests none of them is no finding.
    ///
    /// # Errors
    /// No component is selected.
    pub fn of(
        states: &[Component],
        selection: &ComponentSelection,
        actions: &[RepairAction],
    ) -> Result<Self, HealthcheckError> {
        let selected: Vec<&Component> = states
            .iter()
            .filter(|state| selection.includes(&state.component))
            .collect();
        let components = count(selected.iter().copied());
        if components == 0 {
            return Err(HealthcheckError::NoComponents);
        }
        let (starting, checked): (Vec<&Component>, Vec<&Component>) =
            selected.into_iter().partition(|state| is_starting(state));
        let counts = |state: &Component| actions.is_empty() || suggests_one_of(state, actions);
        let (counted, others): (Vec<&Component>, Vec<&Component>) =
            checked.into_iter().partition(|state| counts(state));
        let mut findings: Vec<Finding> = counted.into_iter().filter_map(finding).collect();
        let is_found = |name: &str| findings.iter().any(|found| found.component == name);
        let others = others.into_iter().filter(|state| finding(state).is_some());
        let uncounted = count(others.filter(|state| !is_found(&state.component)));
        let starting = count(starting.into_iter());
        findings.sort_by(|a, b| {
            let by_severity = b.severity.cmp(&a.severity);
            by_severity.then_with(|| a.component.cmp(&b.component))
        });
        Ok(Self {
            findings,
            components,
            starting,
            uncounted,
        })
    }

    /// The findings that are this bad or worse.
    pub fn at_least(&self, threshold: FailOn) -> impl Iterator<Item = &Finding> {
        let least = match threshold {
            FailOn::Degraded => Severity::Degraded,
            FailOn::Unhealthy => Severity::Unhealthy,
        };
        self.findings
            .iter()
            .filter(move |finding| finding.severity >= least)
    }

    /// How many findings are exactly this bad.
    pub fn count(&self, severity: Severity) -> usize {
        let same = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(same).count()
    }
}

/// Counts the components of these states.
fn count<'a>(states: impl Iterator<Item = &'a Component>) -> usize {
    let names = states.map(|state| state.component.as_str());
    names.collect::<BTreeSet<_>>().len()
}

/// A component without states, and one that says so, has not been checked yet.
fn is_starting(state: &Component) -> bool {
    state.health.is_empty() || Health::from(state.health.as_str()) == Health::Initializing
}

fn suggests_one_of(state: &Component, actions: &[RepairAction]) -> bool {
    let mut suggested = state.repair_actions.iter();
    suggested.any(|word| actions.iter().any(|action| action.as_str() == word))
}

fn finding(state: &Component) -> Option<Finding> {
    let severity = match Health::from(state.health.as_str()) {
        Health::Healthy | Health::Initializing => return None,
        Health::Degraded => Severity::Degraded,
        Health::Unhealthy | Health::Other(_) => Severity::Unhealthy,
    };
    Some(Finding {
        severity,
        component: state.component.clone(),
        reason: state.reason.clone(),
        actions: state.repair_actions.clone(),
    })
}

#[cfg(test)]
mod tests;
