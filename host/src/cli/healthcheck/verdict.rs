//! From the states of components to what is wrong.

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
    /// What to do, the wire's words.
    pub actions: Vec<String>,
}

/// What all states together say.
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
mod tests {
    use super::*;
    use crate::cli::healthcheck::testing::state;

    fn judged(states: &[Component], components: &str, actions: &[RepairAction]) -> String {
        match Verdict::of(states, &ComponentSelection::parse(components), actions) {
            Err(why) => why.to_string(),
            Ok(verdict) => {
                let found = verdict.findings.iter();
                let found: Vec<String> = found
                    .map(|found| {
                        format!("{:?} {} {}", found.severity, found.component, found.reason)
                    })
                    .collect();
                format!(
                    "{} of {}, {} starting, {} uncounted",
                    found.join(", "),
                    verdict.components,
                    verdict.starting,
                    verdict.uncounted
                )
            }
        }
    }

    #[test]
    fn states_are_judged() {
        let states = [
            state("a", "Healthy", "", &[]),
            state("b", "Degraded", "slow", &[]),
            state("c", "Unhealthy", "gone", &["REBOOT_SYSTEM"]),
            state("c", "Unhealthy", "hot", &["HARDWARE_INSPECTION"]),
            state("d", "Initializing", "", &[]),
            state("e", "", "", &[]),
            state("f", "Molten", "glows", &[]),
        ];
        let reboot = [RepairAction::RebootSystem];
        for (components, actions, expected) in [
            (
                "",
                &[][..],
                "Unhealthy c gone, Unhealthy c hot, Unhealthy f glows, Degraded b slow of 6, 2 starting, 0 uncounted",
            ),
            (
                "-c,-f",
                &[],
                "Degraded b slow of 4, 2 starting, 0 uncounted",
            ),
            ("a", &[], " of 1, 0 starting, 0 uncounted"),
            ("a,e", &[], " of 2, 1 starting, 0 uncounted"),
            (
                "",
                &reboot[..],
                "Unhealthy c gone of 6, 2 starting, 2 uncounted",
            ),
            ("b", &reboot[..], " of 1, 0 starting, 1 uncounted"),
            ("nosuch", &[], "gpud has none of the components that count"),
        ] {
            assert_eq!(
                judged(&states, components, actions),
                expected,
                "{components}"
            );
        }
        assert_eq!(
            judged(&[], "", &[]),
            "gpud has none of the components that count"
        );
    }

    #[test]
    fn a_threshold_counts_what_is_worse_too() {
        let states = [
            state("a", "Degraded", "", &[]),
            state("b", "Unhealthy", "", &[]),
        ];
        let verdict = Verdict::of(&states, &ComponentSelection::default(), &[]).unwrap();
        assert_eq!(verdict.at_least(FailOn::Degraded).count(), 2);
        assert_eq!(verdict.at_least(FailOn::Unhealthy).count(), 1);
        assert_eq!(verdict.count(Severity::Degraded), 1);
    }
}
