//! The events of the past that a policy judges.

use super::Policy;
use crate::catalog::WINDOW_SECONDS;
use crate::history::{self, StoredEvent};
use crate::{AccessError, CheckContext, incidents};

/// Events of a checker that are judged; the newest.
const MAX_EVENTS: u32 = 1_000;

/// The events and boots that a policy judges.
#[derive(Debug, Clone, Default)]
pub struct PolicyInput {
    /// Stored events, newest first.
    pub events: Vec<StoredEvent>,
    /// When the machine booted, newest first, unix milliseconds: see [`incidents::boots`].
    pub boots: Vec<u64>,
    /// True when setting the component healthy deletes its events.
    pub set_healthy: bool,
}

impl PolicyInput {
    /// Asks the host. `None` where the policy says nothing, or there is no history.
    ///
    /// # Errors
    /// As `history`.
    pub fn ask(
        context: &CheckContext,
        policy: &Policy,
        set_healthy: bool,
    ) -> Result<Option<Self>, AccessError> {
        if policy.is_empty() || !history::available() {
            return Ok(None);
        }
        let since = context.now.saturating_sub(WINDOW_SECONDS * 1000);
        let events = history::own_events(since, MAX_EVENTS)?;
        let boots = boots(context, since)?;
        Ok(Some(Self {
            events,
            boots,
            set_healthy,
        }))
    }
}

/// Returns when the machine booted, since a time, newest first: [`incidents::boots`].
///
/// # Errors
/// As `history`.
pub fn boots(context: &CheckContext, since: u64) -> Result<Vec<u64>, AccessError> {
    let reboots = history::reboots(since)?;
    Ok(incidents::boots(
        context,
        reboots.iter().map(|reboot| reboot.time),
    ))
}
