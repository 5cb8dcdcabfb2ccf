//! A history step by step, for tests of checkers whose state follows from it: lines of the kernel log, reboots, set-healthy,
//! time that passes.

use crate::history::StoredEvent;
use crate::{CheckContext, Event, Message, Trigger};

/// A step of a story.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The kernel says a line.
    Line(&'static str),
    /// The machine reboots.
    Reboot,
    /// An operator sets the component healthy.
    SetHealthy,
    /// Seconds pass.
    Wait(u64),
}

/// The events and boots stored so far. Every step takes a second.
#[derive(Debug)]
pub struct Story {
    now: u64,
    boot: u64,
    /// Newest first, as the host gives them.
    events: Vec<StoredEvent>,
    /// Unix milliseconds, newest first.
    reboots: Vec<u64>,
}

impl Default for Story {
    /// Begins in March 2025.
    fn default() -> Self {
        Self {
            now: 1_740_824_400_000,
            boot: 0,
            events: Vec::new(),
            reboots: Vec::new(),
        }
    }
}

impl Story {
    /// Takes a step; `store` makes events of a message, as the checker does.
    pub fn step(&mut self, step: Step, store: impl Fn(&CheckContext, &[Message]) -> Vec<Event>) {
        self.now += 1000;
        match step {
            Step::Line(text) => {
                let message = Message {
                    sequence: self.now / 1000,
                    time: self.now,
                    level: 3,
                    facility: 0,
                    text: text.to_owned(),
                    dictionary: None,
                };
                for event in store(&self.context(), &[message]) {
                    let stored = StoredEvent {
                        count: 1,
                        last_time: event.time,
                        event,
                    };
                    self.events.insert(0, stored);
                }
            }
            Step::Reboot => {
                self.boot += 1;
                self.reboots.insert(0, self.now);
            }
            // Reboots stay.
            Step::SetHealthy => self.events.clear(),
            Step::Wait(seconds) => self.now += seconds * 1000,
        }
    }

    /// Returns the context of a check at this point.
    pub fn context(&self) -> CheckContext {
        CheckContext {
            component: "story".to_owned(),
            now: self.now,
            trigger: Trigger::Event,
            boot_id: format!("b{}", self.boot),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    /// Returns the events after a time in unix milliseconds, newest first.
    pub fn events(&self, since: u64) -> Vec<StoredEvent> {
        let newer = |stored: &&StoredEvent| stored.event.time > since;
        self.events.iter().filter(newer).cloned().collect()
    }

    /// Returns the reboots after a time in unix milliseconds, newest first.
    pub fn reboots(&self, since: u64) -> Vec<u64> {
        let newer = |time: &u64| *time > since;
        self.reboots.iter().copied().filter(newer).collect()
    }
}
