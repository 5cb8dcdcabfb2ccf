//! `accelerator-nvidia-persistence-mode`: is the driver kept loaded while nobody uses a GPU?

pub mod evaluate;

use std::collections::BTreeSet;

use gpud_builtin_nvidia_common::{ErrorContext, IfSupported, Questions, asking, saved_state, tags};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, log};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-persistence-mode";

/// The checker.
pub struct PersistenceMode;

impl Checker for PersistenceMode {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let questions = Questions::of(&[Question::PersistenceMode]);
        let ask = |gpu: &Answers| {
            let mode = gpu.persistence_mode().if_supported();
            mode.trying("failed to get device persistence mode")
        };
        asking::check(context, &questions, ask, |seen| {
            // Without it the worst is an event too many, which is counted as a repeat.
            let before: BTreeSet<String> = saved_state::read().unwrap_or_else(|error| {
                log!(warn, "what was off before is not known: {}", error.text());
                BTreeSet::new()
            });
            let (report, now) = evaluate::evaluate(context, seen, &before);
            saved_state::write(&before, &now);
            Ok(report)
        })
    }
}

gpud_sdk::member!(COMPONENT => PersistenceMode: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Persistence mode of NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .interval_seconds(30)
}
