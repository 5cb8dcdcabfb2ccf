//! Reports from kernel logs.

use gpud_sdk::nvml::Library;
use gpud_sdk::{EventType, Health, Trigger};

use super::*;

const NOW: u64 = 1_740_824_500_000;
const CRASH: &str = "python3[88121]: segfault at 7f00a1c00000 ip 00007f03b2a41c10 sp 00007efe5cdf7b90 error 6 in libnccl.so.2.21.5[7f03b1a00000+e1a4000]";

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn kernel(sequence: u64, time: u64, text: &str) -> Message {
    Message {
        sequence,
        time,
        level: 6,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn driver(library: Library, product: &str) -> Driver {
    Driver {
        library,
        product: Ok(product.into()),
    }
}

fn h100() -> Driver {
    driver(Library::Loaded, "NVIDIA H100 80GB HBM3")
}

fn no_driver() -> Driver {
    driver(Library::NotFound("libnvidia-ml.so.1".into()), "")
}

#[test]
fn a_crash_is_an_event() {
    let event = event(&context(), &kernel(7, 1_000_500, CRASH)).unwrap();
    assert_eq!((event.time, event.name.as_str()), (1_000_500, EVENT_NAME));
    assert_eq!(event.name, "nvidia_nccl_segfault_in_libnccl");
    assert_eq!(event.event_type, EventType::Warning);
    assert_eq!(
        event.message,
        "NCCL communication error (segfault in libnccl.so)"
    );
    assert_eq!(event.evidence, [Evidence::Kmsg(7)]);
    assert_eq!(event.extra_info, []);
    let other = CRASH.replace("python3[88121]", "python3[88122]");
    let later = super::event(&context(), &kernel(8, NOW + 5_000, &other)).unwrap();
    assert_eq!(later.time, NOW, "a time in the future would be refused");
    // All processes of the machine are counted together.
    assert_eq!(later.merge, event.merge);
    assert_eq!(event.merge.map(|rule| rule.window_seconds), Some(60));
    assert_eq!(
        super::event(&context(), &kernel(9, 1, "eth0: link up")),
        None
    );
}

#[test]
fn whose_lines_are_believed() {
    for (facility, believed) in [(0, true), (1, true), (5, true), (3, false), (9, false)] {
        let message = Message {
            facility,
            ..kernel(7, 1_000, CRASH)
        };
        assert_eq!(
            event(&context(), &message).is_some(),
            believed,
            "{facility}"
        );
    }
}

#[test]
fn the_state_never_changes() {
    for (driver, stored, supported) in [
        (h100(), false, true),
        (
            driver(Library::Failed("Unknown Error".into()), ""),
            false,
            true,
        ),
        (driver(Library::Loaded, ""), false, false),
        (no_driver(), false, false),
        (no_driver(), true, true),
    ] {
        let report = check(&driver, || Ok(stored)).unwrap();
        assert_eq!(report.supported, supported, "{driver:?}");
        let expected = HealthState {
            name: None,
            time: None,
            ..HealthState::healthy(&context(), "no issue")
        };
        assert_eq!(report.states, [expected]);
        assert!(report.events.is_empty() && report.metrics.is_empty());
    }
    let unreadable = || Err(AccessError::Other("disk full".into()));
    assert!(check(&h100(), unreadable).is_ok(), "not asked");
    assert_eq!(
        check(&no_driver(), unreadable),
        Err(Error::Source(AccessError::Other("disk full".into())))
    );
}

#[test]
fn a_look_at_the_moment() {
    use Health::{Healthy, Unhealthy};
    let log = |messages: Vec<Message>| {
        Ok(LookBack {
            messages,
            scanned: 1_234,
            unparsable: 0,
        })
    };
    let crash = |sequence, time| kernel(sequence, time, CRASH);
    let scanned = "scanned kmsg(s)";
    let missing = "NVIDIA NVML library is not loaded";
    let nameless = "NVIDIA NVML is loaded but GPU is not detected (missing product name)";
    let failed = driver(Library::Failed("Unknown Error".into()), "");
    let eio = || Err(AccessError::Other("EIO".into()));
    for (driver, log, health, reason, error, events, supported) in [
        (h100(), log(vec![]), Healthy, scanned, None, 0, true),
        (
            h100(),
            log(vec![crash(1, 1)]),
            Healthy,
            scanned,
            None,
            1,
            true,
        ),
        (
            h100(),
            log(vec![crash(1, 1), crash(2, 59_999), crash(3, 60_000)]),
            Healthy,
            scanned,
            None,
            2,
            true,
        ),
        (
            h100(),
            log(vec![kernel(1, 1, "eth0: link up")]),
            Healthy,
            scanned,
            None,
            0,
            true,
        ),
        (
            h100(),
            Err(AccessError::Denied("kmsg".into())),
            Healthy,
            "kmsg reader is not set",
            None,
            0,
            true,
        ),
        (
            h100(),
            Err(AccessError::NotFound("kmsg".into())),
            Healthy,
            "kmsg reader is not set",
            None,
            0,
            true,
        ),
        (
            h100(),
            eio(),
            Health::Degraded,
            "cannot be judged: EIO",
            Some("EIO"),
            0,
            true,
        ),
        (no_driver(), log(vec![]), Healthy, missing, None, 0, false),
        (no_driver(), eio(), Healthy, missing, None, 0, false),
        (
            no_driver(),
            log(vec![crash(1, 1)]),
            Healthy,
            scanned,
            None,
            1,
            true,
        ),
        (
            driver(Library::Loaded, ""),
            log(vec![]),
            Healthy,
            nameless,
            None,
            0,
            false,
        ),
        (
            failed,
            log(vec![crash(1, 1)]),
            Unhealthy,
            "NVML initialization error: Unknown Error",
            None,
            0,
            true,
        ),
    ] {
        let report = scan(&context(), &driver, || log);
        assert_eq!((report.events.len(), report.supported), (events, supported));
        let state = &report.states[0];
        assert_eq!(
            (state.name.as_deref(), state.time),
            (Some(crate::COMPONENT), Some(NOW))
        );
        assert_eq!(
            (&state.health, state.reason.as_str(), state.error.as_deref()),
            (&health, reason, error)
        );
        assert_eq!(state.suggested_actions, None);
    }
}

#[test]
fn a_look_at_the_moment_has_a_bound() {
    let crashes = (0..600).map(|number| kernel(number, number * 60_000, CRASH));
    let look = LookBack {
        messages: crashes.collect(),
        scanned: 1_234,
        unparsable: 0,
    };
    let report = scan(&context(), &h100(), || Ok(look));
    assert_eq!(report.events.len(), 256);
    assert_eq!(report.events[255].evidence, [Evidence::Kmsg(599)]);
}
