use super::*;
use gpud_builtin_nvidia_common::testing::context;
use gpud_builtin_shared::time::rfc3339;
use proptest::prelude::*;

const FATAL: &str = "[Mar 02 2026 11:04:19] [ERROR] [tid 2207] detected NVSwitch fatal error 20009 on fid 0 on NVSwitch pci bus id 00000000:C4:00.0 physical id 1 port 12";

fn at(text: &str) -> Option<String> {
    stamped(text).map(|(time, _)| rfc3339(time))
}

#[test]
fn contents() {
    for (content, name) in [
        (
            "[ERROR] detected NVSwitch fatal error 20009 on fid 0",
            Some("fabricmanager_nvswitch_fatal_error"),
        ),
        (
            "[ERROR] detected NVSwitch non-fatal error 12028 on fid 0",
            Some("fabricmanager_nvswitch_non_fatal_error"),
        ),
        (
            "[ERROR] failed to find the GPU handle 5410063385821516767 in the multicast team request setup 6130285411925746235.",
            Some("fabricmanager_nvswitch_nvlink_failure"),
        ),
        (
            "detected number of NVSwitches don't match with any supported system topology, aborting",
            Some("fabricmanager_nvswitch_topology_mismatch"),
        ),
        (
            "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
            Some(NOTHING_TO_DO),
        ),
        ("detected NVSwitch fatal error 20009", None),
        ("[ERROR] detected NVSwitch fatal error x", None),
        (
            "failed to find the GPU handle 5 in the multicast team x",
            None,
        ),
        (
            "x failed to find the GPU handle  in the multicast team x",
            None,
        ),
        ("x failed to find the GPU handle 5 in another team", None),
        ("Connected to 1 node.", None),
        ("", None),
    ] {
        assert_eq!(find(content).map(|(name, _)| name), name, "{content}");
    }
}

#[test]
fn times() {
    for (line, time) in [
        (FATAL, Some("2026-03-02T11:04:19Z")),
        ("[Feb 29 2024 23:59:59] x", Some("2024-02-29T23:59:59Z")),
        ("[Jan 01 1970 00:00:00]", Some("1970-01-01T00:00:00Z")),
        ("[Dec 31 2099 12:00:00] x", Some("2099-12-31T12:00:00Z")),
        ("[Mar 2 2026 1:04:19] x", Some("2026-03-02T01:04:19Z")),
        ("Mar 02 2026 11:04:19 x", None),
        ("[Mar 02 2026 24:04:19] x", None),
        ("[Mär 02 2026 11:04:19] x", None),
        ("[Mar 02 11:04:19] x", None),
        ("[Mar 02 2026 11:04] x", None),
        ("[Mar 02 2026 11:04:19 UTC] x", None),
        ("[Mar 00 2026 11:04:19] x", None),
        ("[Mar 02 1969 11:04:19] x", None),
    ] {
        assert_eq!(at(line).as_deref(), time, "{line}");
    }
    let (_, content) = stamped(FATAL).unwrap();
    assert!(content.starts_with("[ERROR] [tid 2207] detected"));
}

#[test]
fn zones() {
    for (text, seconds) in [
        ("+0000\n", Some(0)),
        ("+0200\n", Some(7_200)),
        ("-0330", Some(-12_600)),
        ("0200", None),
        ("+02:00", None),
        ("+2", None),
        ("", None),
    ] {
        assert_eq!(zone(text), seconds, "{text}");
    }
}

/// A moment after the sample.
fn later() -> CheckContext {
    CheckContext {
        now: 1_772_450_000_000,
        ..context()
    }
}

#[test]
fn events_of_the_file() {
    let text = format!(
        "{FATAL}\nno time: detected NVSwitch fatal error 1\n[Mar 02 2026 11:04:20] [INFO] fine\n"
    );
    let events = of_file(&later(), &text, 0);
    assert_eq!(events.len(), 1);
    let event = &events[0];
    assert_eq!(event.name, "fabricmanager_nvswitch_fatal_error");
    assert_eq!(event.message, "NVSwitch fatal error detected");
    assert_eq!(event.event_type, EventType::Warning);
    assert_eq!(rfc3339(event.time / 1000), "2026-03-02T11:04:19Z");
    assert_eq!(event.merge.as_ref().unwrap().window_seconds, 900);
    assert!(event.extra_info[0].1.contains("20009"));
    let east = of_file(&later(), &text, 7_200);
    assert_eq!(rfc3339(east[0].time / 1000), "2026-03-02T09:04:19Z");
}

#[test]
fn old_lines_and_clocks_that_are_ahead() {
    let mut context = later();
    context.now += 4 * 24 * 3_600_000;
    assert_eq!(of_file(&context, FATAL, 0), []);
    let mut early = later();
    early.now -= 24 * 3_600_000;
    assert_eq!(of_file(&early, FATAL, 0)[0].time, early.now);
}

#[test]
fn events_of_the_journal() {
    let text = concat!(
        "-- No entries --\n",
        "1772449459.123456 node1 nv-fabricmanager[2207]: [Mar 02 2026 13:04:19] [ERROR] detected NVSwitch fatal error 20009 on fid 0\n",
        "1772449460.000001 node1 systemd[1]: Started NVIDIA fabric manager service.\n",
        "1772449461.5 node1 nv-fabricmanager[2207]: x detected NVSwitch non-fatal error 5\n",
    );
    let events = of_journal(&later(), text);
    let found: Vec<_> = events
        .iter()
        .map(|event| (event.name.as_str(), event.time))
        .collect();
    assert_eq!(
        found,
        [
            ("fabricmanager_nvswitch_fatal_error", 1_772_449_459_000),
            ("fabricmanager_nvswitch_non_fatal_error", 1_772_449_461_000),
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn anything_is_survived(text in "\\PC{0,200}", ahead in any::<i32>()) {
        let line = format!("[Mar 02 2026 11:04:19] {text}");
        for text in [&text, &line] {
            of_file(&later(), text, ahead.into());
            of_journal(&later(), text);
            zone(text);
        }
        stamped(&format!("[{text}]"));
    }
}
