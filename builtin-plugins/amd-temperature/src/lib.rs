//! `accelerator-amd-temperature`: temperatures of AMD GPUs (edge, junction, memory) against their own limits.

pub mod config;
pub mod evaluate;

use gpud_builtin_amd_common::{check, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-temperature";

/// The checker.
pub struct Temperature;

impl Checker for Temperature {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        check::check(context, &evaluate::FILES, |cards, before| {
            evaluate::evaluate(context, &config, cards, before)
        })
    }
}

gpud_sdk::member!(COMPONENT => Temperature: Descriptor::new(COMPONENT, "Temperatures of AMD GPUs")
    .tags(&tags(COMPONENT))
    .metric(evaluate::TEMPERATURE, "Temperature of a GPU by sensor (degrees Celsius)")
    .metric(evaluate::CRITICAL, "Temperature at which a GPU slows down, by sensor (degrees Celsius)")
    .config_schema(config::SCHEMA));
