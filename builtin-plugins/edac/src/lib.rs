//! `memory-edac`: errors of the machine's memory that the kernel's EDAC drivers report, by DIMM: lines of the kernel log
//! as they come ([`mod@line`]), and the counters of sysfs at each check ([`counters`]).
//!
//! `scan` looks at the log and the counters as they are now.

pub mod counters;
pub mod evaluate;
pub mod line;
pub mod memory;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_sdk::findings;
use gpud_sdk::incidents::{as_stored, boots, read_log, remember_seen, seen_before};
use gpud_sdk::policy::{self, Policy};
use gpud_sdk::settings::error_limits;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, log, state, sysfs,
};

use crate::counters::Dimm;
use crate::memory::Memory;

/// The part that a machine lacks where the component does not apply.
const MISSING: &str = "no memory controller that counts errors (EDAC), and no memory error so far";
/// Most events that `history` gives.
const MAX_EVENTS: u32 = 10_000;
/// A label is at most 32 bytes, a location some 40.
const MAX_FILE_BYTES: u32 = 4_096;
/// Four files of each DIMM; the largest machines have 128 DIMMs.
const MAX_FILES: u32 = 4_096;
/// The key of the stored counters of the last check.
const COUNTERS: &str = "counters";

/// The checker.
pub struct MemoryEdac;

/// Limits of errors of one DIMM; after 1 earlier boot with uncorrected ones an inspection is asked for.
pub type Config = error_limits::Limits<1>;

fn config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::read)
}

/// The counters; none on a machine without EDAC.
fn read_counters() -> Result<Vec<Dimm>, AccessError> {
    let mut files = Vec::new();
    for pattern in [counters::CONTROLLER_FILES, counters::DIMM_FILES] {
        match sysfs::read_glob(pattern, MAX_FILE_BYTES, MAX_FILES) {
            Ok(found) => files.extend(found),
            Err(AccessError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let readable = files.iter().filter_map(|file| {
        let content = file.content.as_ref().ok()?;
        Some((file.path.as_str(), content.as_slice()))
    });
    Ok(counters::read(readable))
}

impl Checker for MemoryEdac {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        let since = config.since(context.now);
        let events = history::own_events(since, MAX_EVENTS)?;
        remember_seen(&events)?;
        let dimms = read_counters()?;
        let saved = if dimms.is_empty() {
            None
        } else {
            state::get_string(COUNTERS)?
        };
        let before = Memory::restore(saved.as_deref(), &context.boot_id);
        let mut kept = None;
        let report = policy.judge(
            context,
            &events,
            || policy::boots(context, since),
            |events| {
                let ruled = |name: &str| policy.names(name);
                let (report, after) = evaluate::judge(
                    context,
                    &config,
                    ruled,
                    events,
                    &dimms,
                    before.as_ref(),
                    seen_before,
                );
                // What is new is what all events do not tell.
                kept.get_or_insert(after);
                report
            },
        )?;
        if let Some(after) =
            kept.filter(|after| !dimms.is_empty() && before.as_ref() != Some(after))
        {
            let text = after.save().map_err(Error::failed)?;
            // More DIMMs than fit: their rates are not known then, their totals are.
            if let Err(error) = state::set(COUNTERS, text.as_bytes()) {
                log!(warn, "counters are not kept: {}", error.text());
            }
        }
        Ok(findings::or_missing(report, MISSING))
    }
}

impl KmsgWatcher for MemoryEdac {
    fn patterns(_component: &str) -> Vec<String> {
        line::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(line::events(context, &messages))
    }
}

impl Scanner for MemoryEdac {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        // The counters say the most of it.
        let messages = read_log(&line::PATTERNS)?.unwrap_or_default();
        let events = as_stored(line::events(context, &messages));
        let dimms = read_counters()?;
        let judge = |events: &[_]| {
            let ruled = |name: &str| policy.names(name);
            evaluate::judge(context, &config, ruled, events, &dimms, None, || false).0
        };
        let report = policy.judge(context, &events, || Ok(boots(context, [])), judge)?;
        Ok(findings::or_missing(report, MISSING))
    }
}

fn descriptor() -> Descriptor {
    Descriptor::new(
        "memory-edac",
        "Corrected and uncorrected memory errors by DIMM (EDAC), from the kernel log and its counters",
    )
    .tags(&["hardware", "memory-edac"])
    .set_healthy_clears_events()
    .metric(
        evaluate::CORRECTED_METRIC,
        "Corrected memory errors of a DIMM since its driver was loaded (number)",
    )
    .metric(
        evaluate::UNCORRECTED_METRIC,
        "Uncorrected memory errors of a DIMM since its driver was loaded (number)",
    )
    .config_schema(&policy::schema(&Config::schema(), &patterns::CATALOG))
}

gpud_sdk::member!("memory-edac" => MemoryEdac + kmsg_watcher + scanner: descriptor());
