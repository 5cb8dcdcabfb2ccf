//! The kernel message of a peer memory mapping that is gone: `nvidia-peermem ‹function›:‹line› ERROR detected invalid
//! context, skipping further processing` (`peer_err` in `kernel-open/nvidia-peermem/nvidia-peermem.c` of
//! open-gpu-kernel-modules, called from `nv_get_p2p_free_callback`).

use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::{CheckContext, Event, Evidence, Message};

use crate::patterns::NVIDIA_PEERMEM_INVALID_CONTEXT as ERROR;

pub use crate::patterns::PATTERNS;

/// What makes the line, behind module and function.
const INVALID_CONTEXT: &str = "ERROR detected invalid context, skipping further processing";
/// Names of the module.
const MODULES: [&str; 2] = ["nvidia-peermem ", "nvidia_peermem "];
/// Repeats within this time are counted, not stored: one lost mapping makes a burst of lines.
const MERGE_SECONDS: u32 = 300;

/// The event that a message stands for, if any.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    if !is_driver_line(message) || !is_invalid_context(&message.text) {
        return None;
    }
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let mut event = Event::new(at, ERROR.name, ERROR.event_type(), ERROR.message);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    Some(event.merged_by(ERROR.message, MERGE_SECONDS))
}

/// `[nvidia-peermem ‹function›:‹line› ]ERROR …`.
fn is_invalid_context(line: &str) -> bool {
    let of_module = MODULES.iter().find_map(|module| line.strip_prefix(module));
    let text = of_module.map_or(Some(line), |rest| {
        let (function, text) = rest.split_once(' ')?;
        (!function.is_empty()).then_some(text)
    });
    text.is_some_and(|text| text.starts_with(INVALID_CONTEXT))
}

#[cfg(test)]
mod tests;
