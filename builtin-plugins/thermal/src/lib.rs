//! `cpu-thermal`: processors that run slower because they are hot, and machines that shut themselves down for heat.
//!
//! Two sources: kernel lines as they come ([`lines`]), and the kernel's counters of throttled time ([`counters`]), which
//! say how much it costs. [`evaluate`] puts them together.

pub mod config;
pub mod counters;
pub mod evaluate;
pub mod lines;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, incidents, state, sysfs,
};

use config::Config;
use counters::{Level, Sample};

/// Name of the component.
pub const COMPONENT: &str = "cpu-thermal";
/// The key of the stored last sample.
const SAMPLE: &str = "sample";
/// Processors that Linux supports on x86 (`CONFIG_NR_CPUS`).
const MAX_CPUS: u32 = 8_192;
/// One number.
const MAX_COUNTER_BYTES: u32 = 64;
const MAX_EVENTS: u32 = 1_000;

/// The checker.
pub struct CpuThermal;

impl Checker for CpuThermal {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = read_config()?;
        let since = context.now.saturating_sub(evaluate::LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        let boots = incidents::boots(context, reboots.iter().map(|reboot| reboot.time));
        let sample = sample(context)?;
        let before = match sample {
            Some(_) => state::get_string(SAMPLE)?.and_then(|text| Sample::restore(&text)),
            None => None,
        };
        if let Some(kept) = sample.as_ref().and_then(Sample::save) {
            state::set(SAMPLE, kept.as_bytes())?;
        }
        let readings = evaluate::Readings { sample, before };
        Ok(evaluate::judge(
            context, &config, &policy, &events, &boots, &readings,
        ))
    }
}

impl KmsgWatcher for CpuThermal {
    fn patterns(_component: &str) -> Vec<String> {
        lines::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(evaluate::events(context, &messages))
    }
}

impl Scanner for CpuThermal {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (config, policy) = read_config()?;
        let messages = incidents::read_log(&lines::PATTERNS)?.unwrap_or_default();
        let events = incidents::as_stored(evaluate::events(context, &messages));
        let readings = evaluate::Readings {
            sample: sample(context)?,
            before: None,
        };
        let boots = incidents::boots(context, []);
        Ok(evaluate::judge(
            context, &config, &policy, &events, &boots, &readings,
        ))
    }
}

/// The counters of all processors; nothing where there are none (virtual machines, AMD, Arm, Linux before 5.6).
fn sample(context: &CheckContext) -> Result<Option<Sample>, AccessError> {
    if !incidents::are_of_this_machine(context) {
        return Ok(None);
    }
    let core = times(Level::Core)?;
    if core.is_empty() {
        return Ok(None);
    }
    Ok(Some(Sample::new(context, core, times(Level::Package)?)))
}

fn times(level: Level) -> Result<Vec<(u32, u64)>, AccessError> {
    let files = match sysfs::read_glob(level.files(), MAX_COUNTER_BYTES, MAX_CPUS) {
        Err(AccessError::NotFound(_)) => Vec::new(),
        files => files?,
    };
    let read = files.iter().filter_map(|file| {
        let content = file.content.as_ref().ok()?;
        counters::read(&file.path, content)
    });
    Ok(read.collect())
}

fn read_config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::parse)
}

gpud_sdk::member!(COMPONENT => CpuThermal + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Processors throttled for heat, and shutdowns at critical temperature",
)
.set_healthy_clears_events()
.metric(
    evaluate::PERCENT,
    "Share of the time since the last check in which the most throttled processor ran slower for heat, by level (percent)",
)
.metric(
    evaluate::TOTAL,
    "Time that the most throttled processor ran slower for heat since boot, by level (milliseconds)",
)
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
