//! The circumstances of one call of a checker.

use super::UnixMillis;

/// Why a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The first check after the daemon started.
    Startup,
    /// The component's interval has passed.
    Scheduled,
    /// A person or a script asked for it.
    Manual,
    /// New events of the component were stored.
    Event,
    /// An operator set the component healthy.
    SetHealthy,
}

/// The circumstances of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckContext {
    /// The component that the call is for.
    pub component: String,
    /// Now.
    pub now: UnixMillis,
    /// Why the check runs.
    pub trigger: Trigger,
    /// Kernel's boot id; empty if unknown.
    pub boot_id: String,
    /// When the machine booted; 0 if unknown.
    pub boot_time: UnixMillis,
    /// When the component was last checked since the daemon started.
    pub previous_check: Option<UnixMillis>,
}
