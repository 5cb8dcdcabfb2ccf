//! `accelerator-nvidia-hw-slowdown`: does hardware slow GPUs down, and how often lately?
//!
//! One look says little: a GPU that is slowed down now and then is well. What is remembered is in which minutes of the
//! last ten it was seen ([`minutes`]); the reasons are bits ([`reasons`]).

pub mod evaluate;
pub mod minutes;
pub mod reasons;

use gpud_builtin_nvidia_common::{ErrorContext, IfSupported, Questions, asking, saved_state, tags};
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, history};

use crate::evaluate::METRICS;
use crate::minutes::{Minutes, WINDOW_SECONDS};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-hw-slowdown";

/// The checker.
pub struct HwSlowdown;

impl Checker for HwSlowdown {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let questions = Questions::of(&[Question::ClockEventReasons]);
        let ask = |gpu: &Answers| {
            let reasons = gpu.clock_event_reasons().if_supported();
            reasons.trying("could not get current clock events")
        };
        asking::check(context, &questions, ask, |seen| {
            let before = match history::available() {
                true => Some(saved_state::read()?),
                false => None,
            };
            let past = match &before {
                Some(before) => Some(since_set_healthy(context, before)?),
                None => None,
            };
            let (report, now) = evaluate::evaluate(context, seen, past, nvml::driver_version);
            if let (Some(before), Some(now)) = (before, now) {
                saved_state::write(&before, &now);
            }
            Ok(report)
        })
    }
}

/// What is remembered, less what an operator has set healthy since.
fn since_set_healthy(context: &CheckContext, minutes: &Minutes) -> Result<Minutes, AccessError> {
    let since = context.now.saturating_sub(WINDOW_SECONDS * 1000);
    let marks = history::set_healthy_marks(since)?;
    Ok(minutes.later_than(marks.first().copied().unwrap_or(0)))
}

gpud_sdk::member!(COMPONENT => HwSlowdown: descriptor());

fn descriptor() -> Descriptor {
    let descriptor = Descriptor::new(COMPONENT, "Slowdown of NVIDIA GPUs by their hardware")
        .tags(&tags(COMPONENT))
        .set_healthy_clears_events();
    METRICS.iter().fold(descriptor, |descriptor, (name, help)| {
        descriptor.metric(name, help)
    })
}
