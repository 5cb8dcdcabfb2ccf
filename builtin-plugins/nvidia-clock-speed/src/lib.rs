//! `accelerator-nvidia-clock-speed`: how fast each GPU and its memory are clocked.

pub mod evaluate;
pub mod throttle_times;

use gpud_builtin_nvidia_common::fields::{self, Fields};
use gpud_builtin_nvidia_common::{ErrorContext, IfSupported, Questions, asking, tags};
use gpud_sdk::nvml::{self, Answers, Clock, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::{GRAPHICS, HELD_BACK, MEMORY, Reading};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-clock-speed";

/// The checker.
pub struct ClockSpeed;

impl Checker for ClockSpeed {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let of = Fields::of_driver(&nvml::driver_version().unwrap_or_default());
        let mut first = vec![
            Question::ClockMhz(Clock::Graphics),
            Question::ClockMhz(Clock::Memory),
        ];
        first.extend(fields::questions(throttle_times::first(of)));
        let further = |gpu: &Answers| {
            let counts = |field| matches!(fields::whole(gpu, field), Ok(Some(_)));
            fields::questions(throttle_times::further(of, counts))
        };
        let questions = Questions::of(&first).then(&further);
        let ask = |gpu: &Answers| {
            Ok(Reading {
                graphics: gpu
                    .clock_mhz(Clock::Graphics)
                    .if_supported()
                    .trying("failed to get device clock info for nvml.CLOCK_GRAPHICS")?,
                memory: gpu
                    .clock_mhz(Clock::Memory)
                    .if_supported()
                    .trying("failed to get device clock info for nvml.CLOCK_MEM")?,
                held_back: throttle_times::count(of, |field| fields::whole(gpu, field))?,
            })
        };
        asking::check(context, &questions, ask, |seen| {
            Ok(evaluate::evaluate(context, seen))
        })
    }
}

gpud_sdk::member!(COMPONENT => ClockSpeed: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Clock speeds of NVIDIA GPUs and of their memory")
        .tags(&tags(COMPONENT))
        .metric(GRAPHICS, "Graphics clock, in MHz, by GPU")
        .metric(MEMORY, "Memory clock, in MHz, by GPU")
        .metric(HELD_BACK, "Time for which the clocks were held back since the driver was loaded, in seconds, by GPU and reason")
}
