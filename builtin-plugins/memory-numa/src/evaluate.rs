//! The verdict.

use std::collections::BTreeMap;

use gpud_sdk::files::{gauge, percent};
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::json;

use crate::facts::Facts;

/// Gauge: memory of a node.
pub const TOTAL: &str = "numa_node_memory_bytes";
/// Gauge: free memory of a node.
pub const FREE: &str = "numa_node_free_memory_bytes";
/// Gauge: pages of a node that were wanted elsewhere.
pub const MISS: &str = "numa_node_miss_pages";
/// Gauge: pages of a pool.
pub const PAGES: &str = "hugepages";
/// Gauge: free pages of a pool.
pub const FREE_PAGES: &str = "hugepages_free";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "expected_hugepages": {
      "description": "Least number of huge pages by size, for example {\"2048kB\": 1024}.",
      "type": "object", "maxProperties": 16, "additionalProperties": { "type": "number", "minimum": 0 }
    },
    "expected_transparent_hugepages": {
      "description": "What transparent huge pages must be set to.",
      "type": "string", "enum": ["always", "madvise", "never"]
    },
    "expected_numa_balancing": {
      "description": "What kernel.numa_balancing must be.",
      "type": "integer", "minimum": 0
    },
    "max_node_difference_percent": {
      "description": "How much less memory than the largest NUMA node another one with processors may have; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 0
    }
  }
}"#;

const SETTING: &str = "Set it as the site expects.";
/// Stands for what was not given.
const NOT_GIVEN: u64 = u64::MAX;

/// The operator's expectations.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pages: BTreeMap<String, f64>,
    transparent: Option<String>,
    balancing: Option<u64>,
    difference: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let balancing = settings.number("expected_numa_balancing", NOT_GIVEN, 0..=NOT_GIVEN);
        Ok(Self {
            pages: settings.numbers("expected_hugepages"),
            transparent: settings
                .word("expected_transparent_hugepages")
                .map(str::to_owned),
            balancing: Some(balancing).filter(|given| *given != NOT_GIVEN),
            difference: settings.number("max_node_difference_percent", 0, 0..=100),
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
    let mut found = settings(config, facts);
    found.extend(nodes(config, facts));
    found.extend(facts.unread.iter().map(|name| {
        let text = format!("the memory of {name} cannot be read");
        Finding::degraded(format!("{name} unread"), "numa_node_unreadable", text)
            .advice("See /sys/devices/system/node/‹node›/meminfo.")
            .about("numa-node", name)
    }));
    if facts == &Facts::default() && found.is_empty() {
        let reason = "the kernel tells nothing of NUMA nodes and huge pages";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let (mut report, after) = findings::judge(context, &healthy(facts), &found, before);
    for node in &facts.nodes {
        let labels = [("node", node.name.as_str())];
        report = report
            .gauge_with(TOTAL, &labels, gauge(node.total))
            .gauge_with(FREE, &labels, gauge(node.free));
        if let Some(misses) = node.misses {
            report.add_gauge(MISS, &labels, gauge(misses));
        }
    }
    for pool in &facts.pools {
        let labels = [("size", pool.size.as_str())];
        report = report
            .gauge_with(PAGES, &labels, gauge(pool.total))
            .gauge_with(FREE_PAGES, &labels, gauge(pool.free));
    }
    let data = json!({
        "nodes": facts.nodes.iter().map(|node| json!({"name": node.name, "bytes": node.total, "free_bytes": node.free})).collect::<Vec<_>>(),
        "hugepages": facts.pools.iter().map(|pool| json!({"size": pool.size, "total": pool.total, "free": pool.free})).collect::<Vec<_>>(),
        "transparent_hugepages": facts.transparent,
        "numa_balancing": facts.balancing,
    });
    (findings::with_data(report, &data), after)
}

fn healthy(facts: &Facts) -> String {
    let mut words = vec![match facts.nodes.len() {
        0 => "no NUMA nodes".to_owned(),
        1 => "1 NUMA node".to_owned(),
        count => format!("{count} NUMA nodes"),
    }];
    let pools = facts.pools.iter().filter(|pool| pool.total > 0);
    words.extend(pools.map(|pool| {
        format!(
            "{} huge pages of {} ({} free)",
            pool.total, pool.size, pool.free
        )
    }));
    words.join(", ")
}

fn settings(config: &Config, facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    for (size, &least) in &config.pages {
        let pool = facts.pools.iter().find(|pool| pool.size == *size);
        let total = pool.map_or(0, |pool| pool.total);
        if gauge(total) < least {
            let text = format!("{total} huge pages of {size}, expected {least}");
            found.push(
                Finding::degraded(format!("hugepages {size}"), "hugepages_missing", text)
                    .advice("Reserve them at boot (hugepages=), before memory is fragmented."),
            );
        }
    }
    // A kernel without either has it switched off.
    let transparent = facts.transparent.as_deref().unwrap_or("never");
    if let Some(expected) = &config.transparent
        && let is = transparent
        && is != expected
    {
        let text = format!("transparent huge pages are set to {is}, expected {expected}");
        found.push(
            Finding::degraded("transparent", "transparent_hugepages_setting", text).advice(SETTING),
        );
    }
    if let Some(expected) = config.balancing
        && let is = facts.balancing.unwrap_or(0)
        && is != expected
    {
        let text = format!("kernel.numa_balancing is {is}, expected {expected}");
        found.push(Finding::degraded("balancing", "numa_balancing_setting", text).advice(SETTING));
    }
    found
}

fn nodes(config: &Config, facts: &Facts) -> Vec<Finding> {
    let with_cpus = || facts.nodes.iter().filter(|node| node.has_cpus);
    let largest = with_cpus().map(|node| node.total).max().unwrap_or(0);
    with_cpus()
        .filter(|node| {
            let less = percent(largest - node.total, largest);
            config.difference > 0 && less > gauge(config.difference)
        })
        .map(|node| {
            let gib = |bytes: u64| gauge(bytes) / gauge(1 << 30);
            let text = format!(
                "{} has {:.1} GiB of memory, the largest node {:.1} GiB",
                node.name,
                gib(node.total),
                gib(largest)
            );
            Finding::degraded(format!("{} size", node.name), "numa_node_smaller", text)
                .action(
                    RepairAction::HardwareInspection,
                    "Look for a memory module that is missing or switched off.",
                )
                .about("numa-node", &node.name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Node, Pool};
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    fn facts() -> Facts {
        let node = |name, kb: u64, cpus| {
            let meminfo = format!("Node 0 MemTotal: {kb} kB\nNode 0 MemFree: 1 kB\n");
            Node::new(name, &meminfo, "numa_miss 3", cpus).unwrap()
        };
        Facts {
            // The last one is memory of a GPU.
            nodes: vec![
                node("node0", 100 << 20, "0-1"),
                node("node1", 90 << 20, "2-3"),
                node("node2", 1 << 20, ""),
            ],
            unread: Vec::new(),
            pools: vec![Pool::new("hugepages-2048kB", "512", "500").unwrap()],
            transparent: Some("madvise".to_owned()),
            balancing: Some(1),
        }
    }

    #[test]
    fn only_expectations_are_judged() {
        let context = test_context("memory-numa", 1_000);
        for (config, health, reason) in [
            (
                "{}",
                Health::Healthy,
                "3 NUMA nodes, 512 huge pages of 2048kB (500 free)",
            ),
            (
                r#"{"expected_hugepages":{"1048576kB":4,"2048kB":512}}"#,
                Health::Degraded,
                "0 huge pages of 1048576kB, expected 4. Reserve them at boot (hugepages=), before memory is fragmented.",
            ),
            (
                r#"{"expected_transparent_hugepages":"never","expected_numa_balancing":0}"#,
                Health::Degraded,
                "transparent huge pages are set to madvise, expected never; kernel.numa_balancing is 1, expected 0. Set it as the site expects.",
            ),
            (
                r#"{"max_node_difference_percent":10}"#,
                Health::Healthy,
                "3 NUMA nodes, 512 huge pages of 2048kB (500 free)",
            ),
            (
                r#"{"max_node_difference_percent":9}"#,
                Health::Degraded,
                "node1 has 90.0 GiB of memory, the largest node 100.0 GiB",
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let (report, _) = judge(&context, &config, &facts(), &Memory::default());
            let state = &report.states[0];
            assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
            assert_eq!(report.metrics.len(), 11);
        }
    }

    #[test]
    fn a_node_that_cannot_be_read() {
        let context = test_context("memory-numa", 1_000);
        let facts = Facts {
            unread: vec!["node3".to_owned()],
            ..facts()
        };
        let config = Config::parse("{}").unwrap();
        let (report, _) = judge(&context, &config, &facts, &Memory::default());
        let state = &report.states[0];
        assert_eq!(state.health, Health::Degraded);
        assert!(
            state
                .reason
                .starts_with("the memory of node3 cannot be read")
        );
    }

    #[test]
    fn features_that_a_kernel_lacks_are_off() {
        let context = test_context("memory-numa", 1_000);
        let facts = Facts {
            nodes: Vec::new(),
            unread: Vec::new(),
            transparent: None,
            balancing: None,
            ..facts()
        };
        let off = r#"{"expected_transparent_hugepages":"never","expected_numa_balancing":0}"#;
        let on = r#"{"expected_transparent_hugepages":"always","expected_numa_balancing":1}"#;
        for (config, health, reason) in [
            (
                off,
                Health::Healthy,
                "no NUMA nodes, 512 huge pages of 2048kB (500 free)",
            ),
            (
                on,
                Health::Degraded,
                "transparent huge pages are set to never, expected always; kernel.numa_balancing is 0, expected 1. Set it as the site expects.",
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let (report, _) = judge(&context, &config, &facts, &Memory::default());
            let state = &report.states[0];
            assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
        }
    }

    #[test]
    fn kernels_that_tell_nothing() {
        let context = test_context("memory-numa", 1_000);
        let config = Config::parse("{}").unwrap();
        let (report, _) = judge(&context, &config, &Facts::default(), &Memory::default());
        assert!(!report.supported);
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
