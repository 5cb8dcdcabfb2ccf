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
