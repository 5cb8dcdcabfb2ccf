//! `accelerator-amd-errors`: errors of GPUs that the `amdgpu` driver writes to the kernel log.
//!
//! Lines ([`lines`]) become events; the state is judged from the recent ones ([`evaluate`]).

pub mod config;
pub mod evaluate;
pub mod kinds;
pub mod lines;
pub mod rules;

use gpud_builtin_amd_common::tree::Node;
use gpud_builtin_amd_common::{card, tags};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner,
    history, incidents,
};

use config::Config;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-amd-errors";
const MAX_EVENTS: u32 = 2_000;

/// The checker.
pub struct Errors;

impl Checker for Errors {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = read_config()?;
        let since = context.now.saturating_sub(evaluate::LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        let boots = incidents::boots(context, reboots.iter().map(|reboot| reboot.time));
        Ok(evaluate::judge(
            context,
            &config,
            &events,
            &boots,
            gpus(context),
        ))
    }
}

impl KmsgWatcher for Errors {
    fn patterns(_component: &str) -> Vec<String> {
        lines::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(evaluate::events(context, &messages))
    }
}

impl Scanner for Errors {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let config = read_config()?;
        // The host says so where the log cannot be read.
        let messages = incidents::read_log(&lines::PATTERNS)?.unwrap_or_default();
        let events = incidents::as_stored(evaluate::events(context, &messages));
        let boots = incidents::boots(context, []);
        Ok(evaluate::judge(
            context,
            &config,
            &events,
            &boots,
            gpus(context),
        ))
    }
}

/// How many GPUs the driver has; none where that is not known, or the log is another machine's.
fn gpus(context: &CheckContext) -> usize {
    if !incidents::are_of_this_machine(context) {
        return 0;
    }
    card::ids(&Node).map_or(0, |ids| ids.len())
}

fn read_config() -> Result<Config, Error> {
    Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)
}

gpud_sdk::member!(COMPONENT => Errors + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "Errors of AMD GPUs that the kernel log tells: resets, hangs, damaged data, broken links",
)
.tags(&tags(COMPONENT))
.set_healthy_clears_events()
.judged_by_kernel_log()
.metric(
    evaluate::METRIC,
    "Lines about errors of AMD GPUs within repeat_window_seconds, by kind (number)",
)
.config_schema(config::SCHEMA));
