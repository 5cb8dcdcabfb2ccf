//! Writes the log lines about health: one for each change of a component's health, and one for each new event of
//! weight. Both are bounded, so that a flood of events cannot fill the log.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::previous_verdict::earlier;
use crate::model::{Event, EventType, Health, HealthState, UnixMillis};

/// Most events of one component that are logged in [`WINDOW_MS`]; the others are counted.
const EVENTS_PER_WINDOW: u32 = 10;
/// Milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Logs each state whose health differs from that of the state that it follows.
pub(super) fn log_changes(component: &str, before: &[HealthState], after: &[HealthState]) {
    for state in after {
        let earlier = earlier(before, after, state);
        let was = earlier.map_or(&Health::Initializing, |old| &old.health);
        if *was == state.health {
            continue;
        }
        let (was, is) = (was.as_str(), state.health.as_str());
        let reason = state.reason.as_str();
        match state.health {
            // What starts well is no news.
            Health::Healthy if was == Health::Initializing.as_str() => {}
            Health::Initializing => {}
            Health::Healthy => tracing::info!(component, "health: {was} to {is}: {reason}"),
            Health::Degraded => tracing::warn!(component, "health: {was} to {is}: {reason}"),
            _ => tracing::error!(component, "health: {was} to {is}: {reason}"),
        }
    }
}

/// Limits how many events each component logs.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    windows: Mutex<BTreeMap<String, Window>>,
}

/// The lines that one component logged since `begin`.
#[derive(Debug, Default)]
struct Window {
    begin: UnixMillis,
    logged: u32,
    left_out: u64,
}

impl EventLog {
    /// Logs new events, unless they are mere information.
    pub(super) fn log<'a>(
        &self,
        component: &str,
        events: impl IntoIterator<Item = &'a Event>,
        now: UnixMillis,
    ) {
        for event in events {
            let critical = match event.event_type {
                EventType::Fatal | EventType::Critical => true,
                EventType::Warning => false,
                _ => continue,
            };
            let Some(left_out) = self.admit(component, now) else {
                continue;
            };
            let weight = event.event_type.as_str();
            let more = match left_out {
                0 => String::new(),
                count => format!(" ({count} events before it were not logged)"),
            };
            let (name, message) = (event.name.as_str(), event.message.as_str());
            if critical {
                tracing::error!(component, "{weight} event {name}: {message}{more}");
            } else {
                tracing::warn!(component, "{weight} event {name}: {message}{more}");
            }
        }
    }

    /// Returns how many events were left out before this one, or `None` where it is left out itself.
    fn admit(&self, component: &str, now: UnixMillis) -> Option<u64> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(component.to_owned()).or_default();
        // A clock that was set back begins a window, too.
        if now.abs_diff(window.begin) >= WINDOW_MS {
            window.begin = now;
            window.logged = 0;
        }
        if window.logged >= EVENTS_PER_WINDOW {
            window.left_out += 1;
            return None;
        }
        window.logged += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_the_next_line_says_so() {
        let log = EventLog::default();
        let now = 1_000_000;
        for _ in 0..EVENTS_PER_WINDOW {
            assert_eq!(log.admit("xid", now), Some(0));
        }
        assert_eq!(log.admit("xid", now + 1), None);
        assert_eq!(log.admit("xid", now + WINDOW_MS - 1), None);
        assert_eq!(log.admit("disk", now), Some(0), "each component by itself");
        assert_eq!(log.admit("xid", now + WINDOW_MS), Some(2));
        assert_eq!(log.admit("xid", now + WINDOW_MS), Some(0));
        assert_eq!(log.admit("xid", 5), Some(0), "the clock was set back");
    }
}
