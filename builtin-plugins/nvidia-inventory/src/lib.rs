//! `accelerator-nvidia-inventory`: serial numbers, boards and firmware of NVIDIA GPUs, and where equal GPUs differ in
//! them.

pub mod evaluate;

use gpud_builtin_nvidia_common::{asking, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_builtin_shared::findings::Memory;
use gpud_sdk::nvml::{self, Device, MigDevice};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::Machine;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-inventory";
/// What it says changes with a driver or a board.
const INTERVAL_SECONDS: u64 = 600;

struct Inventory;

impl Checker for Inventory {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if let Some(report) = asking::closed(context, &Driver::ask()) {
            return Ok(report);
        }
        let devices = nvml::devices()?;
        let machine = Machine {
            driver_version: nvml::driver_version().ok(),
            cuda_version: nvml::cuda_version().ok(),
            gpus: devices.iter().map(Device::identity).collect(),
            mig: devices.iter().filter_map(parts).collect(),
        };
        let before = Memory::load()?;
        let (report, after) = evaluate::evaluate(context, &machine, &before);
        after.keep(&before)?;
        Ok(report)
    }
}

/// A GPU's UUID and MIG devices, if it has any and says so.
fn parts(device: &Device) -> Option<(String, Vec<MigDevice>)> {
    let is_divided = device.mig_enabled().unwrap_or(false);
    let parts = is_divided.then(|| device.mig_devices().ok())??;
    (!parts.is_empty()).then(|| (device.identity().uuid, parts))
}

gpud_sdk::export!(Inventory: Descriptor::new(
    COMPONENT,
    "Serial numbers, boards and firmware of NVIDIA GPUs",
)
.tags(&tags(COMPONENT))
.interval_seconds(INTERVAL_SECONDS));
