//! Limits of processes (setrlimit(2)) for scripts and granted programs.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// Largest file that a script may write where no cgroup bounds it, bytes.
const MAX_FILE: u64 = 16 << 30;
/// Most open files of one process, as shells are used to.
const MAX_OPEN: u64 = 1024;
/// Most processes of its user. The kernel does not count those of root.
const MAX_PROCESSES: u64 = 4096;

/// Sets the limits of a process that was just started. What it starts inherits them. `is_bounded`: a cgroup bounds its
/// memory and processes.
pub fn set(pid: Pid, is_bounded: bool) {
    // No core dumps: they hold what was in the memory of programs that root runs.
    lower(pid, Resource::Core, 0);
    if !is_bounded {
        lower(pid, Resource::Fsize, MAX_FILE);
        lower(pid, Resource::Nofile, MAX_OPEN);
        lower(pid, Resource::Nproc, MAX_PROCESSES);
    }
}

/// Sets the soft limit, never above what it is. A script can raise it up to the hard one, which stays.
fn lower(pid: Pid, resource: Resource, most: u64) {
    let own = getrlimit(resource);
    let current = own.current.map_or(most, |current| current.min(most));
    let limit = Rlimit {
        current: Some(current),
        maximum: own.maximum,
    };
    // The process may have ended.
    let _ = prlimit(Some(pid), resource, limit);
}
