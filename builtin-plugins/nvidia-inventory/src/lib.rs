//! `accelerator-nvidia-inventory`: serial numbers, boards and firmware of NVIDIA GPUs, and where equal GPUs differ in
//! them.

pub mod evaluate;

use gpud_builtin_nvidia_common::{asking, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::findings;
use gpud_sdk::nvml::{self, Answers, MigDevice, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

use crate::evaluate::Machine;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-inventory";
/// What it says changes with a driver or a board.
const INTERVAL_SECONDS: u64 = 600;

/// The checker.
pub struct Inventory;

impl Checker for Inventory {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if let Some(report) = asking::closed(context, &Driver::ask()) {
            return Ok(report);
        }
        let mut gpus = nvml::ask(&[Question::Identity, Question::MigEnabled])?;
        if gpus.iter().any(is_divided) {
            nvml::ask_more(&mut gpus, &[Question::MigDevices])?;
        }
        let machine = Machine {
            driver_version: nvml::driver_version().ok(),
            cuda_version: nvml::cuda_version().ok(),
            gpus: gpus.iter().flat_map(Answers::identity).collect(),
            mig: gpus.iter().filter_map(parts).collect(),
        };
        findings::check(|before| Ok(evaluate::evaluate(context, &machine, before)))
    }
}

/// A GPU's UUID and MIG devices, if it has any and says so.
fn parts(gpu: &Answers) -> Option<(String, Vec<MigDevice>)> {
    let parts = is_divided(gpu).then(|| gpu.mig_devices().ok())??;
    (!parts.is_empty()).then(|| (gpu.uuid.clone(), parts))
}

fn is_divided(gpu: &Answers) -> bool {
    gpu.mig_enabled().unwrap_or(false)
}

gpud_sdk::member!(COMPONENT => Inventory: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(
        COMPONENT,
        "Serial numbers, boards and firmware of NVIDIA GPUs",
    )
    .tags(&tags(COMPONENT))
    .interval_seconds(INTERVAL_SECONDS)
}
