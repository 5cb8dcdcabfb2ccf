//! From readings to a report.

use gpud_builtin_nvidia_common::text::{percent, percent_rounded, percent_text};
use gpud_builtin_nvidia_common::{Gpu, SeenNow, state, trouble, with_data};
use gpud_sdk::{CheckContext, Report};
use serde::Serialize;

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

/// Power smoothing: circuits that fill dips of the load, so that the supply sees less of its changes. Numbers are the
/// driver's (`NVML_FI_PWR_SMOOTHING_…`); TMP is total module power. `None` is what the GPU does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Smoothing {
    /// Is it on?
    pub enabled: bool,
    /// How much of it this machine may see and set; given out of band (Redfish).
    pub privilege_level: Option<u64>,
    /// Does power fall at once when it is switched off: 0 or 1.
    pub immediate_ramp_down_enabled: Option<u64>,
    /// In force.
    pub applied_tmp_ceiling: Option<u64>,
    /// In force.
    pub applied_tmp_floor: Option<u64>,
    /// Highest that can be set.
    pub max_tmp_floor_percent: Option<u64>,
    /// Lowest that can be set.
    pub min_tmp_floor_percent: Option<u64>,
    /// Of its circuits.
    pub lifetime_remaining_percent: Option<u64>,
    /// Which of the preset profiles is active.
    pub active_preset_profile: Option<u64>,
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
pub fn evaluate(context: &CheckContext, seen: &SeenNow<Reading>) -> Report {
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
            report = report.gauge_with(name, &labels, value);
        }
        let Some(smoothing) = reading.smoothing else {
            continue;
        };
        let enabled = f64::from(u8::from(smoothing.enabled));
        report = report.gauge_with(SMOOTHING, &labels, enabled);
        if let Some(percent) = smoothing.lifetime_remaining_percent {
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            let percent = percent as f64;
            report = report.gauge_with(SMOOTHING_LIFE, &labels, percent);
        }
    }
    report
}

#[cfg(test)]
mod tests;
