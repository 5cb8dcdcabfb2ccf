//! The driver's complaint that it could not find out which links have a partner (`kernel_nvlink.c` and
//! `kernel_nvlinkcorelibtrain.c`, open-gpu-kernel-modules):
//!
//! ```text
//! NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!
//! NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer3's postRxDetLinkMask failed!
//! ```
//!
//! Newer drivers name the GPU before it (`NVRM: GPU0 knvlink…`).

use gpud_builtin_shared::time::rfc3339;
use gpud_sdk::boots::BOOT;
use gpud_sdk::incidents::{Sighting, is_driver_line};
use gpud_sdk::{CheckContext, Event, Message};

use crate::patterns::NVLINK_POST_RX_DETECT_FAILURE as FAILURE;

pub use crate::patterns::PATTERNS;

/// Name of the event.
pub const EVENT_NAME: &str = FAILURE.name;
/// What it means.
pub const MESSAGE: &str = FAILURE.message;
/// Repeats within this time are counted, seconds.
const MERGE_SECONDS: u32 = 300;

/// Is it the complaint?
pub fn is_failure(text: &str) -> bool {
    text.strip_prefix("NVRM: ")
        .is_some_and(|rest| is_complaint(without_gpu(rest)))
}

/// Without the driver's number of the GPU, if it stands there.
fn without_gpu(text: &str) -> &str {
    let number = text
        .strip_prefix("GPU")
        .and_then(|rest| rest.split_once(' '));
    match number {
        Some((number, rest)) if is_number(number.trim_end_matches(':')) => rest,
        _ => text,
    }
}

fn is_complaint(text: &str) -> bool {
    let after_word = |name: &str| {
        let (word, rest) = text.strip_prefix(name)?.split_once(": ")?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!word.is_empty() && word.chars().all(is_word)).then_some(rest)
    };
    let update = after_word("knvlinkUpdatePostRxDetectLinkMask_");
    let is_update =
        update.is_some_and(|rest| rest.starts_with("Failed to update Rx Detect Link mask!"));
    let discover = after_word("knvlinkDiscoverPostRxDetLinks_");
    let is_discover = || {
        let (peer, _) = discover?
            .strip_prefix("Getting peer")?
            .split_once(" postRxDetLinkMask failed!")?;
        Some(is_number(peer.strip_suffix("'s").unwrap_or(peer)))
    };
    is_update || is_discover() == Some(true)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The event of a message, if it is the complaint.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    if !is_driver_line(message) || !is_failure(&message.text) {
        return None;
    }
    let sighting = Sighting::new(
        EVENT_NAME,
        FAILURE.event_type(),
        format!("{MESSAGE} (boot ID: {})", boot(context)),
    );
    let sighting = sighting.fact(BOOT, context.boot_id.clone());
    Some(sighting.event(context, message, MERGE_SECONDS))
}

/// The boot's id, or else its time, or else now.
fn boot(context: &CheckContext) -> String {
    match (context.boot_id.as_str(), context.boot_time) {
        ("", 0) => rfc3339(context.now / 1000),
        ("", time) => rfc3339(time / 1000),
        (id, _) => id.to_owned(),
    }
}

#[cfg(test)]
mod tests;
