//! Profiles of the daemon itself, from what the kernel counts: processor time by thread, memory by mapping.
//!
//! There are no call stacks in them: a signal handler that unwinds the stack can dead-lock or crash the daemon, and
//! checks are machine code without unwind tables (`docs/decisions/0045-profiles-from-counters.md`). `perf` has stacks.

mod cpu;
mod memory;
pub mod pprof;

pub use cpu::cpu;
pub use memory::memory;

use std::time::{SystemTime, UNIX_EPOCH};

use pprof::Sample;

/// Where the kernel tells about this process.
const OWN: &str = "/proc/self";
/// The outermost name of every stack.
const ROOT: &str = "gpud";

/// Unix nanoseconds; 0 for a clock before 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the time of a profile of the daemon, not of the machine's state"
)]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

fn sample(stack: &[&str], values: Vec<u64>) -> Sample {
    Sample {
        stack: std::iter::once(ROOT)
            .chain(stack.iter().copied())
            .map(str::to_owned)
            .collect(),
        values,
    }
}
