//! `accelerator-nvidia-remapped-rows`: rows of GPU memory that were replaced by spare ones, wait to be, or could not be.

pub mod changes;
pub mod evaluate;

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{
    ErrorContext, Failure, IfSupported, Questions, asking, product, saved_state, tags,
};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, history};

use crate::evaluate::{Banks, METRICS, Reading, Rows};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-remapped-rows";

/// The checker.
pub struct RemappedRows;

impl Checker for RemappedRows {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        // Those whose rows were remapped are few, and are asked for their banks one by one.
        let questions = Questions::of(&[]).then(&|gpu| match can_remap(gpu) {
            true => vec![Question::RemappedRows],
            false => Vec::new(),
        });
        asking::check(context, &questions, ask, |seen| {
            let mut report = evaluate::evaluate(context, seen);
            // A scan has no past to compare with.
            if history::available() {
                let before: changes::LastRows = saved_state::read()?;
                let (events, now) = changes::since(context, &before, &seen.gpus);
                report.events = events;
                saved_state::write(&before, &now);
            }
            Ok(report)
        })
    }
}

/// By its product. One without a name could not be opened, and says why when it is asked.
fn can_remap(gpu: &Answers) -> bool {
    gpu.name.is_empty() || product::memory_errors(&gpu.name).row_remapping
}

fn ask(gpu: &Answers) -> Result<Reading, Failure> {
    if !can_remap(gpu) {
        return Ok(Reading::NotOfThisProduct);
    }
    let rows = gpu
        .remapped_rows()
        .if_supported()
        .trying("failed to get device remapped rows")?;
    Ok(match rows {
        Some(rows) => Reading::Rows(Rows {
            correctable: rows.correctable,
            uncorrectable: rows.uncorrectable,
            pending: rows.pending,
            failed: rows.failed,
            // Where nothing was remapped, all spare rows are left.
            banks: match rows.correctable > 0 || rows.uncorrectable > 0 {
                true => banks(gpu)?,
                false => None,
            },
        }),
        // NVML's documentation: not supported while a GPU in MIG mode has instances.
        None => Reading::Unsupported {
            mig: gpu.mig_enabled().unwrap_or(false),
        },
    })
}

fn banks(gpu: &Answers) -> Result<Option<Banks>, AccessError> {
    let banks = if_readable(gpu.row_histogram())?;
    Ok(banks.map(|banks| Banks {
        max: banks.max,
        high: banks.high,
        partial: banks.partial,
        low: banks.low,
        none: banks.none,
    }))
}

gpud_sdk::member!(COMPONENT => RemappedRows: descriptor());

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(
        COMPONENT,
        "Rows of NVIDIA GPUs' memory that were remapped, or wait to be",
    )
    .tags(&tags(COMPONENT))
    // As GPUd, it is offered; the state goes on following the GPU.
    .set_healthy_marks();
    METRICS.iter().fold(descriptor, |descriptor, (name, help)| {
        descriptor.metric(name, help)
    })
}
