//! `accelerator-nvidia-power`: what each GPU draws, and what it may.

pub mod evaluate;

use gpud_builtin_nvidia_common::fields::{self, Fields};
use gpud_builtin_nvidia_common::{asking, tags};
use gpud_sdk::nvml::{self, Device};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::{
    ENFORCED, Reading, SMOOTHING, SMOOTHING_LIFE, Smoothing, USAGE, USED_PERCENT,
};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-power";

struct Power;

/// A GPU's power smoothing. Their order is NVML's: after the first come privilege level, immediate ramp-down, ceiling and
/// floor in force, highest and lowest floor, and the life of the circuits; the active profile is the fourteenth.
fn smoothing(device: &Device, of: Fields) -> Result<Option<Smoothing>, AccessError> {
    let Some(first) = of.smoothing else {
        return Ok(None);
    };
    let Some(enabled) = fields::whole(device, first)? else {
        return Ok(None);
    };
    let field = |offset: u32| fields::whole(device, first + offset);
    Ok(Some(Smoothing {
        enabled: enabled != 0,
        privilege_level: field(1)?,
        immediate_ramp_down_enabled: field(2)?,
        applied_tmp_ceiling: field(3)?,
        applied_tmp_floor: field(4)?,
        max_tmp_floor_percent: field(5)?,
        min_tmp_floor_percent: field(6)?,
        lifetime_remaining_percent: field(7)?,
        active_preset_profile: field(13)?,
    }))
}

impl Checker for Power {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let of = Fields::of_driver(&nvml::driver_version().unwrap_or_default());
        let ask = |device: &Device| {
            let power = device.power()?;
            Ok(Reading {
                usage: power.usage,
                enforced_limit: power.enforced_limit,
                management_limit: power.management_limit,
                smoothing: smoothing(device, of)?,
            })
        };
        asking::check(context, ask, |seen| Ok(evaluate::evaluate(context, seen)))
    }
}

gpud_sdk::export!(Power: Descriptor::new(COMPONENT, "Power that NVIDIA GPUs draw")
    .tags(&tags(COMPONENT))
    .metric(USAGE, "Power drawn now, in milliwatts, by GPU")
    .metric(ENFORCED, "Power limit in force, in milliwatts, by GPU")
    .metric(USED_PERCENT, "Power drawn, in percent of the limit, by GPU")
    .metric(SMOOTHING, "1 when power smoothing is on, by GPU")
    .metric(SMOOTHING_LIFE, "What is left of the life of the circuits of power smoothing, in percent, by GPU"));
