//! The driver's complaint that it could not find out which links have a partner (`kernel_nvlink.c` and
//! `kernel_nvlinkcorelibtrain.c`, open-gpu-kernel-modules):
//!
//! ```text
//! NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!
//! NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer3's postRxDetLinkMask failed!
//! ```
//!
//! Newer drivers name the GPU before it (`NVRM: GPU0 knvlink…`).

use gpud_builtin_shared::boots::BOOT;
use gpud_builtin_shared::time::rfc3339;
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
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::context;
    use gpud_sdk::EventType;
    use proptest::prelude::*;
    use regex::RegexSet;

    const UPDATE: &str =
        "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!";
    const DISCOVER: &str =
        "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer3's postRxDetLinkMask failed!";

    fn message(facility: u32, text: &str) -> Message {
        Message {
            sequence: 7,
            time: 1_740_824_499_000,
            level: 3,
            facility: facility as _,
            text: text.into(),
            dictionary: None,
        }
    }

    #[test]
    fn lines() {
        for (text, expected) in [
            (UPDATE.to_owned(), true),
            (DISCOVER.to_owned(), true),
            (DISCOVER.replace("'s", ""), true),
            (UPDATE.replace("NVRM: ", "NVRM: GPU0 "), true),
            (UPDATE.replace("NVRM: ", "NVRM: GPU12: "), true),
            (format!("{UPDATE} again"), true),
            (format!("[ 12.5] {UPDATE}"), false),
            (format!("first line\n{UPDATE}"), false),
            (UPDATE.replace("_IMPL", "_"), false),
            (UPDATE.replace("IMPL", "IM-PL"), false),
            (UPDATE.replace("NVRM: ", ""), false),
            (UPDATE.replace("mask!", "mask"), false),
            (DISCOVER.replace('3', ""), false),
            (DISCOVER.replace("peer3", "peerx"), false),
            (UPDATE.replace("NVRM: ", "NVRM: other "), false),
            ("NVRM: GPU at PCI:0000:0f:00".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_failure(&text), expected, "{text}");
        }
    }

    #[test]
    fn events() {
        let event = event(&context(), &message(0, UPDATE)).unwrap();
        assert_eq!(event.name, "nvlink_post_rx_detect_failure");
        assert_eq!(event.event_type, EventType::Warning);
        assert_eq!(
            event.message,
            "NVIDIA driver failed to update an NVLink post-RX-detection link mask (boot ID: b0)"
        );
        assert_eq!(event.time, 1_740_824_499_000);
        assert_eq!(event.merge.unwrap().window_seconds, 300);
        assert_eq!(event.extra_info, [(BOOT.to_owned(), "b0".to_owned())]);
        assert_eq!(
            super::event(&context(), &message(3, UPDATE)),
            None,
            "of a service"
        );
        assert_eq!(super::event(&context(), &message(0, "NVRM: x")), None);
    }

    #[test]
    fn a_boot_without_an_id() {
        let mut context = context();
        context.boot_id.clear();
        assert_eq!(boot(&context), "2025-03-01T10:21:40Z");
        context.boot_time = 1_740_824_430_000;
        assert_eq!(boot(&context), "2025-03-01T10:20:30Z");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_taken_is_delivered(
            before in "(|x |NVRM: )",
            gpu in "(|GPU[0-9]{1,2} |GPU[0-9]: |GPU )",
            word in "[A-Za-z0-9_-]{0,5}",
            rest in "(Failed to update Rx Detect Link mask!|Getting peer[0-9x]{0,2}('s|) postRxDetLinkMask failed!)",
            update in any::<bool>(),
        ) {
            let name = if update { "knvlinkUpdatePostRxDetectLinkMask_" } else { "knvlinkDiscoverPostRxDetLinks_" };
            let text = format!("{before}NVRM: {gpu}{name}{word}: {rest}");
            let delivered = RegexSet::new(PATTERNS).unwrap().is_match(&text);
            prop_assert!(!is_failure(&text) || delivered, "{text}");
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,200}") {
            is_failure(&format!("NVRM: {text}"));
        }
    }
}
