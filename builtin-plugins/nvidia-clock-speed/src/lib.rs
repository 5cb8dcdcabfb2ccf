//! `accelerator-nvidia-clock-speed`: how fast each GPU and its memory are clocked.

pub mod evaluate;

use gpud_builtin_nvidia_common::fields::{self, Fields};
use gpud_builtin_nvidia_common::{Asking, asking, tags};
use gpud_sdk::nvml::{self, Clock, Device};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::{GRAPHICS, HELD_BACK, HeldBack, MEMORY, Reading};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-clock-speed";

/// Counters that all drivers have where they have them: `NVML_FI_DEV_PERF_POLICY_…`.
const OLD_COUNTERS: [(u32, &str); 2] = [(74, "sw_power_cap"), (76, "sync_boost")];
/// Those behind [`Fields::slowdowns`], in their order.
const SLOWDOWNS: [&str; 3] = [
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
];

struct ClockSpeed;

/// How long what held a GPU's clocks back. One that does not count the first of a group does not count the others.
fn held_back(device: &Device, of: Fields) -> Result<HeldBack, AccessError> {
    let mut counted = HeldBack::new();
    let newer = of
        .slowdowns
        .into_iter()
        .flat_map(|first| (first..).zip(SLOWDOWNS));
    let groups: [Vec<(u32, &'static str)>; 2] = [OLD_COUNTERS.into(), newer.collect()];
    for group in groups {
        for (field, reason) in group {
            match fields::whole(device, field)? {
                Some(nanoseconds) => counted.insert(reason, nanoseconds),
                None => break,
            };
        }
    }
    Ok(counted)
}

impl Checker for ClockSpeed {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let of = Fields::of_driver(&nvml::driver_version().unwrap_or_default());
        let ask = |device: &Device| {
            Ok(Reading {
                graphics: device
                    .clock_mhz(Clock::Graphics)
                    .if_supported()
                    .trying("failed to get device clock info for nvml.CLOCK_GRAPHICS")?,
                memory: device
                    .clock_mhz(Clock::Memory)
                    .if_supported()
                    .trying("failed to get device clock info for nvml.CLOCK_MEM")?,
                held_back: held_back(device, of)?,
            })
        };
        asking::check(context, ask, |seen| Ok(evaluate::evaluate(context, seen)))
    }
}

gpud_sdk::export!(ClockSpeed: Descriptor::new(COMPONENT, "Clock speeds of NVIDIA GPUs and of their memory")
    .tags(&tags(COMPONENT))
    .metric(GRAPHICS, "Graphics clock, in MHz, by GPU")
    .metric(MEMORY, "Memory clock, in MHz, by GPU")
    .metric(HELD_BACK, "Time for which the clocks were held back since the driver was loaded, in seconds, by GPU and reason"));
