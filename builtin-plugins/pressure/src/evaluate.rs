//! The verdict.

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Report};

use crate::psi::{self, Line};

/// Gauge: share of the last five minutes.
pub const PERCENT: &str = "pressure_stalled_percent";
/// Gauge: since boot.
pub const TOTAL: &str = "pressure_stalled_seconds";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_memory_full_percent": {
      "description": "Share of five minutes in which all tasks may wait for memory; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 20
    },
    "max_io_full_percent": {
      "description": "Share of five minutes in which all tasks may wait for disks; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 0
    },
    "max_cpu_some_percent": {
      "description": "Share of five minutes in which some task may wait for a processor; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 0
    }
  }
}"#;

/// Shares from which the state is Degraded, percent; 0 for what is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    memory_full: u64,
    io_full: u64,
    cpu_some: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let share = |key, default| settings.number(key, default, 0..=100);
        Ok(Self {
            memory_full: share("max_memory_full_percent", 20),
            // A full copy of a disk and a busy machine are not ill.
            io_full: share("max_io_full_percent", 0),
            cpu_some: share("max_cpu_some_percent", 0),
        })
    }

    fn limit(&self, resource: &str, full: bool) -> u64 {
        match (resource, full) {
            ("memory", true) => self.memory_full,
            ("io", true) => self.io_full,
            ("cpu", false) => self.cpu_some,
            _ => 0,
        }
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it is about.
    pub resource: &'static str,
    /// What it says.
    pub lines: Vec<Line>,
}

/// From texts by resource. A kernel has all of the files or none: one alone that gives nothing was not read.
pub fn readings(texts: &[(&'static str, Option<String>)]) -> Vec<Reading> {
    if texts.iter().all(|(_, text)| text.is_none()) {
        return Vec::new();
    }
    let reading = |(resource, text): &(&'static str, Option<String>)| Reading {
        resource,
        lines: psi::parse(text.as_deref().unwrap_or_default()),
    };
    texts.iter().map(reading).collect()
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    readings: &[Reading],
    before: &Memory,
) -> (Report, Memory) {
    if readings.is_empty() {
        let reason = "the kernel keeps no pressure stall information (no CONFIG_PSI, or psi=0)";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let lines = || {
        readings
            .iter()
            .flat_map(|reading| reading.lines.iter().map(|line| (reading.resource, line)))
    };
    // What cannot be understood is not known to be within limits.
    let unread = readings
        .iter()
        .filter(|reading| reading.lines.is_empty())
        .map(|reading| {
            let path = psi::path(reading.resource);
            let text = format!("{path} cannot be read or understood");
            let key = format!("{} unread", reading.resource);
            Finding::degraded(key, "pressure_unreadable", text)
                .advice("See what the kernel has in it.")
                .from_file(path)
        });
    let found: Vec<Finding> = lines()
        .filter(|(resource, line)| {
            let limit = config.limit(resource, line.full);
            limit > 0 && line.percent >= gauge(limit)
        })
        .map(|(resource, line)| {
            let (who, percent) = (
                if line.full { "all tasks" } else { "some task" },
                line.percent,
            );
            let text = format!(
                "{who} waited for {} for {percent:.0} % of the last 5 min",
                words(resource)
            );
            Finding::degraded(format!("{resource} pressure"), event(resource), text)
                .advice(advice(resource))
                .from_file(psi::path(resource))
        })
        .chain(unread)
        .collect();
    let (mut report, after) = findings::judge(context, "no pressure beyond limits", &found, before);
    for (resource, line) in lines() {
        let labels = [
            ("resource", resource),
            ("kind", if line.full { "full" } else { "some" }),
        ];
        report = report
            .gauge_with(PERCENT, &labels, line.percent)
            .gauge_with(TOTAL, &labels, gauge(line.total) / 1e6);
    }
    (report, after)
}

fn words(resource: &str) -> &str {
    match resource {
        "io" => "disks",
        "cpu" => "processors",
        other => other,
    }
}

fn event(resource: &str) -> &'static str {
    match resource {
        "memory" => "memory_pressure",
        "io" => "io_pressure",
        _ => "cpu_pressure",
    }
}

fn advice(resource: &str) -> &'static str {
    match resource {
        "memory" => "The machine thrashes: run less at once, or give it more memory.",
        "io" => "Disks are the bottleneck: look for the processes that read and write most.",
        _ => "More runs than there are processors for.",
    }
}

#[cfg(test)]
mod tests;
