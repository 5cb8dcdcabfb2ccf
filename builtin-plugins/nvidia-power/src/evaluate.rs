//! From readings to a report.

use gpud_builtin_nvidia_common::text::{percent, percent_rounded, percent_text};
use gpud_builtin_nvidia_common::{Gpu, GpuReadings, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

use crate::smoothing::Smoothing;

/// Milliwatts.
pub const USAGE: &str = "accelerator_nvidia_power_current_usage_milli_watts";
/// Milliwatts.
pub const ENFORCED: &str = "accelerator_nvidia_power_enforced_limit_milli_watts";
/// Percent of the enforced limit.
pub const USED_PERCENT: &str = "accelerator_nvidia_power_used_percent";
/// 0 or 1.
pub const SMOOTHING: &str = "accelerator_nvidia_power_smoothing_enabled";
/// Percent.
pub const SMOOTHING_LIFE: &str = "accelerator_nvidia_power_smoothing_lifetime_remaining_percent";

/// Milliwatts of a GPU; `None` where it cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Drawn now.
    pub usage: Option<u32>,
    /// Limit in force.
    pub enforced_limit: Option<u32>,
    /// Limit set by management.
    pub management_limit: Option<u32>,
    /// Its power smoothing; `None` where it has none, or does not tell this machine.
    pub smoothing: Option<Smoothing>,
}

impl Reading {
    /// Of the limit in force, or of the one set by management where that is 0.
    fn percent(&self) -> Option<f64> {
        let limit = [self.enforced_limit, self.management_limit]
            .into_iter()
            .flatten()
            .find(|limit| *limit > 0)?;
        percent(self.usage.unwrap_or(0).into(), limit.into())
    }
}

#[derive(Serialize)]
struct Document<'a> {
    powers: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    usage_milli_watts: u32,
    enforced_limit_milli_watts: u32,
    management_limit_milli_watts: u32,
    used_percent: String,
    get_power_usage_supported: bool,
    get_power_limit_supported: bool,
    get_power_management_limit_supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    power_smoothing: Option<Smoothing>,
}

fn row<'a>((gpu, reading): (&'a Gpu, &Reading)) -> Row<'a> {
    Row {
        uuid: &gpu.uuid,
        bus_id: &gpu.bus_id,
        usage_milli_watts: reading.usage.unwrap_or(0),
        enforced_limit_milli_watts: reading.enforced_limit.unwrap_or(0),
        management_limit_milli_watts: reading.management_limit.unwrap_or(0),
        used_percent: percent_text(reading.percent()),
        get_power_usage_supported: reading.usage.is_some(),
        get_power_limit_supported: reading.enforced_limit.is_some(),
        get_power_management_limit_supported: reading.management_limit.is_some(),
        power_smoothing: reading.smoothing,
    }
}

/// The report. No amount of power is wrong by itself.
pub fn evaluate(context: &CheckContext, seen: &GpuReadings<Reading>) -> Report {
    let healthy = format!(
        "all {} GPU(s) were checked, no power issue found",
        seen.gpus.len()
    );
    let findings = trouble::findings(&seen.gpus, "error getting power");
    let mut state = state(context, healthy, findings);
    let powers: Vec<_> = seen.answered().map(row).collect();
    if !powers.is_empty() {
        state = with_data(state, &Document { powers });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        for (name, value) in [
            (USAGE, reading.usage.unwrap_or(0).into()),
            (ENFORCED, reading.enforced_limit.unwrap_or(0).into()),
            (USED_PERCENT, percent_rounded(reading.percent())),
        ] {
            report.add_gauge(name, &labels, value);
        }
        let Some(smoothing) = reading.smoothing else {
            continue;
        };
        let enabled = f64::from(u8::from(smoothing.enabled));
        report.add_gauge(SMOOTHING, &labels, enabled);
        if let Some(percent) = smoothing.lifetime_remaining_percent {
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            let percent = percent as f64;
            report.add_gauge(SMOOTHING_LIFE, &labels, percent);
        }
    }
    report
}

#[cfg(test)]
mod tests;
