//! `kernel-stalls`: processors, work queues and tasks that the kernel finds stuck, and failures of its own code (oopses).
//!
//! Every line becomes an event as it comes ([`lines`]); the state is judged from the recent ones ([`evaluate`]). Hung
//! tasks one by one are the `cpu` check's; here they count by name, and only a name that comes back is news
//! ([`blocked`]). The several lines of one oops are one event ([`oops`]).

pub mod blocked;
pub mod config;
pub mod evaluate;
pub mod lines;
pub mod oops;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;

use gpud_sdk::history::StoredEvent;
use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, HealthState, KmsgWatcher, Message, Report,
    Scanner, Trigger, history, incidents, state, sysfs,
};

use blocked::Blocked;
use config::Config;
use oops::Oops;

/// Name of the component.
pub const COMPONENT: &str = "kernel-stalls";
/// The file with the kernel's clock source.
const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Key of the tasks counted so far.
const BLOCKED: &str = "blocked";
/// Key of the oops seen last.
const OOPS: &str = "oops";
const MAX_EVENTS: u32 = 1_000;

/// The checker.
pub struct KernelStalls;

impl Checker for KernelStalls {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = read_config()?;
        if context.trigger == Trigger::SetHealthy {
            state::delete(BLOCKED)?;
        }
        let since = context.now.saturating_sub(evaluate::LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        Ok(judge(
            context,
            &config,
            &policy,
            &events,
            reboots.iter().map(|reboot| reboot.time),
        ))
    }
}

impl KmsgWatcher for KernelStalls {
    fn patterns(_component: &str) -> Vec<String> {
        lines::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let (config, _) = read_config()?;
        let before = if messages.iter().any(lines::is_hung_task) {
            state::get_string(BLOCKED)?
        } else {
            None
        };
        let mut blocked = Blocked::restore(before.as_deref(), &context.boot_id);
        let before = if messages.iter().any(lines::is_oops) {
            state::get_string(OOPS)?
        } else {
            None
        };
        let mut oops = Oops::restore(before.as_deref(), &context.boot_id);
        let events = evaluate::events(context, &config, &messages, &mut blocked, &mut oops);
        if let Some(after) = blocked.changed() {
            state::set(BLOCKED, after.as_bytes())?;
        }
        if let Some(after) = oops.changed() {
            state::set(OOPS, after.as_bytes())?;
        }
        Ok(events)
    }
}

impl Scanner for KernelStalls {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (config, policy) = read_config()?;
        let Some(messages) = incidents::read_log(&lines::PATTERNS)? else {
            let reason = "the kernel log cannot be read";
            return Ok(Report::of(HealthState::healthy(context, reason)));
        };
        let mut blocked = Blocked::restore(None, &context.boot_id);
        let mut oops = Oops::restore(None, &context.boot_id);
        let events = evaluate::events(context, &config, &messages, &mut blocked, &mut oops);
        let events = incidents::as_stored(events);
        Ok(judge(context, &config, &policy, &events, []))
    }
}

fn judge(
    context: &CheckContext,
    config: &Config,
    policy: &Policy,
    events: &[StoredEvent],
    reboots: impl IntoIterator<Item = u64>,
) -> Report {
    let boots = incidents::boots(context, reboots);
    let clock = || {
        incidents::are_of_this_machine(context)
            .then(|| sysfs::read_to_string(CLOCKSOURCE, 4096).ok())?
    };
    evaluate::judge(context, config, policy, events, &boots, clock)
}

fn read_config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::parse)
}

gpud_sdk::member!(COMPONENT => KernelStalls + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "RCU stalls, hard lockups, work queue lockups, tasks blocked again and again, oopses and lost clocks in the kernel log",
)
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(
    evaluate::METRIC,
    "Lines about something stuck within the time that counts (stall_window_seconds), by kind (number)",
)
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
