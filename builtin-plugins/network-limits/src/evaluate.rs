//! The verdict.

use gpud_sdk::files::{gauge, percent};
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Report};

use crate::conntrack::{Conntrack, PreviousCounters};
use crate::ports::Ports;

/// Gauge: entries.
pub const ENTRIES: &str = "network_conntrack_entries";
/// Gauge: most entries.
pub const MAX: &str = "network_conntrack_max_entries";
/// Gauge: entries of the most.
pub const PERCENT: &str = "network_conntrack_used_percent";
/// Gauge: dropped packets.
pub const DROPS: &str = "network_conntrack_dropped_packets";
/// Gauge: sockets.
pub const SOCKETS: &str = "network_tcp_sockets";
/// Gauge: size of the range.
pub const EPHEMERAL: &str = "network_ephemeral_ports";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_conntrack_percent": {
      "description": "Share of the connection tracking table from which the state is Degraded.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 90
    },
    "max_port_percent": {
      "description": "Share of the ephemeral ports, used by connections to one destination, from which the state is Degraded.",
      "type": "integer", "minimum": 50, "maximum": 100, "default": 90
    }
  }
}"#;

const CONNTRACK_ADVICE: &str = "Raise net.netfilter.nf_conntrack_max, or look for the program that opens so many connections (conntrack -L).";
const PORTS_ADVICE: &str =
    "Widen net.ipv4.ip_local_port_range, or let programs reuse their connections.";

/// Shares from which the state is Degraded, percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    conntrack: u64,
    ports: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            conntrack: settings.number("max_conntrack_percent", 90, 1..=100),
            ports: settings.number("max_port_percent", 90, 50..=100),
        })
    }
}

/// All that is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// Nothing where connections are not tracked.
    pub conntrack: Option<Conntrack>,
    /// Counters at the last check of this boot.
    pub drops_before: Option<PreviousCounters>,
    /// Nothing where there is no IPv4.
    pub ports: Option<Ports>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    inputs: &Inputs,
    before: &Memory,
) -> (Report, Memory) {
    let mut found = Vec::new();
    let mut healthy = Vec::new();
    if let Some(table) = &inputs.conntrack {
        let (findings, text) = connections(config, table, inputs.drops_before);
        found.extend(findings);
        healthy.push(text);
    }
    if let Some(ports) = &inputs.ports {
        let size = ports.range.size();
        if let Some((destination, count)) = ports.busiest()
            && percent(count, size) >= gauge(config.ports)
        {
            let text = format!(
                "ephemeral ports run out: {count} of {size} are used for connections to {destination}"
            );
            // The key has no destination: with two that are as busy, it would change from check to check.
            found.push(
                Finding::degraded("ports", "ephemeral_ports_exhausted", text).advice(PORTS_ADVICE),
            );
        }
        if ports.too_many && !found.iter().any(|finding| finding.key == "ports") {
            // A user can open as many: that must not hide ports that run out.
            let text = format!(
                "whether ephemeral ports run out cannot be judged: {} TCP sockets are too many to count them by destination",
                ports.sockets
            );
            found.push(Finding::degraded("ports", "ephemeral_ports_unknown", text));
        }
        healthy.push(format!(
            "{} TCP sockets, {size} ephemeral ports",
            ports.sockets
        ));
    }
    if healthy.is_empty() {
        let reason = "no connection tracking and no IPv4 in this network namespace";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let (mut report, after) = findings::judge(context, &healthy.join("; "), &found, before);
    if let Some(table) = &inputs.conntrack {
        report = report
            .gauge(ENTRIES, gauge(table.count))
            .gauge(MAX, gauge(table.max))
            .gauge(PERCENT, percent(table.count, table.max));
        if let Some(drops) = table.drops {
            report = report.gauge(DROPS, gauge(drops));
        }
    }
    if let Some(ports) = &inputs.ports {
        report = report
            .gauge(SOCKETS, gauge(ports.sockets))
            .gauge(EPHEMERAL, gauge(ports.range.size()));
    }
    (report, after)
}

/// Returns the findings about the table of tracked connections, and its fill level in words.
fn connections(
    config: &Config,
    table: &Conntrack,
    drops_before: Option<PreviousCounters>,
) -> (Vec<Finding>, String) {
    let mut found = Vec::new();
    let used = percent(table.count, table.max);
    let text = format!(
        "{} of {} tracked connections ({used:.0} %)",
        table.count, table.max
    );
    if used >= 100.0 {
        let text = format!("connection tracking table is full: {text}");
        found.push(Finding::unhealthy("conntrack", "conntrack_full", text));
    } else if used >= gauge(config.conntrack) {
        let text = format!("connection tracking table is nearly full: {text}");
        let finding = Finding::degraded("conntrack", "conntrack_nearly_full", text);
        found.push(finding);
    }
    let dropped = table.new_drops(drops_before);
    if dropped > 0 {
        let text = format!(
            "{dropped} packets dropped since the last check because a connection could not be tracked"
        );
        let finding = Finding::degraded("conntrack drops", "conntrack_drops", text);
        found.push(finding);
    }
    let found = found.into_iter().map(|one| one.advice(CONNTRACK_ADVICE));
    let unknown = match table.drops {
        Some(_) => "",
        None => ", dropped packets can be read by root only",
    };
    (found.collect(), format!("{text}{unknown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Range;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    fn verdict(inputs: &Inputs) -> (Health, String, Vec<String>) {
        let context = test_context("network-limits", 1_000);
        let config = Config::parse("{}").unwrap();
        let (report, _) = judge(&context, &config, inputs, &Memory::default());
        let names = report
            .events
            .iter()
            .map(|event| event.name.clone())
            .collect();
        (
            report.states[0].health.clone(),
            report.states[0].reason.clone(),
            names,
        )
    }

    #[test]
    fn tables() {
        for (count, drops, health, event) in [
            (0, (None, None), Health::Healthy, None),
            (899, (Some(5), None), Health::Healthy, None),
            (899, (Some(5), Some(5)), Health::Healthy, None),
            (899, (Some(5), Some(6)), Health::Healthy, None),
            (
                899,
                (Some(6), Some(5)),
                Health::Degraded,
                Some("conntrack_drops"),
            ),
            (
                900,
                (None, None),
                Health::Degraded,
                Some("conntrack_nearly_full"),
            ),
            (
                1000,
                (None, None),
                Health::Unhealthy,
                Some("conntrack_full"),
            ),
        ] {
            let inputs = Inputs {
                conntrack: Some(Conntrack {
                    count,
                    max: 1000,
                    drops: drops.0,
                    failed: Some(0),
                }),
                drops_before: drops.1.map(|drops| PreviousCounters { drops, failed: 0 }),
                ports: None,
            };
            let (found, reason, events) = verdict(&inputs);
            assert_eq!(
                (found, events.first().map(String::as_str)),
                (health, event),
                "{reason}"
            );
        }
    }

    #[test]
    fn ports_are_judged_by_destination() {
        let range = Range::parse("40000 40009").unwrap();
        let table = |used: u16, same: bool| {
            let mut table = "header\n".to_owned();
            for n in 0..used {
                let remote = if same { 0 } else { n };
                table.push_str(&format!(
                    "{n}: 0100007F:{:04X} 0100007F:{:04X} 06\n",
                    40_000 + n,
                    80 + remote
                ));
            }
            table
        };
        for (used, same, too_many, health) in [
            (8, true, false, Health::Healthy),
            (9, true, false, Health::Degraded),
            (10, false, false, Health::Healthy),
            (0, false, true, Health::Degraded),
        ] {
            let mut ports = Ports::new(range, 10);
            ports.too_many = too_many;
            ports.count(&table(used, same));
            let inputs = Inputs {
                ports: Some(ports),
                ..Inputs::default()
            };
            let (found, reason, _) = verdict(&inputs);
            assert_eq!(found, health, "{reason}");
        }
    }

    #[test]
    fn machines_without_either() {
        let context = test_context("network-limits", 1_000);
        let config = Config::parse("{}").unwrap();
        let (report, _) = judge(&context, &config, &Inputs::default(), &Memory::default());
        assert!(!report.supported);
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
