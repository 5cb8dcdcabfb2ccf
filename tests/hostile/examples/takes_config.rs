//! Takes a configuration of a declared form and shows it.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, config};

struct TakesConfig;

impl Checker for TakesConfig {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        Ok(Report::of(HealthState::healthy(
            context,
            config::document(),
        )))
    }
}

gpud_sdk::export!(TakesConfig: Descriptor::new("takes-config", "Shows its configuration").config_schema(
    r#"{"type": "object", "properties": {"warn": {"type": "number", "minimum": 0}}, "additionalProperties": false}"#
));
