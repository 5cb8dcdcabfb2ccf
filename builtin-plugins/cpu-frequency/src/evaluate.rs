//! The verdict.

use std::collections::BTreeMap;

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Report};
use serde_json::json;

use crate::facts::{Facts, Policy};

/// Gauge: policies by governor.
pub const POLICIES: &str = "cpu_frequency_policies";
/// Gauge: the lowest limit.
pub const LIMIT: &str = "cpu_frequency_limit_hertz";
/// Gauge: temperature of a zone.
pub const ZONE: &str = "thermal_zone_celsius";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected_governor": {
      "description": "The frequency governor that all processors must have.",
      "type": "string", "examples": ["performance"]
    },
    "full_frequency": {
      "description": "Whether a limit below the hardware's highest frequency, or boost that is switched off, makes the state Degraded.",
      "type": "boolean", "default": false
    }
  }
}"#;

const GOVERNOR_ADVICE: &str = "Set it (cpupower frequency-set -g), or let tuned do so.";
const LIMIT_ADVICE: &str =
    "Look for power capping and settings of the firmware, tuned or the power profile.";
/// Zones are labels of series.
const MAX_ZONES: usize = 256;

/// The operator's expectations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    governor: Option<String>,
    full: bool,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            governor: settings.word("expected_governor").map(str::to_owned),
            full: settings.flag("full_frequency", false),
        })
    }
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    facts: &Facts,
    before: &Memory,
) -> (Report, Memory) {
    if facts.policies.is_empty() && facts.zones.is_empty() {
        let reason =
            "the kernel does not steer the frequency of processors here, and has no thermal zones";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let found = judged(config, facts);
    let mut governors: BTreeMap<&str, u64> = BTreeMap::new();
    for policy in &facts.policies {
        *governors.entry(policy.governor.as_str()).or_default() += 1;
    }
    let (mut report, after) = findings::judge(context, &healthy(facts, &governors), &found, before);
    for (governor, count) in &governors {
        report.add_gauge(POLICIES, &[("governor", governor)], gauge(*count));
    }
    if let Some(limit) = facts
        .policies
        .iter()
        .filter_map(|policy| policy.limit)
        .min()
    {
        report = report.gauge(LIMIT, gauge(limit) * 1e3);
    }
    for (zone, celsius) in facts.zones.iter().take(MAX_ZONES) {
        report.add_gauge(ZONE, &[("zone", zone)], *celsius);
    }
    let data = json!({ "governors": governors, "boost": facts.boost });
    (findings::with_data(report, &data), after)
}

fn healthy(facts: &Facts, governors: &BTreeMap<&str, u64>) -> String {
    let Some(first) = facts.policies.first() else {
        return "the kernel does not steer the frequency of processors here".to_owned();
    };
    let named = governors.keys().map(|name| match *name {
        "" => "unknown",
        name => name,
    });
    let names: Vec<&str> = named.collect();
    let mut text = format!("governor {} ({})", names.join(", "), first.driver);
    if facts.boost == Some(false) {
        text.push_str(", boost is off");
    }
    text
}

fn judged(config: &Config, facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut tell = |key: &str, event, wrong: Vec<&Policy>, words: String, advice| {
        if let Some(first) = wrong.first() {
            let (count, all) = (wrong.len(), facts.policies.len());
            let text = format!(
                "{count} of {all} frequency policies {words} ({})",
                first.name
            );
            found.push(Finding::degraded(key, event, text).advice(advice));
        }
    };
    if let Some(expected) = &config.governor {
        let wrong: Vec<&Policy> = facts
            .policies
            .iter()
            .filter(|policy| policy.governor != *expected)
            .collect();
        let is = match wrong.first().map_or("", |policy| policy.governor.as_str()) {
            "" => "that cannot be read",
            is => is,
        };
        let words = format!("have the governor {is}, expected {expected}");
        tell("governor", "cpu_governor", wrong, words, GOVERNOR_ADVICE);
    }
    if config.full {
        let limited = |policy: &&Policy| {
            policy
                .limit
                .zip(policy.max)
                .is_some_and(|(limit, max)| limit < max)
        };
        let wrong: Vec<&Policy> = facts.policies.iter().filter(limited).collect();
        let mhz = |of: Option<u64>| of.unwrap_or(0) / 1000;
        let words = wrong.first().map_or_else(String::new, |policy| {
            format!(
                "are limited to {} MHz of {} MHz",
                mhz(policy.limit),
                mhz(policy.max)
            )
        });
        tell("limit", "cpu_frequency_limited", wrong, words, LIMIT_ADVICE);
        let unread = |policy: &&Policy| policy.limit.is_none() || policy.max.is_none();
        let wrong: Vec<&Policy> = facts.policies.iter().filter(unread).collect();
        let words = "do not report their limit or the hardware's".to_owned();
        tell(
            "limit unread",
            "cpu_frequency_unreadable",
            wrong,
            words,
            "See scaling_max_freq and cpuinfo_max_freq of the policy.",
        );
        if facts.boost == Some(false) {
            let text = "boost (turbo) is switched off";
            found.push(Finding::degraded("boost", "cpu_boost_off", text).advice(LIMIT_ADVICE));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::files;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    #[test]
    fn verdicts() {
        let context = test_context("cpu-frequency", 1_000);
        let laptop = "policy0/scaling_governor=powersave;policy0/scaling_driver=intel_pstate;policy0/scaling_max_freq=2000000;policy0/cpuinfo_max_freq=3000000";
        for (config, boost, health, reason) in [
            (
                "{}",
                Some("1"),
                Health::Healthy,
                "governor powersave (intel_pstate)",
            ),
            (
                "{}",
                Some("0"),
                Health::Healthy,
                "governor powersave (intel_pstate), boost is off",
            ),
            (
                r#"{"expected_governor":"powersave"}"#,
                None,
                Health::Healthy,
                "governor powersave (intel_pstate)",
            ),
            (
                r#"{"expected_governor":"performance"}"#,
                None,
                Health::Degraded,
                "1 of 1 frequency policies have the governor powersave, expected performance (policy0)",
            ),
            (
                r#"{"full_frequency":true}"#,
                Some("0"),
                Health::Degraded,
                "1 of 1 frequency policies are limited to 2000 MHz of 3000 MHz (policy0); boost (turbo) is switched off",
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let facts = Facts::new(&files(laptop), &[], boost, None);
            let (report, _) = judge(&context, &config, &facts, &Memory::default());
            let state = &report.states[0];
            assert_eq!(state.health, health);
            assert!(state.reason.starts_with(reason), "{}", state.reason);
        }
    }

    #[test]
    fn a_governor_that_cannot_be_read_is_not_the_expected_one() {
        let context = test_context("cpu-frequency", 1_000);
        let config = Config::parse(r#"{"expected_governor":"performance"}"#).unwrap();
        let policy = files("policy0/scaling_driver=acpi-cpufreq");
        let facts = Facts::new(&policy, &[], None, None);
        let (report, _) = judge(&context, &config, &facts, &Memory::default());
        let reason = &report.states[0].reason;
        let expected = "1 of 1 frequency policies have the governor that cannot be read, expected performance (policy0)";
        assert!(reason.starts_with(expected), "{reason}");
    }

    #[test]
    fn a_limit_that_cannot_be_read_is_not_full_frequency() {
        let context = test_context("cpu-frequency", 1_000);
        let policy = files("policy0/scaling_governor=performance;policy0/scaling_max_freq=x");
        let facts = Facts::new(&policy, &[], None, None);
        for (config, health) in [
            ("{}", Health::Healthy),
            (r#"{"full_frequency":true}"#, Health::Degraded),
        ] {
            let config = Config::parse(config).unwrap();
            let (report, _) = judge(&context, &config, &facts, &Memory::default());
            assert_eq!(report.states[0].health, health);
        }
    }

    #[test]
    fn virtual_machines() {
        let context = test_context("cpu-frequency", 1_000);
        let config = Config::parse(r#"{"expected_governor":"performance"}"#).unwrap();
        let (report, _) = judge(&context, &config, &Facts::default(), &Memory::default());
        assert!(!report.supported);
        let facts = Facts::new(&[], &files("thermal_zone0/temp=1000"), None, None);
        let (report, _) = judge(&context, &config, &facts, &Memory::default());
        assert!(report.supported && report.states[0].health == Health::Healthy);
        assert_eq!(report.metrics.len(), 1);
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
