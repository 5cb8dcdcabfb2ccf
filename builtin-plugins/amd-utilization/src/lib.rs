//! `accelerator-amd-utilization`: how busy AMD GPUs are, and how full their memory is.

pub mod evaluate;

use gpud_builtin_amd_common::{check, tags};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-utilization";

/// The checker.
pub struct Utilization;

impl Checker for Utilization {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        check::check(context, &evaluate::FILES, |cards, before| {
            evaluate::evaluate(context, cards, before)
        })
    }
}

gpud_sdk::member!(COMPONENT => Utilization: Descriptor::new(COMPONENT, "Utilization and memory of AMD GPUs")
    .tags(&tags(COMPONENT))
    .metric(evaluate::BUSY, "Time in which a GPU worked (percent)")
    .metric(evaluate::MEMORY_BUSY, "Time in which a GPU's memory was read or written (percent)")
    .metric(evaluate::VRAM_TOTAL, "Memory of a GPU (bytes)")
    .metric(evaluate::VRAM_USED, "Memory of a GPU in use (bytes)")
    .metric(evaluate::VRAM_USED_PERCENT, "Memory of a GPU in use (percent)")
    .metric(evaluate::GTT_TOTAL, "System memory that a GPU may use (bytes)")
    .metric(evaluate::GTT_USED, "System memory that a GPU uses (bytes)"));
