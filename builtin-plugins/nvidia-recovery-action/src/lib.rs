//! `accelerator-nvidia-recovery-action`: what the driver wants done with each GPU before it is used again.
//!
//! The driver keeps one word for each GPU ([`action`]), which NVML gives, and writes every change into the kernel log as
//! Xid 154 ([`kmsg`]). NVML's is believed; the log's counts where NVML cannot be asked.

pub mod action;
pub mod evaluate;
pub mod kmsg;

use gpud_builtin_nvidia_common::{Asked, Asking, Failure, SeenNow, asking, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::nvml::{self, Device};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, incidents,
};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-recovery-action";
/// `NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`, driver 550 and later.
const FIELD: u32 = 230;
const MAX_EVENTS: u32 = 1_000;
/// Clocks of the kernel and of the wall differ a little.
const BEFORE_BOOT_MS: u64 = 1_000;

struct RecoveryAction;

impl Checker for RecoveryAction {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let since = context.boot_time.saturating_sub(BEFORE_BOOT_MS);
        judge(context, &history::own_events(since, MAX_EVENTS)?)
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
        judge(context, &incidents::as_stored(events(context, &messages)))
    }
}

fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let messages = messages.iter();
    messages
        .filter_map(|message| kmsg::event(context, message))
        .collect()
}

fn judge(context: &CheckContext, events: &[StoredEvent]) -> Result<Report, Error> {
    let driver = Driver::ask();
    if let Some(closed) = asking::closed(context, &driver) {
        return Ok(evaluate::without_nvml(context, closed, events));
    }
    let gpus = nvml::devices()?.into_iter().map(|device| Asked {
        gpu: device.identity().into(),
        answer: ask(&device),
    });
    let seen = SeenNow {
        gpus: gpus.collect(),
        product: driver.product.unwrap_or_default(),
    };
    Ok(evaluate::evaluate(context, &seen, events))
}

fn ask(device: &Device) -> Result<Option<u32>, Failure> {
    let value = device.field_value(FIELD, 0).if_supported()?;
    // It is a small whole number.
    Ok(value.map(|value| value as u32))
}

gpud_sdk::export!(RecoveryAction + kmsg_watcher + scanner: Descriptor::new(COMPONENT, "What the driver wants done with an NVIDIA GPU before it is used again")
    .tags(&tags(COMPONENT))
    .set_healthy_clears_events()
    .metric(evaluate::ACTION, "What is to be done (0 nothing, 1 reset, 2 reboot, 3 drain peer-to-peer traffic, 4 drain and reset), by GPU"));
