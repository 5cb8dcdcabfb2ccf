//! The decision: pure functions of what was read.

use gpud_sdk::{CheckContext, HealthState, RepairAction, Report};
use serde::Deserialize;

/// What an operator can configure, as JSON schema. gpud refuses what does not fit.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": { "min_available_percent": { "type": "integer", "minimum": 0, "maximum": 100 } },
  "additionalProperties": false
}"#;

/// The configuration.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Less available memory than this is too little, percent of all memory.
    pub min_available_percent: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { min_available_percent: 5 }
    }
}

/// The memory of a machine, KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it; not 0.
    pub total: u64,
    /// What programs can still get; at most the total.
    pub available: u64,
}

impl Memory {
    /// Reads `/proc/meminfo`; `None` where it does not say.
    pub fn read(text: &str) -> Option<Self> {
        let value = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        let (total, available) = (value("MemTotal:")?, value("MemAvailable:")?);
        (total > 0 && available <= total).then_some(Self { total, available })
    }
}

/// The verdict.
pub fn report(context: &CheckContext, config: &Config, memory: Option<Memory>) -> Report {
    let Some(Memory { total, available }) = memory else {
        let reason = "/proc/meminfo does not say how much memory is available";
        return Report::of(HealthState::degraded(context, reason));
    };
    let percent = u128::from(available) * 100 / u128::from(total);
    let limit = config.min_available_percent;
    let state = if percent < u128::from(limit) {
        let reason = format!("{percent} % of memory is available, less than {limit} %");
        HealthState::degraded(context, reason)
            .action(RepairAction::CheckUserAppAndGpu, "end or limit what uses the memory")
    } else {
        HealthState::healthy(context, format!("{percent} % of memory is available"))
    };
    Report::of(state).gauge("available_memory_bytes", available as f64 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::{Health, Trigger};

    const MEMINFO: &str = "MemTotal:        1000 kB\nMemFree:           5 kB\nMemAvailable:     610 kB\n";

    fn judged(memory: Option<Memory>) -> Report {
        let context = CheckContext {
            component: "{{name}}".into(),
            now: 0,
            trigger: Trigger::Scheduled,
            boot_id: String::new(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        report(&context, &Config::default(), memory)
    }

    #[test]
    fn too_little_memory_is_degraded() {
        for (available, health, reason) in [
            (610, Health::Healthy, "61 % of memory is available"),
            (290, Health::Healthy, "29 % of memory is available"),
            (50, Health::Healthy, "5 % of memory is available"),
            (49, Health::Degraded, "4 % of memory is available, less than 5 %"),
        ] {
            let report = judged(Some(Memory { total: 1000, available }));
            assert_eq!((&report.states[0].health, report.states[0].reason.as_str()), (&health, reason));
            assert_eq!(report.metrics.len(), 1);
        }
        let unknown = judged(None);
        assert_eq!((&unknown.states[0].health, unknown.metrics.len()), (&Health::Degraded, 0));
    }

    #[test]
    fn the_file_is_read_or_not_believed() {
        assert_eq!(Memory::read(MEMINFO), Some(Memory { total: 1000, available: 610 }));
        for wrong in [
            "",
            "MemTotal: 9 kB\n",
            "MemTotal: 0 kB\nMemAvailable: 0 kB\n",
            "MemTotal: 1 kB\nMemAvailable: 2 kB\n",
        ] {
            assert_eq!(Memory::read(wrong), None, "{wrong:?}");
        }
    }
}
