//! `accelerator-nvidia-error-xid`: errors that the NVIDIA driver reports in the kernel log as `Xid`s.
//!
//! A line becomes an event as it comes ([`mod@line`], [`xid`], [`row`]); the state is judged from the history of events
//! and reboots ([`timeline`](gpud_sdk::error_codes::timeline)), so it survives restarts without any latch and
//! clears with a reboot, a set-healthy, or by growing older than the window ([`config`]). `scan` looks at the kernel
//! log alone.
//!
//! The catalogue ([`catalog`]) is made from `catalog/xid.json`.

mod batch;
pub mod board;
pub mod catalog;
#[rustfmt::skip]
pub mod catalog_data;
pub mod config;
pub mod counting;
pub mod evaluate;
pub mod facts;
pub mod gpu;
pub mod line;
pub mod names;
pub mod recovery;
pub mod related;
pub mod row;
pub mod xid;

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, incidents, kmsg, log, nvml, state, sysfs,
};

use crate::board::Board;
use crate::config::Config;
use crate::gpu::Gpu;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-error-xid";
/// Name of its events, and of its state.
pub const EVENT_NAME: &str = "error_xid";
/// Most events that `history` gives, and most messages that `kmsg` does.
const MAX_EVENTS: u32 = 10_000;
const MAX_MESSAGES: u32 = 4_096;
/// Key of the mark up to which errors are counted.
const COUNTED: &str = "counted";
/// Key of the names of GPUs that the kernel log had.
const NAMES: &str = "gpu_names";
/// Key of what a saved log said of chips and slots.
const BOARD: &str = "board";
/// Where the system names the slots of the chassis, each with the address of what is in it.
const SLOTS: &str = "/sys/bus/pci/slots";
/// Most slots that are looked at.
const MAX_SLOTS: u32 = 128;

/// How many of these lines are Xids: all the work of decoding, and none of storing. What the host's benchmark compares
/// with the same work done in the sandbox.
pub fn match_lines(lines: &[&str]) -> usize {
    lines
        .iter()
        .filter(|line| xid::decode(line).is_some())
        .count()
}

/// The checker.
pub struct XidErrors;

fn read_config() -> Result<Config, Error> {
    config::read(&gpud_sdk::config::document()).map_err(Error::failed)
}

impl Checker for XidErrors {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = read_config()?;
        let since = config.since(context.now);
        let events = history::own_events(since, MAX_EVENTS)?;
        if events.is_empty() {
            return Ok(evaluate::check(
                &config,
                &events,
                Ok(Vec::new()),
                seen_before,
                Driver::ask,
                gpus,
            ));
        }
        let reboots = history::reboots(since)
            .map(|reboots| reboots.into_iter().map(|reboot| reboot.time).collect());
        let mut report = evaluate::check(&config, &events, reboots, seen_before, Driver::ask, gpus);
        match count(&events) {
            Ok(metrics) => report.metrics = metrics,
            Err(error) => log!(warn, "errors are not counted: {}", error.text()),
        }
        Ok(report)
    }
}

/// The mark of counting is there as soon as there was an Xid to count, and stays.
fn seen_before() -> bool {
    matches!(state::get(COUNTED), Ok(Some(_)))
}

/// Counts what is new. Without the mark kept there are no samples, or they would be counted again.
fn count(events: &[history::StoredEvent]) -> Result<Vec<gpud_sdk::Metric>, AccessError> {
    let mark = state::get_string(COUNTED)?;
    let (metrics, mark) = counting::count(events, mark.as_deref());
    if let Some(mark) = mark {
        state::set(COUNTED, mark.as_bytes())?;
    }
    Ok(metrics)
}

impl KmsgWatcher for XidErrors {
    fn patterns(_component: &str) -> Vec<String> {
        patterns()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let mut named = Vec::new();
        if names::add(&mut named, texts(&messages)) {
            named = names::read(&stored(NAMES));
            names::add(&mut named, texts(&messages));
            if let Err(error) = state::set(NAMES, names::write(&named).as_bytes()) {
                log!(warn, "names of GPUs are not stored: {}", error.text());
            }
        }
        // The check reports a mistake in the configuration; no error may be lost for it.
        let config = read_config().or_else(|_| config::read("{}").map_err(Error::failed))?;
        let mut board = Board::default();
        if config.is_saved_log() {
            board = Board::read(&stored(BOARD));
            if board.add(texts(&messages)) {
                state::set(BOARD, board.write().as_bytes())?;
            }
        }
        // NVML knows better, where it answers.
        let gpus = || {
            let known = if named.is_empty() {
                names::read(&stored(NAMES))
            } else {
                named
            };
            let mut gpus = gpus();
            gpus.extend(known);
            board.describe(&mut gpus);
            if incidents::are_of_this_machine(context) {
                add_slots(&mut gpus);
            }
            gpus
        };
        let product = || nvml::product_name().ok();
        evaluate::events(context, &config, &messages, product, gpus)
    }
}

/// The lines that a driver, or another part of the kernel, wrote.
fn texts(messages: &[Message]) -> impl Iterator<Item = &str> {
    let of_drivers = messages
        .iter()
        .filter(|message| incidents::is_driver_line(message));
    of_drivers.map(|message| message.text.as_str())
}

/// Returns what the kernel log said so far; empty if it said nothing.
fn stored(key: &str) -> String {
    state::get_string(key).ok().flatten().unwrap_or_default()
}

/// Adds the slots that the system names to GPUs. Not every machine names any.
fn add_slots(gpus: &mut Vec<Gpu>) {
    for slot in sysfs::list_directory(SLOTS, MAX_SLOTS).unwrap_or_default() {
        let address = format!("{SLOTS}/{}/address", slot.name);
        if let Ok(address) = sysfs::read_to_string(&address, 64) {
            board::add_slot(gpus, &slot.name, address.trim());
        }
    }
}

fn patterns() -> Vec<String> {
    let mut all: Vec<&str> = line::PATTERNS.to_vec();
    all.extend(names::PATTERNS);
    if read_config().is_ok_and(|config| config.is_saved_log()) {
        all.extend(board::PATTERNS);
    }
    all.into_iter().map(str::to_owned).collect()
}

impl Scanner for XidErrors {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let read_back = || kmsg::read_back(&patterns(), MAX_MESSAGES);
        evaluate::scan(context, &read_config()?, &Driver::ask(), read_back, gpus)
    }
}

/// The GPUs that NVML names; none when it does not answer.
fn gpus() -> Vec<Gpu> {
    let gpus = nvml::ask(&[]).unwrap_or_default().into_iter();
    gpus.enumerate()
        .map(|(index, gpu)| Gpu {
            uuid: gpu.uuid,
            bus_id: gpu.bus_id,
            serial: gpu.serial,
            index: Some(index),
            ..Gpu::default()
        })
        .collect()
}

fn descriptor() -> Descriptor {
    Descriptor::new(
        COMPONENT,
        "Errors that the NVIDIA driver reports in the kernel log (Xid)",
    )
    .tags(&["accelerator", "gpu", "nvidia", COMPONENT])
    .interval_seconds(30)
    .set_healthy_clears_events()
    .judged_by_kernel_log()
    .metric(
        counting::METRIC,
        "Xid errors stored, by GPU and code (number)",
    )
    .config_schema(&config::KIND.schema())
}

gpud_sdk::member!(COMPONENT => XidErrors + kmsg_watcher + scanner: descriptor());
