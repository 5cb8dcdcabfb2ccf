//! `accelerator-nvidia-power`: what each GPU draws, and what it may.

pub mod evaluate;
pub mod smoothing;

use gpud_builtin_nvidia_common::fields::{self, Fields};
use gpud_builtin_nvidia_common::{Questions, asking, tags};
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::{ENFORCED, Reading, SMOOTHING, SMOOTHING_LIFE, USAGE, USED_PERCENT};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-power";

/// The checker.
pub struct Power;

impl Checker for Power {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let of = Fields::of_driver(&nvml::driver_version().unwrap_or_default());
        let mut first = vec![Question::Power];
        first.extend(fields::questions(of.smoothing));
        let further = |gpu: &Answers| {
            let has = |field| matches!(fields::whole(gpu, field), Ok(Some(_)));
            fields::questions(smoothing::further(of, has))
        };
        let questions = Questions::of(&first).then(&further);
        let ask = |gpu: &Answers| {
            let power = gpu.power()?;
            Ok(Reading {
                usage: power.usage,
                enforced_limit: power.enforced_limit,
                management_limit: power.management_limit,
                smoothing: smoothing::read(of, |field| fields::whole(gpu, field))?,
            })
        };
        asking::check(context, &questions, ask, |seen| {
            Ok(evaluate::evaluate(context, seen))
        })
    }
}

gpud_sdk::member!(COMPONENT => Power: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Power that NVIDIA GPUs draw")
        .tags(&tags(COMPONENT))
        .metric(USAGE, "Power drawn now, in milliwatts, by GPU")
        .metric(ENFORCED, "Power limit in force, in milliwatts, by GPU")
        .metric(USED_PERCENT, "Power drawn, in percent of the limit, by GPU")
        .metric(SMOOTHING, "1 when power smoothing is on, by GPU")
        .metric(
            SMOOTHING_LIFE,
            "What is left of the life of the circuits of power smoothing, in percent, by GPU",
        )
}
