//! `accelerator-nvidia-gsp-firmware-mode`: does the GPU's system processor (GSP) run the driver's firmware?

pub mod config;
pub mod evaluate;

use gpud_builtin_nvidia_common::{asking, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::findings;
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-gsp-firmware-mode";
/// What it says changes when the driver is loaded.
const INTERVAL_SECONDS: u64 = 600;

/// The checker.
pub struct GspFirmwareMode;

impl Checker for GspFirmwareMode {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if let Some(report) = asking::closed(context, &Driver::ask()) {
            return Ok(report);
        }
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let gpus = nvml::ask(&[Question::Identity])?;
        let gpus: Vec<_> = gpus.iter().flat_map(Answers::identity).collect();
        findings::check(|before| Ok(evaluate::evaluate(context, config, &gpus, before)))
    }
}

gpud_sdk::member!(COMPONENT => GspFirmwareMode: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "GSP firmware of NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .interval_seconds(INTERVAL_SECONDS)
        .metric(
            evaluate::ENABLED,
            "Whether a GPU's GSP runs firmware (1 or 0)",
        )
        .config_schema(config::SCHEMA)
}
