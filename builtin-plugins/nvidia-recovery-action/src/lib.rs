//! `accelerator-nvidia-recovery-action`: what the driver wants done with each GPU before it is used again.
//!
//! The driver keeps one word for each GPU ([`action`]), which NVML gives, and writes every change into the kernel log as
//! Xid 154 ([`kmsg`]). NVML's is believed; the log's counts where NVML cannot be asked.

pub mod action;
pub mod evaluate;
pub mod kmsg;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_builtin_nvidia_common::{Failure, GpuReadings, IfSupported, asking, mig, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::policy;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, incidents,
};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-recovery-action";
/// `NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`, driver 550 and later.
const FIELD: u32 = 230;
const MAX_EVENTS: u32 = 1_000;
/// Clocks of the kernel and of the wall differ a little.
const BEFORE_BOOT_MS: u64 = 1_000;

/// The checker.
pub struct RecoveryAction;

impl Checker for RecoveryAction {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let since = context.boot_time.saturating_sub(BEFORE_BOOT_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        judge(context, &events, || policy::boots(context, since))
    }
}

impl KmsgWatcher for RecoveryAction {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(events(context, &messages))
    }
}

impl Scanner for RecoveryAction {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let messages = incidents::read_log(&kmsg::PATTERNS)?.unwrap_or_default();
        let events = incidents::as_stored(events(context, &messages));
        judge(context, &events, || Ok(incidents::boots(context, [])))
    }
}

/// The events that messages of the kernel log stand for.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let messages = messages.iter();
    messages
        .filter_map(|message| kmsg::event(context, message))
        .collect()
}

fn judge(
    context: &CheckContext,
    events: &[StoredEvent],
    boots: impl FnOnce() -> Result<Vec<u64>, AccessError>,
) -> Result<Report, Error> {
    let policy = policy::configured_alone(&patterns::CATALOG)?;
    let driver = Driver::ask();
    if let Some(closed) = asking::closed(context, &driver) {
        let judge = |events: &[_]| evaluate::without_nvml(context, closed.clone(), events);
        return Ok(policy.judge(context, events, boots, judge)?);
    }
    let gpus = nvml::ask(&[Question::FieldValue((FIELD, 0))])?;
    let seen = GpuReadings::of(driver, &gpus, ask);
    let judge = |events: &[_]| evaluate::evaluate(context, &seen, events);
    let report = policy.judge(context, events, boots, judge)?;
    Ok(mig::extend(context, report, &seen.gpus))
}

fn ask(gpu: &Answers) -> Result<Option<u32>, Failure> {
    let value = gpu.field_value(FIELD, 0).if_supported()?;
    // It is a small whole number.
    Ok(value.map(|value| value as u32))
}

gpud_sdk::member!(COMPONENT => RecoveryAction + kmsg_watcher + scanner: Descriptor::new(COMPONENT, "What the driver wants done with an NVIDIA GPU before it is used again")
    .tags(&tags(COMPONENT))
    .set_healthy_clears_events()
    .metric(evaluate::ACTION, "What is to be done (0 nothing, 1 reset, 2 reboot, 3 drain peer-to-peer traffic, 4 drain and reset, 5 recover the IMEX domain, 6 reset the PCIe bus, 7 reboot the whole system), by GPU")
    .config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
