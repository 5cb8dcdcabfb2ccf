//! `accelerator-nvidia-gpu-counts`: are as many GPUs there as the operator says there should be?

pub mod bus;
pub mod config;
pub mod evaluate;

use gpud_builtin_nvidia_common::{Failure, SeenNow, asking, mig, remembered, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::nvml::{self, Question};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, history, sysfs};

use crate::config::Config;
use crate::evaluate::{LOOK_BACK_MS, Past};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-gpu-counts";
/// Its own events are few: one for each change.
const MAX_EVENTS: u32 = 1_000;
/// As many devices as `pci` looks at.
const MAX_DEVICES: u32 = 4_096;
const MAX_UEVENT_BYTES: u32 = 4_096;

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
        let seen = SeenNow::of(driver, &gpus, |gpu| gpu.presence().map_err(Failure::from));
        let on_bus = gpus_on_bus();
        if !history::available() {
            let (report, _) = evaluate::evaluate(context, &config, &seen, &on_bus, None);
            return Ok(mig::extend(context, report, &seen.gpus));
        }
        let known = remembered::read()?;
        let since = context.now.saturating_sub(LOOK_BACK_MS);
        let past = Past {
            mismatches: history::own_events(since, MAX_EVENTS)?,
            reboots: history::reboots(since)?
                .into_iter()
                .map(|reboot| reboot.time)
                .collect(),
            known,
        };
        let (report, now) = evaluate::evaluate(context, &config, &seen, &on_bus, Some(&past));
        remembered::write(&past.known, &now);
        Ok(mig::extend(context, report, &seen.gpus))
    }
}

/// PCI ids of NVIDIA GPUs on the bus.
fn gpus_on_bus() -> Result<Vec<String>, AccessError> {
    let files = sysfs::read_glob(bus::FILES, MAX_UEVENT_BYTES, MAX_DEVICES)?;
    let gpus = files.iter().filter_map(|file| {
        let text = String::from_utf8_lossy(file.content.as_ref().ok()?);
        bus::gpu(&text).map(str::to_owned)
    });
    Ok(gpus.collect())
}

/// What it says of itself.
pub fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Whether all NVIDIA GPUs are there")
        .tags(&tags(COMPONENT))
        .set_healthy_clears_events()
        .config_schema(config::SCHEMA)
}
