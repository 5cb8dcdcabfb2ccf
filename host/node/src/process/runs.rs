//! Finds the child processes of a run, and ends those that outlive it.
//!
//! A script can leave its process group (`setsid`, a double fork, job control). gpud is a *subreaper*: a process whose
//! parent ends becomes gpud's child instead of process 1's. Such an orphan is ended as soon as none of the runs is left
//! that were under way when it was started, so no run loses a process to the end of another one. Where gpud is process 1
//! of a container, it inherits orphans of others as well; there only those are ended that carry a run's number in the
//! environment that they were started with. Zombies are reaped, except those that the runtime waits for itself.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError},
    time::Duration,
};

use rustix::{
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, pidfd_open, pidfd_send_signal,
        set_child_subreaper, waitid, waitpid,
    },
    time::{ClockId, clock_gettime},
};

use super::table::{self, Process};

/// The variable that carries a run's number where gpud is process 1.
pub const MARK: &str = "GPUD_RUN";

/// How often orphans are looked for when this process ends, and the pause in between.
const LAST_SWEEPS: u32 = 100;
const BETWEEN_LAST_SWEEPS: Duration = Duration::from_millis(10);
/// After how many in a row that found nothing it is done.
const SWEEPS_WITHOUT: u32 = 3;

static RUNS: Mutex<Runs> = Mutex::new(Runs {
    last: 0,
    first_began: None,
    active: BTreeMap::new(),
    leaders: BTreeMap::new(),
});
static SUBREAPER: Once = Once::new();

/// All runs of this process.
#[derive(Debug, Default)]
struct Runs {
    last: u64,
    /// When the first run began: an older process is no orphan of a run.
    first_began: Option<u64>,
    active: BTreeMap<u64, ActiveRun>,
    /// Main processes that the runtime waits for, with the times of their starts.
    leaders: BTreeMap<i32, u64>,
}

#[derive(Debug, Clone, Copy)]
struct ActiveRun {
    /// In clock ticks since the boot, as the kernel counts the start of a process.
    began: u64,
    /// Its main process is not known yet.
    is_starting: bool,
}

/// The action for one child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChildAction {
    Spare,
    Reap,
    Kill,
}

/// A run, from before its process is started until it is over.
#[derive(Debug)]
pub struct Run {
    number: u64,
    leader: Option<Pid>,
}

impl Run {
    /// Begins one. Call this before the process is started. `contained`: what it leaves behind is to be found.
    pub fn begin(contained: bool) -> Self {
        if contained {
            SUBREAPER.call_once(|| {
                // Any number switches it on.
                if let Err(error) = set_child_subreaper(Pid::from_raw(1)) {
                    tracing::warn!("processes that leave their script are not found: {error}");
                }
            });
        }
        let began = now();
        let mut runs = lock();
        runs.last += 1;
        runs.first_began.get_or_insert(began);
        let number = runs.last;
        let active = ActiveRun {
            began,
            is_starting: true,
        };
        runs.active.insert(number, active);
        Self {
            number,
            leader: None,
        }
    }

    /// Its number, different from that of any other run of this process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its main process is there. Until [`Self::waited_for`] nobody else takes its exit status.
    pub fn started(&mut self, leader: Pid) {
        let start = table::read(leader.as_raw_pid()).map(|process| process.start);
        self.leader = Some(leader);
        // One that cannot be looked at counts as starting until the end of the run.
        let Some(start) = start else { return };
        let mut runs = lock();
        runs.leaders.insert(leader.as_raw_pid(), start);
        if let Some(active) = runs.active.get_mut(&self.number) {
            active.is_starting = false;
        }
    }

    /// The runtime has waited for the main process.
    pub fn waited_for(&mut self) {
        if let Some(leader) = self.leader.take() {
            lock().leaders.remove(&leader.as_raw_pid());
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        lock().active.remove(&self.number);
    }
}

/// Ends every process below this one, however it is grouped. For a main process that still lives.
pub fn kill_descendants(leader: Pid) {
    for process in table::descendants(leader.as_raw_pid()) {
        kill(process);
    }
}

/// Ends all that any run began: this process is about to end. Blocks, for a second at most.
pub fn end_all() {
    // Another sweep may be under way, and then this one finds nothing.
    let mut without = 0;
    for _ in 0..LAST_SWEEPS {
        {
            let mut runs = lock();
            runs.active.clear();
            runs.leaders.clear();
        }
        // Children of one that was killed are this process's now.
        without = match sweep() {
            0 => without + 1,
            _ => 0,
        };
        if without == SWEEPS_WITHOUT {
            return;
        }
        std::thread::sleep(BETWEEN_LAST_SWEEPS);
    }
}

/// Ends the orphans whose runs are over and reaps zombies. Returns how many were ended; 0 also while another sweep is
/// under way: the environment of a process that hangs may not be readable, and holds no more than one thread by that.
pub fn sweep() -> usize {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = match TURN.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
        Err(TryLockError::WouldBlock) => return 0,
    };
    // No children at all is by far the most usual, and costs one call.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::All, options).is_err() {
        return 0;
    }
    let children = table::own_children();
    let is_first = std::process::id() == 1;
    let mut killed = 0;
    for child in children {
        let number = (is_first && !child.is_zombie)
            .then(|| table::marked_with(child.pid, MARK))
            .flatten();
        let action = lock().action_for(child, is_first, number);
        match (action, Pid::from_raw(child.pid)) {
            (ChildAction::Reap, Some(pid)) => {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            (ChildAction::Kill, _) => killed += usize::from(kill(child)),
            _ => {}
        }
    }
    lock().forget_gone(|pid| table::read(pid).map(|process| process.start));
    killed
}

impl Runs {
    /// `mark`: the number in the child's environment, if it is looked at.
    fn action_for(&self, child: Process, is_first: bool, mark: Option<u64>) -> ChildAction {
        let is_leader = self.leaders.get(&child.pid) == Some(&child.start);
        if is_leader || child.is_in_own_group {
            return ChildAction::Spare;
        }
        let mut covering = self
            .active
            .values()
            .filter(|run| run.began <= child.start)
            .peekable();
        if child.is_zombie {
            // It could be a main process of which the runtime has not said yet that it is there.
            return match covering.any(|run| run.is_starting) {
                true => ChildAction::Spare,
                false => ChildAction::Reap,
            };
        }
        let is_over = match is_first {
            true => mark.is_some_and(|number| !self.active.contains_key(&number)),
            false => covering.peek().is_none(),
        };
        let is_later = self.first_began.is_some_and(|first| first <= child.start);
        match is_over && is_later {
            true => ChildAction::Kill,
            false => ChildAction::Spare,
        }
    }

    /// Main processes that were never waited for are forgotten when their number is free or another process has it.
    fn forget_gone(&mut self, start_of: impl Fn(i32) -> Option<u64>) {
        self.leaders
            .retain(|pid, start| start_of(*pid) == Some(*start));
    }
}

/// Kills this very process, not one that has its number by now. False if it is gone.
fn kill(process: Process) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return false;
    };
    let is_the_same = || table::read(process.pid).is_some_and(|now| now.start == process.start);
    match pidfd_open(pid, PidfdFlags::empty()) {
        // The handle is of the process that has the number now; after that the number means nothing.
        Ok(handle) => is_the_same() && pidfd_send_signal(handle, Signal::KILL).is_ok(),
        // Kernels before 5.3.
        Err(_) => is_the_same() && rustix::process::kill_process(pid, Signal::KILL).is_ok(),
    }
}

fn lock() -> MutexGuard<'static, Runs> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Clock ticks since the boot, rounded down as the kernel rounds the start of a process.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * ticks + nanos / (1_000_000_000 / ticks)
}

#[cfg(test)]
mod tests;
