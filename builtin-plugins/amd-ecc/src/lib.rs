//! `accelerator-amd-ecc`: errors that the blocks of AMD GPUs corrected or could not correct, and pages of their memory
//! that went bad (RAS).

pub mod config;
pub mod evaluate;
pub mod pages;

use gpud_builtin_amd_common::ras::Growth;
use gpud_builtin_amd_common::retained_state::RetainedState;
use gpud_builtin_amd_common::tree::Node;
use gpud_builtin_amd_common::{card, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-ecc";

/// The checker.
pub struct Ecc;

impl Checker for Ecc {
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

gpud_sdk::member!(COMPONENT => Ecc: Descriptor::new(COMPONENT, "Memory and other hardware errors of AMD GPUs (RAS)")
    .tags(&tags(COMPONENT))
    .metric(evaluate::UNCORRECTED, "Uncorrected errors of a GPU's block since the driver was loaded (number)")
    .metric(evaluate::CORRECTED, "Corrected errors of a GPU's block since the driver was loaded (number)")
    .metric(evaluate::DEFERRED, "Deferred errors of a GPU's block since the driver was loaded (number)")
    .metric(evaluate::BAD_PAGES, "Bad pages of a GPU's memory by state (number)")
    .config_schema(config::SCHEMA));
