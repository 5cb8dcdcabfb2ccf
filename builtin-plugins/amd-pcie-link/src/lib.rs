//! `accelerator-amd-pcie-link`: does each AMD GPU's link have the lanes and the speed that GPU and slot can do?

pub mod config;
pub mod evaluate;
pub mod link;

use gpud_builtin_amd_common::retained_state::RetainedState;
use gpud_builtin_amd_common::tree::Node;
use gpud_builtin_amd_common::{card, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-pcie-link";

/// The checker.
pub struct PcieLink;

impl Checker for PcieLink {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let cards = card::all(&Node, &evaluate::FILES)?;
        let links = link::all(&Node, &cards)?;
        let before = RetainedState::load(&context.boot_id)?;
        let (report, after) = evaluate::evaluate(context, &config, &cards, &links, &before);
        after.keep(&before, &context.boot_id)?;
        Ok(report)
    }
}

gpud_sdk::member!(COMPONENT => PcieLink: Descriptor::new(COMPONENT, "PCIe links of AMD GPUs")
    .tags(&tags(COMPONENT))
    .metric(evaluate::GENERATION, "PCIe generation of a GPU's link now (number)")
    .metric(evaluate::WIDTH, "Lanes of a GPU's link now (number)")
    .metric(evaluate::MAX_GENERATION, "PCIe generation that GPU and slot can do (number)")
    .metric(evaluate::MAX_WIDTH, "Lanes that GPU and slot can do (number)")
    .config_schema(config::SCHEMA));
