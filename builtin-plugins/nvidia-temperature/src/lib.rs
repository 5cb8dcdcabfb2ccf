//! `accelerator-nvidia-temperature`: how warm each GPU and its memory are, and how far that is from their limits.

pub mod evaluate;

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{Failure, asking, tags};
use gpud_builtin_shared::numbers;
use gpud_sdk::nvml::{Device, TemperatureSensor, TemperatureThreshold};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, config};

use crate::evaluate::{METRICS, Reading};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-temperature";
/// Key of the margin in the configuration.
pub const MARGIN_KEY: &str = "celsius_slowdown_margin";

const SCHEMA: &str = r#"{"type":"object","properties":{"celsius_slowdown_margin":{"type":"integer","description":"Degraded when this many degrees or fewer are left until slowdown; 0 or less: not judged"}}}"#;

struct Temperature;

impl Checker for Temperature {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut margin = 0;
        numbers::read(&config::document(), [(&mut margin, MARGIN_KEY, 0)])
            .map_err(Error::failed)?;
        asking::check(context, ask, |seen| {
            Ok(evaluate::evaluate(context, seen, margin))
        })
    }
}

fn ask(device: &Device) -> Result<Reading, Failure> {
    let core = device.temperature(TemperatureSensor::Core);
    let core_error = match &core {
        Err(AccessError::NotSupported(_)) | Ok(_) => None,
        Err(error) => Some(error.text()),
    };
    let core = if_readable(core)?;
    let threshold = |which| if_readable(device.temperature_threshold(which));
    Ok(Reading {
        core,
        core_error,
        memory: if_readable(device.temperature(TemperatureSensor::Memory))?,
        margin: if_readable(device.temperature_margin())?,
        shutdown: threshold(TemperatureThreshold::Shutdown)?,
        slowdown: threshold(TemperatureThreshold::Slowdown)?,
        memory_max: threshold(TemperatureThreshold::MemoryMax)?,
        gpu_max: threshold(TemperatureThreshold::GpuMax)?,
    })
}

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(COMPONENT, "Temperatures of NVIDIA GPUs and of their memory")
        .tags(&tags(COMPONENT))
        .config_schema(SCHEMA);
    METRICS.iter().fold(descriptor, |descriptor, (name, help)| {
        descriptor.metric(name, help)
    })
}

gpud_sdk::export!(Temperature: descriptor());
