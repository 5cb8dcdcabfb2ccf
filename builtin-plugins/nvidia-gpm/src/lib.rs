//! `accelerator-nvidia-gpm`: what the units of each GPU do (GPU performance monitoring, Hopper and later).

pub mod evaluate;

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Failure, GpuReadings, asking, mig, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, nvml};

use crate::evaluate::{METRICS, PERIOD_MS, Values};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-gpm";

/// The checker.
pub struct Gpm;

impl Checker for Gpm {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let driver = Driver::ask();
        if let Some(report) = asking::closed(context, &driver) {
            return Ok(report);
        }
        let ids: Vec<u32> = METRICS.iter().map(|(id, ..)| *id).collect();
        // One call for all, since a sample period passes.
        let readings = nvml::gpm_metrics_of_all(&ids, PERIOD_MS)?;
        let readings: BTreeMap<String, Result<Values, AccessError>> = readings
            .into_iter()
            .map(|reading| {
                let values = reading.metrics.map(|metrics| {
                    let pairs = metrics.into_iter();
                    pairs.map(|metric| (metric.id, metric.value)).collect()
                });
                (reading.uuid, values)
            })
            .collect();
        let seen = GpuReadings::of(driver, &nvml::ask(&[])?, |gpu| {
            // The list is as old as the readings, or else the GPU came or went in between.
            let answer = readings
                .get(&gpu.uuid)
                .cloned()
                .unwrap_or_else(|| Err(AccessError::NotFound(format!("GPM of {}", gpu.uuid))));
            evaluate::understand(answer).map_err(Failure::from)
        });
        let report = evaluate::evaluate(context, &seen);
        Ok(mig::extend(context, report, &seen.gpus))
    }
}

gpud_sdk::member!(COMPONENT => Gpm: descriptor());

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(COMPONENT, "What the units of NVIDIA GPUs do (GPM)");
    METRICS.iter().fold(
        descriptor.tags(&tags(COMPONENT)),
        |descriptor, (_, name, help)| descriptor.metric(name, help),
    )
}
