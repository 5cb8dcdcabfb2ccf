//! A whole check.

use gpud_sdk::findings;
use gpud_sdk::{CheckContext, Error, Report};

use crate::card::{self, Card, CardFile};
use crate::retained_state::RetainedState;
use crate::tree::Node;

/// The reason where there is no AMD GPU.
pub const NO_GPU: &str = "no GPU of the amdgpu driver on this machine";

/// Reads the GPUs and what was kept, lets `evaluate` judge, and keeps what it gives.
///
/// # Errors
/// When the GPUs cannot be listed, or the store does not answer.
pub fn check(
    context: &CheckContext,
    wanted: &[CardFile],
    evaluate: impl FnOnce(&[Card], &RetainedState) -> (Report, RetainedState),
) -> Result<Report, Error> {
    let cards = card::all(&Node, wanted)?;
    let before = RetainedState::load(&context.boot_id)?;
    let (report, after) = evaluate(&cards, &before);
    after.keep(&before, &context.boot_id)?;
    Ok(report)
}

/// The report of a machine that has nothing for a component to watch; `reason` says what its GPUs lack. A GPU that
/// cannot be read may have it: then there is something to tell.
pub fn nothing(
    context: &CheckContext,
    cards: &[Card],
    reason: &str,
) -> Option<(Report, RetainedState)> {
    if cards.iter().any(|card| card.unreadable().is_some()) {
        return None;
    }
    let reason = if cards.is_empty() { NO_GPU } else { reason };
    let report = findings::unsupported(context, reason);
    Some((report, RetainedState::default()))
}
