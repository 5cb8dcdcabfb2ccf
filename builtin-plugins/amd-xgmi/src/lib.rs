//! `accelerator-amd-xgmi`: the links between AMD GPUs (XGMI), their errors, and which GPUs they connect.

pub mod config;
pub mod evaluate;

use gpud_builtin_amd_common::ras::Growth;
use gpud_builtin_amd_common::retained_state::RetainedState;
use gpud_builtin_amd_common::tree::Node;
use gpud_builtin_amd_common::{card, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-xgmi";

/// The checker.
pub struct Xgmi;

impl Checker for Xgmi {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let cards = card::all(&Node, &evaluate::FILES)?;
        let before = RetainedState::load(&context.boot_id)?;
        let growth = Growth::load(&context.boot_id)?;
        let (report, after, grown) = evaluate::evaluate(context, &config, &cards, &before, &growth);
        after.keep(&before, &context.boot_id)?;
        grown.keep(&growth, &context.boot_id)?;
        Ok(report)
    }
}

gpud_sdk::member!(COMPONENT => Xgmi: Descriptor::new(COMPONENT, "Links between AMD GPUs (XGMI)")
    .tags(&tags(COMPONENT))
    .metric(evaluate::UNCORRECTED, "Uncorrected errors of a GPU's XGMI links since the driver was loaded (number)")
    .metric(evaluate::CORRECTED, "Corrected errors of a GPU's XGMI links since the driver was loaded (number)")
    .metric(evaluate::HIVE_SIZE, "GPUs of this machine that a GPU is joined with, itself included (number)")
    .config_schema(config::SCHEMA));
