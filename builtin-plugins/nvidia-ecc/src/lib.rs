//! `accelerator-nvidia-ecc`: is memory protection of each GPU on, and how many errors has it seen?

pub mod evaluate;
pub mod reading;
pub mod rising;
pub mod sram;
#[cfg(test)]
mod testing;
pub mod uncorrected;

use gpud_builtin_nvidia_common::{Questions, asking, saved_state, tags};
use gpud_sdk::nvml::Answers;
use gpud_sdk::settings::numbers;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, config, history};

use crate::evaluate::METRICS;
use crate::reading::Source;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-ecc";
/// Key of the threshold in the configuration.
pub const THRESHOLD_KEY: &str = "volatile_uncorrected_threshold";

const SCHEMA: &str = r#"{"type":"object","properties":{"volatile_uncorrected_threshold":{"type":"integer","minimum":0,"description":"Degraded from this many uncorrected errors of a GPU since its last reset on; 0: not judged"}}}"#;

/// The checker.
pub struct Ecc;

impl Checker for Ecc {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut threshold = 0;
        let number = (&mut threshold, THRESHOLD_KEY, 0);
        numbers::read(&config::document(), [number]).map_err(Error::failed)?;
        let further = |gpu: &Answers| reading::further(&gpu.mode());
        let questions = Questions::of(&reading::QUESTIONS).then(&further);
        asking::check(context, &questions, reading::ask, |seen| {
            let mut report = evaluate::evaluate(context, seen, threshold);
            // A scan has no past to compare with.
            if history::available() {
                let before: rising::Memory = saved_state::read()?;
                let (events, memory) = rising::since(context, &before, &seen.gpus);
                report.events = events;
                saved_state::write(&before, &memory);
            }
            Ok(report)
        })
    }
}

gpud_sdk::member!(COMPONENT => Ecc: descriptor());

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(COMPONENT, "ECC mode and ECC errors of NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .config_schema(SCHEMA);
    let metrics = METRICS.iter().chain(&sram::METRICS);
    metrics.fold(descriptor, |descriptor, (name, help)| {
        descriptor.metric(name, help)
    })
}
