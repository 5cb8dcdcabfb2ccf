//! `pressure`: time that tasks wait for processors, memory and disks (pressure stall information, PSI).
//!
//! Source: `Documentation/accounting/psi.rst`; Linux 4.20 and later with `CONFIG_PSI` and not `psi=0`.

pub mod evaluate;
pub mod psi;

use gpud_sdk::files;
use gpud_sdk::findings;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use evaluate::{Config, PERCENT, SCHEMA, TOTAL};

/// The checker.
pub struct Pressure;

impl Checker for Pressure {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut texts = Vec::new();
        for resource in psi::RESOURCES {
            let text = files::read_optional(&psi::path(resource), files::SHORT)?;
            texts.push((resource, text));
        }
        let readings = evaluate::readings(&texts);
        findings::check(|before| Ok(evaluate::judge(context, &config, &readings, before)))
    }
}

gpud_sdk::member!("pressure" => Pressure: Descriptor::new(
    "pressure",
    "Time that tasks wait for processors, memory and disks",
)
.metric(
    PERCENT,
    "Share of the last five minutes in which some or all (full) tasks waited, by resource (percent)",
)
.metric(TOTAL, "Time since boot in which some or all (full) tasks waited, by resource (seconds)")
.config_schema(SCHEMA));
