//! `accelerator-nvidia-nvlink`: links between GPUs, the ways over them, and the driver's complaint about finding them.

pub mod config;
mod document;
pub mod evaluate;
pub mod kmsg;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod reading;

use gpud_builtin_nvidia_common::{Asking, Failure, SeenNow, asking, mig, tags};
use gpud_builtin_shared::driver::Driver;
use gpud_builtin_shared::patterns::policy;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, incidents,
};

use crate::config::Config;
use crate::evaluate::{CRC, ENABLED, RECOVERY, REPLAY, SUPPORTED};
use crate::reading::{Errors, Link, Reading};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-nvlink";
/// One for every five minutes in which the driver complains.
const MAX_EVENTS: u32 = 1_000;
/// Clocks of the kernel and of the wall differ a little.
const BEFORE_BOOT_MS: u64 = 1_000;

/// The checker.
pub struct Nvlink;

impl Checker for Nvlink {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let since = context.boot_time.saturating_sub(BEFORE_BOOT_MS);
        let events = || Ok(history::own_events(since, MAX_EVENTS)?);
        judge(context, "", events, || policy::boots(context, since))
    }
}

impl KmsgWatcher for Nvlink {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(events(context, &messages))
    }
}

impl Scanner for Nvlink {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (prefix, messages) = match incidents::read_log(&kmsg::PATTERNS) {
            Ok(Some(messages)) => ("scanned kmsg(s); ", messages),
            Ok(None) => ("", Vec::new()),
            Err(error) => {
                let closed = asking::closed(context, &Driver::ask());
                return Ok(closed.unwrap_or_else(|| evaluate::unread(context, &error)));
            }
        };
        let events = || Ok(incidents::as_stored(events(context, &messages)));
        judge(context, prefix, events, || {
            Ok(incidents::boots(context, []))
        })
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
    prefix: &str,
    events: impl FnOnce() -> Result<Vec<StoredEvent>, Error>,
    boots: impl FnOnce() -> Result<Vec<u64>, AccessError>,
) -> Result<Report, Error> {
    let driver = Driver::ask();
    if let Some(report) = asking::closed(context, &driver) {
        return Ok(report);
    }
    let document = gpud_sdk::config::document();
    let (config, policy) =
        policy::settings(&document, &patterns::CATALOG, Config::parse).map_err(Error::failed)?;
    let gpus = nvml::ask(&[Question::Nvlinks, Question::MigEnabled])?;
    let seen = SeenNow::of(driver, &gpus, read);
    let pairs = reading::pairs(&seen.gpus, |among| {
        let statuses = nvml::nvlink_p2p_among(among)
            .unwrap_or_default()
            .into_iter();
        statuses.map(Result::ok).collect()
    });
    let report = policy.judge(context, &events()?, boots, |events| {
        evaluate::evaluate(context, &config, &seen, &pairs, events, prefix)
    })?;
    Ok(mig::extend(context, report, &seen.gpus))
}

fn read(gpu: &Answers) -> Result<Reading, Failure> {
    let links = gpu.nvlinks().if_supported()?;
    let link = |link: nvml::Nvlink| Link {
        number: link.link,
        active: link.active,
        errors: link.errors.map_or_else(Errors::default, |errors| Errors {
            replay: errors.replay,
            recovery: errors.recovery,
            crc: errors.crc,
        }),
    };
    Ok(Reading {
        links: links.map(|links| links.into_iter().map(link).collect()),
        // A GPU that cannot say whether it is in MIG mode is not.
        mig: gpu.mig_enabled().unwrap_or(false),
    })
}

gpud_sdk::member!(COMPONENT => Nvlink + kmsg_watcher + scanner: Descriptor::new(COMPONENT, "NVLink between NVIDIA GPUs")
    .tags(&tags(COMPONENT))
    .set_healthy_clears_events()
    .config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG))
    .metric(SUPPORTED, "Whether it has NVLink (0 or 1), by GPU")
    .metric(ENABLED, "Whether all its NVLinks are up (0 or 1), by GPU")
    .metric(REPLAY, "Replays on its NVLinks since the driver was loaded, by GPU")
    .metric(RECOVERY, "Recoveries of its NVLinks since the driver was loaded, by GPU")
    .metric(CRC, "CRC errors of flow-control digits on its NVLinks since the driver was loaded, by GPU"));
