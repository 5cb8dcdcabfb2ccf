//! `machine-check`: hardware errors that processors, their memory controllers and the firmware report: machine checks
//! (MCE), storms of corrected ones (CMCI), records of the firmware (APEI: GHES and BERT), and what the kernel did with
//! pages that lost data. Thermal events are not among them (component `cpu-thermal`), nor are memory errors that an EDAC
//! driver decodes (component `memory-edac`).
//!
//! Lines become events as they come ([`mod@line`], [`firmware`], [`row`]); the state is judged from the stored events
//! ([`evaluate`]). `scan` looks at the kernel log alone.

pub mod evaluate;
pub mod firmware;
pub mod line;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod row;

use gpud_sdk::findings;
use gpud_sdk::incidents::{as_stored, boots, read_log, remember_seen, seen_before};
use gpud_sdk::policy::{self, Policy};
use gpud_sdk::settings::error_limits;
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, state, sysfs,
};

/// The part that a machine lacks where the component does not apply.
const MISSING: &str = "no processor that reports machine checks, and none so far";
/// Most events that `history` gives.
const MAX_EVENTS: u32 = 10_000;
/// The key of the stored firmware record that is not complete yet.
const RECORD: &str = "record";
/// A machine with machine-check registers, or with firmware that reports errors, has one of these.
const SOURCES: [&str; 2] = [
    "/sys/devices/system/machinecheck",
    "/sys/firmware/acpi/tables/HEST",
];

/// The checker.
pub struct MachineCheck;

/// Limits of errors and storms of one place; after 2 earlier boots with uncorrected ones an inspection is asked for.
pub type Config = error_limits::Limits<2>;

fn config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::read)
}

fn hardware() -> bool {
    SOURCES.iter().any(|path| sysfs::stat(path).is_ok()) || seen_before()
}

impl Checker for MachineCheck {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        let since = config.since(context.now);
        let events = history::own_events(since, MAX_EVENTS)?;
        remember_seen(&events)?;
        let judge = |events: &[_]| evaluate::check(context, &config, events, hardware);
        let report = policy.judge(context, &events, || policy::boots(context, since), judge)?;
        Ok(findings::or_missing(report, MISSING))
    }
}

impl KmsgWatcher for MachineCheck {
    fn patterns(_component: &str) -> Vec<String> {
        line::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let mut trouble = None;
        let mut before = None;
        let (events, after) = row::events(context, &messages, || {
            match state::get_string(RECORD) {
                Ok(saved) => before.clone_from(&saved),
                Err(error) => trouble = Some(error),
            }
            before.clone()
        });
        if let Some(error) = trouble {
            return Err(error.into());
        }
        if let Some(after) = after.filter(|after| before.as_ref() != Some(after)) {
            state::set(RECORD, after.as_bytes())?;
        }
        Ok(events)
    }
}

impl Scanner for MachineCheck {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = config()?;
        // Without the log there is no evidence of a fault.
        let messages = read_log(&line::PATTERNS)?.unwrap_or_default();
        let (events, _) = row::events(context, &messages, || None);
        let events = as_stored(events);
        let judge = |events: &[_]| evaluate::check(context, &config, events, hardware);
        let report = policy.judge(context, &events, || Ok(boots(context, [])), judge)?;
        Ok(findings::or_missing(report, MISSING))
    }
}

fn descriptor() -> Descriptor {
    Descriptor::new(
        "machine-check",
        "Hardware errors of processors and firmware in the kernel log (MCE, CMCI storms, APEI)",
    )
    .tags(&["hardware", "machine-check"])
    .set_healthy_clears_events()
    .judged_by_kernel_log()
    .metric(
        evaluate::METRIC,
        "Hardware errors stored within the look-back, by severity (number)",
    )
    .config_schema(&policy::schema(&Config::schema(), &patterns::CATALOG))
}

gpud_sdk::member!("machine-check" => MachineCheck + kmsg_watcher + scanner: descriptor());
