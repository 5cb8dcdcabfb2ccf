//! A timer of the kernel that a thread waits for (`timerfd_create(2)`): to set it wakes nobody.

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::{Errno, read},
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

/// One timer.
pub struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Self(timer))
    }

    /// Goes off once, after this time; what was set before no longer counts.
    ///
    /// # Errors
    /// When the kernel refuses, or the time is longer than it can count.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(after).map_err(io::Error::other)?,
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// Sleeps until it goes off.
    ///
    /// # Errors
    /// When it never will.
    pub fn wait(&self) -> io::Result<()> {
        let mut times = [0; 8];
        loop {
            match read(&self.0, &mut times) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
