//! `nfs`: clients that hang, by the kernel log, and volumes that are tried by writing and reading a file.
//!
//! A dead mount costs this check a deadline, never more: the volume is asked through the host's bounded threads before
//! any program touches it, and one on which programs hang is left alone for longer and longer.

pub mod config;
pub mod evaluate;
pub mod hang;
pub mod identity;
pub mod kmsg;
pub mod memory;
pub mod mounts;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod probe;
pub mod script;

use gpud_sdk::policy::{self, Policy};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, HealthState, KmsgWatcher,
    Message, Report, Scanner, exec, history, incidents, state, sysfs,
};

use config::Config;
use evaluate::KernelLogHistory;
use memory::Memory;
use probe::Machine;
use script::Step;

/// Name of the component.
pub const COMPONENT: &str = "nfs";
/// A node with a thousand containers has some 5,000 mounts of 150 bytes.
const MAX_MOUNTINFO_BYTES: u32 = 4 << 20;
const MAX_SMALL_BYTES: u32 = 4_096;
/// Time of each step.
const STEP_TIMEOUT_MS: u32 = 5_000;
/// The root of the machine's first process, whose list of mounts is known.
const FIRST_PROCESS_ROOT: &str = "/proc/1/root";
const MEMORY_KEY: &str = "hung";

/// The checker.
pub struct Nfs;

impl Checker for Nfs {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let since = context.now.saturating_sub(hang::LOOK_BACK_MS);
        let events = if history::available() {
            history::own_events(since, hang::MAX_EVENTS)
        } else {
            Ok(Vec::new())
        };
        let history = KernelLogHistory {
            events,
            reboots: || history::reboots(since),
        };
        judge(context, history)
    }
}

impl Scanner for Nfs {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let Some(messages) = incidents::read_log(&kmsg::PATTERNS)? else {
            let mut report = Self::check(context)?;
            for state in report
                .states
                .iter_mut()
                .filter(|state| state.error.is_none())
            {
                state.error = Some("the kernel log cannot be read".to_owned());
            }
            return Ok(report);
        };
        let mut events = incidents::as_stored(events(context, &messages));
        if incidents::are_of_this_machine(context) {
            events.retain(|stored| evaluate::is_recent(stored, context.now));
            let history = KernelLogHistory {
                events: Ok(events),
                reboots: || Ok(Vec::new()),
            };
            return judge(context, history);
        }
        // A saved log says nothing of the volumes here.
        let (_, policy) = read_config()?;
        let mut history = KernelLogHistory {
            events: Ok(events),
            reboots: || Ok(Vec::new()),
        };
        let ruled = hang::by_policy(context, &policy, &mut history)?;
        let hang = hang::judge(&history.events?, history.reboots)?;
        let mut state = hang.map_or_else(
            || HealthState::healthy(context, "no NFS hang in the log"),
            |hang| hang.state(context),
        );
        if let Some(ruled) = ruled {
            ruled.lay_over(context, &policy, &mut state);
        }
        Ok(Report::of(state))
    }
}

impl KmsgWatcher for Nfs {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(events(context, &messages))
    }
}

fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let events = messages.iter();
    events
        .filter_map(|message| kmsg::event(context, message))
        .collect()
}

fn read_config() -> Result<(Config, Policy), Error> {
    policy::configured(&patterns::CATALOG, Config::parse)
}

fn judge<R>(context: &CheckContext, mut history: KernelLogHistory<R>) -> Result<Report, Error>
where
    R: Fn() -> Result<Vec<history::Reboot>, AccessError>,
{
    let (config, policy) = read_config()?;
    let ruled = hang::by_policy(context, &policy, &mut history)?;
    let saved = state::get_string(MEMORY_KEY)?;
    let mut memory = Memory::restore(saved.as_deref());
    let id = if config.groups.is_empty() {
        String::new()
    } else {
        machine_id()
    };
    let node = Node {
        first_process: config.host_root == FIRST_PROCESS_ROOT,
    };
    let mut report = evaluate::check(context, &config, history, &id, &node, &mut memory);
    if let (Some(ruled), Some(state)) = (ruled, report.states.first_mut()) {
        ruled.lay_over(context, &policy, state);
    }
    let after = memory.save();
    if saved != after {
        match after {
            Some(after) => state::set(MEMORY_KEY, after.as_bytes())?,
            None => state::delete(MEMORY_KEY)?,
        }
    }
    Ok(report)
}

fn machine_id() -> String {
    let file = |path: &str| sysfs::read_to_string(path, MAX_SMALL_BYTES).unwrap_or_default();
    let mut installation = file("/etc/machine-id");
    if installation.trim().is_empty() {
        installation = file("/var/lib/dbus/machine-id");
    }
    identity::machine_id(&file("/sys/class/dmi/id/product_uuid"), &installation)
}

/// The machine.
struct Node {
    /// Whether paths are those of its first process.
    first_process: bool,
}

impl Machine for Node {
    fn mountinfo(&self) -> Result<String, AccessError> {
        let read = |path| sysfs::read_to_string(path, MAX_MOUNTINFO_BYTES);
        if self.first_process
            && let Ok(text) = read("/proc/1/mountinfo")
        {
            return Ok(text);
        }
        read("/proc/self/mountinfo")
    }

    fn answers(&self, path: &str) -> Result<(), AccessError> {
        sysfs::statvfs(path).map(drop)
    }

    fn run(
        &self,
        step: Step,
        variables: &[(&str, &str)],
        max_output: usize,
    ) -> Result<exec::Output, AccessError> {
        let environment = variables
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let options = exec::Options {
            timeout_ms: STEP_TIMEOUT_MS,
            max_output_bytes: u32::try_from(max_output).unwrap_or(u32::MAX),
            environment,
        };
        exec::run_bash(step.script(), &options)
    }
}

gpud_sdk::member!(COMPONENT => Nfs + kmsg_watcher + scanner: Descriptor::new(
    COMPONENT,
    "NFS clients that hang, and volumes tried by writing and reading a file",
)
.set_healthy_clears_events()
.config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG)));
