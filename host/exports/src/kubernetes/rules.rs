//! Rules that map the states of components to conditions of the node.

use serde::Deserialize;

use crate::{HealthView, select};

/// The condition of the node as a whole.
pub const SUMMARY: &str = "GpudHealthy";

/// One rule. A condition may have several; the first that fits gives the reason.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Type of the condition. It is `True` while something is wrong.
    #[serde(rename = "type")]
    pub condition: String,
    /// Reason of the condition while something is wrong; the type if left out.
    reason: Option<String>,
    /// Components: names, `prefix*`; `-name` leaves one out.
    pub components: Vec<String>,
    /// Name of a state, or words of its reason, such as `Xid 79`.
    event: Option<String>,
    /// The least health that counts.
    #[serde(default)]
    severity: Threshold,
}

/// The least health that counts as a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Degraded or worse.
    #[default]
    Degraded,
    /// Unhealthy or worse.
    Unhealthy,
}

impl Threshold {
    /// Returns true if the state is at least as bad.
    pub fn is_reached(self, state: &HealthView) -> bool {
        let least = match self {
            Self::Degraded => 2,
            Self::Unhealthy => 3,
        };
        state.health.rank() >= least
    }
}

impl Rule {
    fn default(condition: &str, components: &[&str], event: Option<&str>) -> Self {
        Self {
            condition: condition.to_owned(),
            reason: None,
            components: components.iter().map(|&name| name.to_owned()).collect(),
            event: event.map(str::to_owned),
            severity: Threshold::Degraded,
        }
    }

    /// Returns the reason while something is wrong.
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or(&self.condition)
    }

    /// Returns true if the component belongs to the condition.
    pub fn covers(&self, component: &str) -> bool {
        select::lists(&self.components, component)
    }

    /// Returns true if a state of a component that the rule covers is a fault by it.
    pub fn is_broken_by(&self, state: &HealthView) -> bool {
        self.severity.is_reached(state)
            && self.event.as_deref().is_none_or(|event| {
                state.name.eq_ignore_ascii_case(event) || has_words(&state.reason, event)
            })
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let is_word = |text: &str, inner: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || inner.contains(c);
            text.len() <= 63
                && text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.ends_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(fits)
        };
        if !is_word(&self.condition, "-_./") {
            let condition = &self.condition;
            return Err(format!(
                "{condition:?} is no type of a condition, such as GpuFellOffTheBus"
            ));
        }
        if !is_word(self.reason(), "_") {
            let reason = self.reason();
            return Err(format!(
                "{reason:?} is no reason of a condition, such as GpuFellOffTheBus"
            ));
        }
        Ok(())
    }
}

/// Returns true if a text contains these words, whatever their case, and no longer ones.
fn has_words(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    let is_inside = |c: char| c.is_alphanumeric();
    text.match_indices(&words).any(|(at, found)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + found.len()..)
            .and_then(|text| text.chars().next());
        let goes_on_before = before.is_some_and(is_inside) && found.starts_with(is_inside);
        let goes_on_after = after.is_some_and(is_inside) && found.ends_with(is_inside);
        !(found.is_empty() || goes_on_before || goes_on_after)
    })
}

/// Returns the rules of an operator and the default ones. A default whose type the operator uses is left out.
pub fn all(own: &[Rule], with_defaults: bool) -> Vec<Rule> {
    let mut rules = own.to_vec();
    if with_defaults {
        let is_own = |rule: &Rule| own.iter().any(|one| one.condition == rule.condition);
        rules.extend(defaults().into_iter().filter(|rule| !is_own(rule)));
    }
    rules
}

/// The families that operators of GPU nodes know from NVSentinel and node-problem-detector. The names begin with `Gpud`,
/// so that those two can run beside gpud.
fn defaults() -> Vec<Rule> {
    let rule = Rule::default;
    vec![
        rule(
            "GpudXidError",
            &["accelerator-nvidia-error-xid", "accelerator-amd-errors"],
            None,
        ),
        rule(
            "GpudMemoryError",
            &[
                "accelerator-nvidia-ecc",
                "accelerator-nvidia-remapped-rows",
                "accelerator-amd-ecc",
            ],
            None,
        ),
        rule(
            "GpudNvlinkError",
            &["accelerator-nvidia-nvlink", "accelerator-amd-xgmi"],
            None,
        ),
        rule(
            "GpudFabricError",
            &[
                "accelerator-nvidia-fabric-manager",
                "accelerator-nvidia-error-sxid",
            ],
            None,
        ),
        rule(
            "GpudInfinibandError",
            &["accelerator-nvidia-infiniband"],
            None,
        ),
        rule(
            "GpudThermalError",
            &[
                "accelerator-nvidia-temperature",
                "accelerator-nvidia-hw-slowdown",
                "accelerator-amd-temperature",
                "cpu-thermal",
            ],
            None,
        ),
        rule(
            "GpudGpuLost",
            &[
                "accelerator-nvidia-gpu-counts",
                "accelerator-amd-gpu-counts",
            ],
            None,
        ),
        rule(
            "GpudGpuLost",
            &["accelerator-nvidia-error-xid"],
            Some("Xid 79"),
        ),
        rule(
            "GpudDiskError",
            &["disk", "disk-smart", "block-io", "inodes"],
            None,
        ),
        rule(
            "GpudKernelError",
            &[
                "kernel-module",
                "kernel-stalls",
                "machine-check",
                "memory-edac",
                "os",
                "pcie-aer",
            ],
            None,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Health;

    #[test]
    fn words_are_whole() {
        for (text, words, found) in [
            ("GPU 3: Xid 79, fallen off the bus", "xid 79", true),
            ("Xid 790", "Xid 79", false),
            ("SXid 79", "Xid 79", false),
            ("(Xid 79)", "Xid 79", true),
            ("é Xid 79é", "Xid 79", false),
            ("anything", "", false),
            ("Xid 790, Xid 79", "Xid 79", true),
        ] {
            assert_eq!(has_words(text, words), found, "{text:?} {words:?}");
        }
    }

    #[test]
    fn a_rule_is_broken_by_severity_and_event() {
        let rule: Rule = serde_yaml::from_str(
            "{type: T, components: [disk], severity: unhealthy, event: error_xid}",
        )
        .unwrap();
        let state = |name: &str, health, reason: &str| HealthView {
            name: name.into(),
            health,
            reason: reason.into(),
            suggested_actions: Vec::new(),
            subject: None,
            since: 0,
        };
        for (state, broken) in [
            (state("error_xid", Health::Unhealthy, ""), true),
            (state("error_xid", Health::Degraded, ""), false),
            (state("other", Health::Unhealthy, "an error_xid"), true),
            (state("other", Health::Unhealthy, ""), false),
            (state("error_xid", Health::Other("Lost".into()), ""), true),
            (state("error_xid", Health::Initializing, ""), false),
        ] {
            assert_eq!(rule.is_broken_by(&state), broken, "{state:?}");
        }
    }

    #[test]
    fn an_operators_rules_replace_the_defaults_of_their_type() {
        let own: Vec<Rule> =
            serde_yaml::from_str("[{type: GpudGpuLost, components: [x], reason: Gone}]").unwrap();
        let rules = all(&own, true);
        let lost: Vec<&Rule> = rules
            .iter()
            .filter(|r| r.condition == "GpudGpuLost")
            .collect();
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].reason(), "Gone");
        assert!(rules.iter().any(|r| r.condition == "GpudXidError"));
        assert_eq!(all(&own, false), own);
        for rule in defaults() {
            assert_eq!(rule.check(), Ok(()), "{rule:?}");
        }
    }
}
