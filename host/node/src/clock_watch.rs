//! Notices when the machine's clock is set, by a timer that the kernel cancels then (`timerfd_create(2)`,
//! `TFD_TIMER_CANCEL_ON_SET`).

use std::{future, io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use tokio::io::unix::AsyncFd;

use crate::async_fd;

/// The end of the timer, seconds of Unix time: far in the future.
const NEVER: i64 = 1 << 40;

/// Notifies a task when the machine's clock was set. A clock that is slewed is not set.
pub struct ClockWatch {
    timer: AsyncFd<OwnedFd>,
}

impl ClockWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the kernel gives no timer.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let end = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: NEVER,
                tv_nsec: 0,
            },
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, flags, &end)?;
        Ok(Self {
            timer: async_fd::register(timer)?,
        })
    }

    /// Waits until the clock is set; also after it was, since the last call.
    pub async fn was_set(&self) {
        loop {
            let Ok(mut guard) = self.timer.readable().await else {
                // The runtime ends.
                return future::pending().await;
            };
            let mut ends = [0; 8];
            let read = rustix::io::read(self.timer.get_ref(), &mut ends);
            guard.clear_ready();
            if read == Err(Errno::CANCELED) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime, clock_settime};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn each_setting_of_the_clock_is_noticed() {
        let watch = ClockWatch::new().unwrap();
        for _ in 0..2 {
            // To what it is: the kernel does not compare.
            if clock_settime(ClockId::Realtime, clock_gettime(ClockId::Realtime)).is_err() {
                eprintln!("left out: needs the right to set the clock");
                return;
            }
            timeout(Duration::from_secs(60), watch.was_set())
                .await
                .unwrap();
        }
        let quiet = timeout(Duration::from_millis(50), watch.was_set()).await;
        assert!(quiet.is_err(), "no one set the clock");
    }
}
