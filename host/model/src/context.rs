//! The circumstances of one call of a checker.

use super::UnixMillis;

/// Why a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The first check after the daemon started.
    Startup,
    /// Its interval.
    Scheduled,
    /// A person or a script asked.
    Manual,
    /// Its own events were stored.
    Event,
    /// An operator set the component healthy.
    SetHealthy,
}

/// The moment of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckContext {
    /// The component of the plugin that is meant.
    pub component: String,
    /// Now.
    pub now: UnixMillis,
    /// Why.
    pub trigger: Trigger,
    /// Kernel's boot id; empty if unknown.
    pub boot_id: String,
    /// When the machine booted; 0 if unknown.
    pub boot_time: UnixMillis,
    /// When the component was last checked in this daemon's life.
    pub previous_check: Option<UnixMillis>,
}
