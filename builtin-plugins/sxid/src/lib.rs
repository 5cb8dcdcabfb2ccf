//! `accelerator-nvidia-error-sxid`: errors that the NVSwitch driver reports in the kernel log as `SXid`s.
//!
//! A line becomes an event as it comes ([`mod@line`], [`sxid`], [`row`]); the state is judged from the history of
//! events and reboots ([`timeline`](gpud_sdk::error_codes::timeline)), so it survives restarts without any latch
//! and clears with a reboot, a set-healthy, or by growing older than the window ([`config`]). `scan` looks at the
//! kernel log alone.
//!
//! The catalogue ([`catalog`]) is made from `catalog/sxid.json`.

pub mod catalog;
#[rustfmt::skip]
pub mod catalog_data;
pub mod config;
pub mod evaluate;
pub mod line;
pub mod row;
pub mod sxid;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, incidents, kmsg, log,
};

use crate::config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-error-sxid";
/// Name of its events, and of its state.
pub const EVENT_NAME: &str = "error_sxid";
/// Most events that `history` gives, and most messages that `kmsg` does.
const MAX_EVENTS: u32 = 10_000;
const MAX_MESSAGES: u32 = 4_096;

/// The checker.
pub struct SxidErrors;

fn read_config() -> Result<Config, Error> {
    config::read(&gpud_sdk::config::document()).map_err(Error::failed)
}

impl Checker for SxidErrors {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = read_config()?;
        let since = config.since(context.now);
        let events = history::own_events(since, MAX_EVENTS)?;
        let mut reboots = Ok(Vec::new());
        if !events.is_empty() {
            reboots = history::reboots(since)
                .map(|reboots| reboots.into_iter().map(|reboot| reboot.time).collect());
            if let Err(error) = incidents::remember_seen(&events) {
                log!(warn, "not marked as seen: {}", error.text());
            }
        }
        Ok(evaluate::check(
            &config,
            &events,
            reboots,
            incidents::seen_before,
            Driver::ask,
        ))
    }
}

impl KmsgWatcher for SxidErrors {
    fn patterns(_component: &str) -> Vec<String> {
        line::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        // The check reports a mistake in the configuration; no error may be lost for it.
        let config = read_config().or_else(|_| config::read("{}").map_err(Error::failed))?;
        evaluate::events(context, &config, &messages)
    }
}

impl Scanner for SxidErrors {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let read_back = || kmsg::read_back(&line::PATTERNS.map(str::to_owned), MAX_MESSAGES);
        evaluate::scan(context, &read_config()?, &Driver::ask(), read_back)
    }
}

fn descriptor() -> Descriptor {
    Descriptor::new(
        COMPONENT,
        "Errors that the NVSwitch driver reports in the kernel log (SXid)",
    )
    .tags(&["accelerator", "gpu", "nvidia", COMPONENT])
    .interval_seconds(30)
    .set_healthy_clears_events()
    .judged_by_kernel_log()
    .config_schema(&config::KIND.schema())
}

gpud_sdk::member!(COMPONENT => SxidErrors + kmsg_watcher + scanner: descriptor());
