//! `accelerator-nvidia-utilization`: how busy each GPU is.

pub mod evaluate;

use gpud_builtin_nvidia_common::{IfSupported, Questions, asking, tags};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::{GPU, MEMORY, Reading};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-utilization";

/// The checker.
pub struct Utilization;

impl Checker for Utilization {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let questions = Questions::of(&[Question::Utilization]);
        let ask = |gpu: &Answers| {
            let used = gpu.utilization().if_supported()?;
            Ok(used.map(|used| Reading {
                gpu: used.gpu,
                memory: used.memory,
            }))
        };
        asking::check(context, &questions, ask, |seen| {
            Ok(evaluate::evaluate(context, seen))
        })
    }
}

gpud_sdk::member!(COMPONENT => Utilization: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "How busy NVIDIA GPUs are")
        .tags(&tags(COMPONENT))
        .metric(
            GPU,
            "Time in which a kernel was running, in percent, by GPU",
        )
        .metric(
            MEMORY,
            "Time in which memory was read or written, in percent, by GPU",
        )
}
