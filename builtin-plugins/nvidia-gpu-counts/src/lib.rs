//! `accelerator-nvidia-gpu-counts`: whether there are as many GPUs as the operator expects.

pub mod config;
pub mod evaluate;

use gpud_builtin_nvidia_common::bus::{self, CONTROLLER_3D, VGA_CONTROLLER};
use gpud_builtin_nvidia_common::{Failure, GpuReadings, asking, mig, saved_state, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::nvml::{self, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, history};

use crate::config::Config;
use crate::evaluate::{LOOK_BACK_MS, MismatchHistory};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-gpu-counts";
/// Its own events are few: one for each change.
const MAX_EVENTS: u32 = 1_000;

/// The checker.
pub struct GpuCounts;

impl Checker for GpuCounts {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let driver = Driver::ask();
        if let Some(report) = asking::closed(context, &driver) {
            return Ok(report);
        }
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let gpus = nvml::ask(&[Question::Presence])?;
        let seen = GpuReadings::of(driver, &gpus, |gpu| gpu.presence().map_err(Failure::from));
        let on_bus = bus::devices(&[CONTROLLER_3D, VGA_CONTROLLER]);
        let on_bus = on_bus.map(|gpus| gpus.into_iter().map(|gpu| gpu.id).collect());
        if !history::available() {
            let (report, _) = evaluate::evaluate(context, &config, &seen, &on_bus, None);
            return Ok(mig::extend(context, report, &seen.gpus));
        }
        let known = saved_state::read()?;
        let since = context.now.saturating_sub(LOOK_BACK_MS);
        let mismatches = history::own_events(since, MAX_EVENTS)?;
        let reboots = match mismatches.is_empty() {
            true => Vec::new(),
            false => history::reboots(since)?,
        };
        let past = MismatchHistory {
            mismatches,
            reboots: reboots.into_iter().map(|reboot| reboot.time).collect(),
            known,
        };
        let (report, now) = evaluate::evaluate(context, &config, &seen, &on_bus, Some(&past));
        saved_state::write(&past.known, &now);
        Ok(mig::extend(context, report, &seen.gpus))
    }
}

gpud_sdk::member!(COMPONENT => GpuCounts: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Whether all NVIDIA GPUs are there")
        .tags(&tags(COMPONENT))
        .set_healthy_clears_events()
        .config_schema(config::SCHEMA)
}
