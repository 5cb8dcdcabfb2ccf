//! Turns the kernel log's "microseconds since boot" into wall-clock time.

use rustix::time::{ClockId, clock_gettime};

/// The wall-clock time of this boot, to which record timestamps are added.
///
/// Read **once** per daemon start as `CLOCK_REALTIME − CLOCK_BOOTTIME`. Slewing by NTP moves both clocks alike, so their
/// difference stays the same for the whole boot: a restarted daemon dates the same record the same, to the millisecond
/// (stored events are recognised by their time). `btime` of `/proc/stat` is the same quantity, but cut to whole seconds:
/// it would date records up to a second early, before the set-healthy mark or the daemon start that they followed.
///
/// Limits: only a *step* of the wall clock changes the difference, and it takes effect with the next daemon start, so
/// one run never contradicts itself. The kernel stamps records from a clock that NTP does not correct, so on a long
/// uptime records can be off by that clock's drift (seconds per day at worst); the drift is the same after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootClock {
    boot_unix_ms: u64,
}

impl BootClock {
    /// Reads the two clocks.
    pub fn read() -> Self {
        // A preemption between two readings would add its length; of a few brackets the tightest is true to under a
        // microsecond.
        let (_, boot) = (0..8)
            .map(|_| {
                let before = nanos(ClockId::Boottime);
                let wall = nanos(ClockId::Realtime);
                let after = nanos(ClockId::Boottime);
                (after - before, wall - (before + after) / 2)
            })
            .min()
            .unwrap_or((0, 0));
        Self {
            boot_unix_ms: u64::try_from(boot / 1_000_000).unwrap_or(0),
        }
    }

    /// A clock for a machine that booted at this time (Unix milliseconds), for recorded logs.
    pub const fn booted_at(boot_unix_ms: u64) -> Self {
        Self { boot_unix_ms }
    }

    /// The wall-clock time, in Unix milliseconds, of a record's timestamp (microseconds since boot).
    pub fn unix_ms(self, monotonic_micros: u64) -> u64 {
        self.boot_unix_ms.saturating_add(monotonic_micros / 1000)
    }
}

/// The wall clock now, in Unix milliseconds.
pub(super) fn now_ms() -> u64 {
    u64::try_from(nanos(ClockId::Realtime) / 1_000_000).unwrap_or(0)
}

fn nanos(clock: ClockId) -> i128 {
    let time = clock_gettime(clock);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernels_own_boot_time() {
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        let btime: u64 = stat
            .lines()
            .find_map(|line| line.strip_prefix("btime "))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        // The kernel cuts to whole seconds.
        assert_eq!(BootClock::read().unix_ms(0) / 1000, btime);
    }

    #[test]
    fn adds_the_timestamp() {
        let clock = BootClock::booted_at(1_700_000_000_000);
        assert_eq!(clock.unix_ms(0), 1_700_000_000_000);
        assert_eq!(clock.unix_ms(1_999), 1_700_000_000_001);
        assert_eq!(BootClock::booted_at(u64::MAX).unix_ms(u64::MAX), u64::MAX);
    }
}
