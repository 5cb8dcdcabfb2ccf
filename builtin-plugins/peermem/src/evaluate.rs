//! From what was read to what is reported. Everything here is a function of its arguments; questions to the machine that
//! are not always needed come as closures.

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::{AccessError, CheckContext, Error, HealthState, RepairAction, Report};
use serde::Serialize;

use crate::modules::{self, Modules};

/// Reason where the module cannot exist.
const NO_MODULES: &str = "this kernel has no loadable modules, so that there is no peermem module";

/// The document under `data`.
#[derive(Serialize)]
struct Data<'a> {
    peer_mem_module_output: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    raw: &'a str,
    ibcore_using_peermem_module: bool,
}

/// The state. Without a driver, only a stored event shows that there is something to watch.
///
/// # Errors
/// When it cannot be determined whether there were events, or the document cannot be written, which its types rule out.
pub fn check(
    context: &CheckContext,
    driver: &Driver,
    modules: impl FnOnce() -> Result<String, AccessError>,
    has_events: impl FnOnce() -> Result<bool, AccessError>,
) -> Result<Report, Error> {
    if let Some(failed) = driver.failed(context) {
        return Ok(Report::of(failed.action(RepairAction::RebootSystem, "")));
    }
    if let Some(reason) = driver.missing() {
        return Ok(Report {
            supported: has_events()?,
            ..Report::of(HealthState::healthy(context, reason))
        });
    }
    let state = match modules() {
        Ok(text) => judge(context, &modules::find(&text)).map_err(Error::failed)?,
        // `/proc/modules` exists only where `CONFIG_MODULES` is set (kernel: `kernel/module/Makefile`).
        Err(AccessError::NotFound(_)) => {
            return Ok(Report {
                supported: has_events()?,
                ..Report::of(HealthState::healthy(context, NO_MODULES))
            });
        }
        Err(error) => {
            let reason = format!(
                "unknown: the kernel modules cannot be read ({})",
                error.text()
            );
            HealthState::degraded(context, reason).error(error.text())
        }
    };
    Ok(Report::of(state))
}

fn judge(context: &CheckContext, modules: &Modules) -> Result<HealthState, serde_json::Error> {
    let reason = if modules.in_use {
        "ibcore successfully loaded peermem module"
    } else {
        "ibcore is not using peermem module"
    };
    let data = serde_json::to_string(&Data {
        peer_mem_module_output: Output {
            raw: &modules.raw,
            ibcore_using_peermem_module: modules.in_use,
        },
    })?;
    Ok(HealthState::healthy(context, reason).info("data", data))
}

#[cfg(test)]
mod tests;
