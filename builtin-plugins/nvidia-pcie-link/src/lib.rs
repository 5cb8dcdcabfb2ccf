//! `accelerator-nvidia-pcie-link`: does each GPU's PCIe link have the width and speed that GPU and slot can do?

pub mod config;
pub mod evaluate;
pub mod memory;

use gpud_builtin_nvidia_common::{Failure, IfSupported, Questions, asking, saved_state, tags};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;
use crate::evaluate::{GENERATION, MAX_GENERATION, MAX_WIDTH, Reading, WIDTH};
use crate::memory::Memory;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-pcie-link";

/// The checker.
pub struct PcieLink;

fn ask(gpu: &Answers) -> Result<Option<Reading>, Failure> {
    let Some(link) = gpu.pcie_link().if_supported()? else {
        return Ok(None);
    };
    // Not known in MIG mode; then the speed is not judged.
    let utilization = gpu.utilization().if_supported()?;
    Ok(Some(Reading {
        generation: link.generation,
        width: link.width,
        max_generation: link.max_generation,
        max_width: link.max_width,
        busy_percent: utilization.map(|used| used.gpu),
    }))
}

impl Checker for PcieLink {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let questions = Questions::of(&[Question::PcieLink, Question::Utilization]);
        asking::check(context, &questions, ask, |seen| {
            // In a scan nothing is remembered.
            let before: Memory = saved_state::read().unwrap_or_default();
            let (report, now) = evaluate::evaluate(context, &config, seen, &before);
            saved_state::write(&before, &now);
            Ok(report)
        })
    }
}

gpud_sdk::member!(COMPONENT => PcieLink: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "PCIe links of NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .config_schema(config::SCHEMA)
        .metric(GENERATION, "PCIe generation now, by GPU")
        .metric(WIDTH, "PCIe lanes now, by GPU")
        .metric(
            MAX_GENERATION,
            "Highest PCIe generation that GPU and slot can do, by GPU",
        )
        .metric(
            MAX_WIDTH,
            "Most PCIe lanes that GPU and slot can do, by GPU",
        )
}
