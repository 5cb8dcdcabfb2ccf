//! The `cpu` check: how busy the processors are, and kernel messages about tasks that hang or hold a processor.
//!
//! No load makes it unhealthy: a GPU machine at 100 % is doing its work. A kernel that does not answer leaves it
//! unjudged.

pub mod evaluate;
pub mod kmsg;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod procfs;

use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, state, sysfs,
};

/// Far above any real `/proc/stat`, whose `intr` line grows with the number of interrupts (some 100 KiB at most).
const MAX_STAT_BYTES: u32 = 1 << 20;
/// One line of some 30 bytes.
const MAX_LOADAVG_BYTES: u32 = 4096;
/// The key of the stored last sample.
const SAMPLE_KEY: &str = "sample";

/// The checker.
pub struct Cpu;

impl Checker for Cpu {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let policy = policy::configured_alone(&patterns::CATALOG)?;
        let previous = state::get_string(SAMPLE_KEY)?;
        let verdict = evaluate::judge(
            context,
            sysfs::read_to_string("/proc/stat", MAX_STAT_BYTES),
            sysfs::read_to_string("/proc/loadavg", MAX_LOADAVG_BYTES),
            previous.as_deref(),
        )?;
        if let Some(sample) = verdict.sample {
            state::set(SAMPLE_KEY, sample.as_bytes())?;
        }
        // Setting it healthy does not make it forget what happened: no event is a verdict by itself.
        let past = PolicyInput::ask(context, &policy, false)?;
        Ok(policy.add(context, past.as_ref(), verdict.report))
    }
}

impl KmsgWatcher for Cpu {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let event = |message| kmsg::event(context, message);
        Ok(messages.iter().filter_map(event).collect())
    }
}

gpud_sdk::member!("cpu" => Cpu + kmsg_watcher: Descriptor::new(
    "cpu",
    "Processor use and load averages; hung tasks and soft lockups in the kernel log",
)
.metric("cpu_used_percent", "Use of all processors together since the last check, in percent")
.metric("cpu_load_average", "Load average over the time in the label load_duration")
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
