//! `accelerator-nvidia-temperature`: how warm each GPU and its memory are, and how far that is from their limits.

pub mod evaluate;
pub mod questions;

use gpud_builtin_nvidia_common::{Questions, asking, tags};
use gpud_sdk::nvml::Answers;
use gpud_sdk::settings::numbers;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, config};

use crate::evaluate::METRICS;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-temperature";
/// Key of the margin in the configuration.
pub const MARGIN_KEY: &str = "celsius_slowdown_margin";

const SCHEMA: &str = r#"{"type":"object","properties":{"celsius_slowdown_margin":{"type":"integer","description":"Degraded when this many degrees or fewer are left until slowdown; 0 or less: not judged"}}}"#;

/// The checker.
pub struct Temperature;

impl Checker for Temperature {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut margin = 0;
        numbers::read(&config::document(), [(&mut margin, MARGIN_KEY, 0)])
            .map_err(Error::failed)?;
        asking::check(
            context,
            &Questions::of(&questions::QUESTIONS),
            |gpu: &Answers| questions::ask(gpu),
            |seen| Ok(evaluate::evaluate(context, seen, margin)),
        )
    }
}

gpud_sdk::member!(COMPONENT => Temperature: descriptor());

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(COMPONENT, "Temperatures of NVIDIA GPUs and of their memory")
        .tags(&tags(COMPONENT))
        .config_schema(SCHEMA);
    METRICS.iter().fold(descriptor, |descriptor, (name, help)| {
        descriptor.metric(name, help)
    })
}
