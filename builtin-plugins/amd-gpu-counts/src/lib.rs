//! `accelerator-amd-gpu-counts`: whether there are as many AMD GPUs as the operator expects, and the driver has all of them.

pub mod bus;
pub mod config;
pub mod evaluate;

use gpud_builtin_amd_common::retained_state::RetainedState;
use gpud_builtin_amd_common::tags;
use gpud_builtin_amd_common::tree::Node;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::bus::Bus;
use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-gpu-counts";

/// The checker.
pub struct GpuCounts;

impl Checker for GpuCounts {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let bus = Bus::read(&Node)?;
        let before = RetainedState::load(&context.boot_id)?;
        let (report, after) = evaluate::evaluate(context, &config, &bus, &before);
        after.keep(&before, &context.boot_id)?;
        Ok(report)
    }
}

gpud_sdk::member!(COMPONENT => GpuCounts: Descriptor::new(COMPONENT, "Whether all AMD GPUs are there")
    .tags(&tags(COMPONENT))
    .metric(evaluate::FOUND, "AMD GPUs on the PCI bus that the amdgpu driver has (number)")
    .metric(evaluate::ON_BUS, "AMD GPUs on the PCI bus (number)")
    .config_schema(config::SCHEMA));
