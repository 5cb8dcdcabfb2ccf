//! The `memory` check: host memory, the size of the kernel's BPF programs, and OOM kills in the kernel log.
//!
//! Neither little free memory nor an OOM kill makes it unhealthy: both are the workload's doing, and the events say so.

pub mod bpf;
pub mod evaluate;
pub mod oom;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod procfs;

use gpud_sdk::cached::CachedAnswer;
use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    log, state, sysfs,
};

use bpf::Bpf;

/// `/proc/meminfo` has some 60 lines of 28 bytes.
const MAX_MEMINFO_BYTES: u32 = 64 * 1024;
/// The most that one read gives: some 40,000 areas of 100 bytes.
const MAX_VMALLOCINFO_BYTES: u32 = 4 << 20;
/// How often it is read. Each thread's stack is an area, so the kernel takes up to 100 ms to write it, and the size of
/// BPF programs is shown, not judged.
const VMALLOCINFO_EVERY_MS: u64 = 60 * 60_000;
/// The key of its figure, stored from check to check.
const BPF_KEY: &str = "bpf";
/// The key of a stored OOM kill whose lines are not complete yet.
const PENDING_KEY: &str = "oom";

/// The checker.
pub struct Memory;

impl Checker for Memory {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let policy = policy::configured_alone(&patterns::CATALOG)?;
        let verdict = evaluate::judge(
            context,
            sysfs::read_to_string("/proc/meminfo", MAX_MEMINFO_BYTES),
            || bpf(context),
        )?;
        if let Some(warning) = verdict.warning {
            log!(warn, "{warning}");
        }
        let past = PolicyInput::ask(context, &policy, true)?;
        Ok(policy.add(context, past.as_ref(), verdict.report))
    }
}

/// The size of the kernel's BPF programs, as it was read last.
fn bpf(context: &CheckContext) -> Result<bpf::Answer, AccessError> {
    let (cached, kept) = CachedAnswer::load(context, BPF_KEY, VMALLOCINFO_EVERY_MS, "")?;
    if let Some(kept) = kept.as_deref().and_then(Bpf::restore) {
        return Ok(Ok(kept));
    }
    let answer = Bpf::new(sysfs::read_to_string(
        "/proc/vmallocinfo",
        MAX_VMALLOCINFO_BYTES,
    ));
    match &answer {
        Ok(bpf) => cached.keep(&bpf.save())?,
        Err(_) => cached.forget()?,
    }
    Ok(answer)
}

impl KmsgWatcher for Memory {
    fn patterns(_component: &str) -> Vec<String> {
        oom::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        let before = state::get_string(PENDING_KEY)?;
        let mut matcher = oom::Matcher::restore(before.as_deref(), &context.boot_id);
        let events = messages
            .iter()
            .filter_map(|message| matcher.event(context, message))
            .collect();
        match matcher.save(&context.boot_id) {
            Some(after) if before.as_ref() != Some(&after) => {
                state::set(PENDING_KEY, after.as_bytes())?;
            }
            None if before.is_some() => state::delete(PENDING_KEY)?,
            _ => {}
        }
        Ok(events)
    }
}

gpud_sdk::member!("memory" => Memory + kmsg_watcher: Descriptor::new(
    "memory",
    "Host memory; OOM kills in the kernel log",
)
.set_healthy_clears_events()
.metric("memory_total_bytes", "Memory of the machine, in bytes")
.metric("memory_available_bytes", "Memory that programs can still get without swapping, in bytes")
.metric("memory_used_bytes", "Total less available memory, in bytes")
.metric("memory_free_bytes", "Memory that nothing uses, in bytes")
.metric("memory_used_percent", "Used memory in percent of the total")
.config_schema(&policy::schema(policy::NOTHING_ELSE, &patterns::CATALOG)));
