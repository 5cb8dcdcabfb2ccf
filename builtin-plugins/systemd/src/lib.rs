//! `systemd-units`: services that failed, that must run and do not, or that are started over and over.

pub mod config;
pub mod evaluate;
pub mod units;

use gpud_sdk::findings;
use gpud_sdk::program;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use config::{Config, SCHEMA};
use evaluate::{Inputs, Restarts};

/// There while systemd runs the machine (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";
const SECONDS: u32 = 15;
const RESTARTS: &str = "restarts";

/// The checker.
pub struct SystemdUnits;

impl Checker for SystemdUnits {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        match sysfs::stat(BOOTED) {
            Ok(_) => {}
            Err(AccessError::NotFound(_)) => {
                return Ok(findings::unsupported(
                    context,
                    "systemd does not run this machine",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        let list = [
            "list-units",
            "--state=failed",
            "--plain",
            "--no-legend",
            "--no-pager",
            "--full",
        ];
        let Some(failed) = program::run("systemctl", &list, SECONDS)? else {
            return Ok(findings::unsupported(context, "there is no systemctl here"));
        };
        if !failed.is_ok() {
            let reason = format!("systemctl cannot ask systemd: {}", failed.complaint);
            if units::is_absent(&failed.complaint) {
                return Ok(findings::unsupported(context, reason));
            }
            return Err(AccessError::Other(reason).into());
        }
        let watched = config.watched();
        let mut shown = String::new();
        if !watched.is_empty() {
            let mut arguments = vec![
                "show",
                "--property=Id,LoadState,ActiveState,SubState,Result,NRestarts",
                "--no-pager",
                "--",
            ];
            arguments.extend(watched.iter().map(String::as_str));
            let said = program::run("systemctl", &arguments, SECONDS)?.unwrap_or_default();
            if !said.is_ok() {
                let reason = format!("systemctl show: {}", said.complaint);
                return Err(AccessError::Other(reason).into());
            }
            shown = said.stdout;
        }
        let inputs = Inputs {
            failed: units::failed(&failed.stdout),
            watched: units::shown(&shown),
        };
        let saved = state::get_string(RESTARTS)?;
        let mut restarts = Restarts::restore(saved.as_deref(), &context.boot_id);
        let report = findings::check(|before| {
            Ok(evaluate::judge(
                context,
                &config,
                &inputs,
                &mut restarts,
                before,
            ))
        })?;
        state::set_changed(RESTARTS, saved.as_deref(), &restarts.save())?;
        Ok(report)
    }
}

gpud_sdk::member!("systemd-units" => SystemdUnits: Descriptor::new(
    "systemd-units",
    "Failed services, and services that must run",
)
.metric(evaluate::FAILED, "Units in the state failed")
.metric(evaluate::ACTIVE, "1 when the watched unit is active, by unit")
.metric(evaluate::RESTARTS, "Automatic restarts of the watched unit since it was loaded, by unit")
.config_schema(SCHEMA));
