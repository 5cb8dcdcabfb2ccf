use super::*;
use gpud_sdk::{EventType, Trigger};
use proptest::prelude::*;
use regex::Regex;

const NOW: u64 = 1_740_824_500_000;

fn of(time: u64, text: &str) -> Option<Event> {
    from(0, time, text)
}

fn from(facility: u32, time: u64, text: &str) -> Option<Event> {
    let context = CheckContext {
        component: crate::COMPONENT.into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let message = Message {
        sequence: 7,
        time,
        level: 3,
        facility,
        text: text.into(),
        dictionary: None,
    };
    event(&context, &message)
}

#[test]
fn an_invalid_context_is_an_event() {
    let event = of(
            1_000_500,
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        )
        .unwrap();
    assert_eq!(
        (event.time, event.name.as_str(), &event.event_type),
        (
            1_000_500,
            "nvidia_peermem_invalid_context",
            &EventType::Warning
        )
    );
    assert_eq!(
        event.message,
        "peermem error detected (possible GPU communication issue)"
    );
    assert_eq!(event.evidence, [Evidence::Kmsg(7)]);
    // The function does not matter, nor for counting.
    let other = of(
        NOW + 5_000,
        "nvidia_peermem f:1 ERROR detected invalid context, skipping further processing y",
    );
    let other = other.unwrap();
    assert_eq!(other.time, NOW, "a time in the future would be refused");
    assert_eq!(other.merge, event.merge);
    assert_eq!(event.merge.map(|rule| rule.window_seconds), Some(300));
}

#[test]
fn whose_lines_are_believed() {
    for (facility, believed) in [(0, true), (1, true), (5, true), (3, false), (9, false)] {
        let found = from(facility, 1, INVALID_CONTEXT);
        assert_eq!(found.is_some(), believed, "{facility}");
    }
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "nvidia-peermem nv_get_p2p_free_callback:127 nv_get_p2p_free_callback -- invalid page_table",
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context",
        "nvidia-peermem nv_get_p2p_free_callback:127 error detected invalid context, skipping further processing",
        "nvidia-peermem nv_mem_client_init:589 ERROR error while registering traditional client",
        "NVRM: ERROR detected invalid  context, skipping further processing",
        "x ERROR detected invalid context, skipping further processing",
        "nvidia-peermem ERROR detected invalid context, skipping further processing",
    ] {
        assert_eq!(of(1, line), None, "{line}");
    }
}

proptest! {
    #[test]
    fn the_pattern_is_the_rule(before in "(nvidia[-_]peermem )?(x:1 | )?\\PC{0,4}", cut in 0..=INVALID_CONTEXT.len(), after in "\\PC{0,40}") {
        let line = format!("{before}{}{after}", &INVALID_CONTEXT[..cut]);
        let pattern = Regex::new(PATTERNS[0]).unwrap();
        prop_assert_eq!(of(1, &line).is_some(), pattern.is_match(&line));
    }
}
