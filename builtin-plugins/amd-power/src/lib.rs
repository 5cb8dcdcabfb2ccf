//! `accelerator-amd-power`: what AMD GPUs draw, and how much they may.

pub mod config;
pub mod evaluate;

use gpud_builtin_amd_common::{check, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-power";

/// The checker.
pub struct Power;

impl Checker for Power {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        check::check(context, &evaluate::FILES, |cards, before| {
            evaluate::evaluate(context, &config, cards, before)
        })
    }
}

gpud_sdk::member!(COMPONENT => Power: Descriptor::new(COMPONENT, "Power of AMD GPUs and its limit")
    .tags(&tags(COMPONENT))
    .metric(evaluate::USAGE, "Power that a GPU draws (watts)")
    .metric(evaluate::CAP, "Power that a GPU may draw (watts)")
    .metric(evaluate::USED, "Power that a GPU draws, of what it may (percent)")
    .config_schema(config::SCHEMA));
