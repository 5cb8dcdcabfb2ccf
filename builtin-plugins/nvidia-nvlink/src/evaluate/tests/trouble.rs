//! GPUs that do not answer, and the kernel's complaint.

use super::*;
use gpud_sdk::policy;

fn complaint(ago_ms: u64) -> StoredEvent {
    let message = Message {
        sequence: 7,
        time: NOW - ago_ms,
        level: 3,
        facility: 0,
        text: "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!"
            .into(),
        dictionary: None,
    };
    let event = crate::kmsg::event(&context(), &message).unwrap();
    StoredEvent {
        last_time: event.time,
        count: 1,
        event,
    }
}

#[test]
fn gpus_in_trouble() {
    let unknown = AccessError::Other("nvmlX of GPU 1: Unknown Error".into());
    for (error, reason, action) in [
        (unknown, "error getting nvlink", &[][..]),
        (AccessError::SourceLost("x".into()), "GPU lost", REBOOT),
        (
            AccessError::NeedsReset("x".into()),
            "GPU requires reset",
            REBOOT,
        ),
    ] {
        let seen = and(on(H100, vec![up()]), error);
        let report = default(&seen, &[]);
        assert_eq!(short(&report), (Health::Unhealthy, reason, action));
        assert!(data(&report).contains(GPU_0));
    }
    let nothing = GpuReadings {
        product: H100.into(),
        gpus: vec![lost(0), lost(1)],
    };
    let report = default(&nothing, &[]);
    assert_eq!(short(&report).1, "GPU lost");
    assert_eq!(data(&report), "");
}

#[test]
fn a_call_that_hangs_for_long() {
    let hanging = |after_ms| {
        let info = TimeoutInfo {
            what: "nvmlDeviceGetNvLinkState of GPU 1".into(),
            after_ms,
            last_good: None,
        };
        default(&and(on(H100, vec![up()]), AccessError::TimedOut(info)), &[])
    };
    let short_one = hanging(60_000);
    assert_eq!(short(&short_one).2, []);
    let long_one = hanging(125_400);
    let (health, reason, action) = short(&long_one);
    assert_eq!((health, action), (Health::Unhealthy, REBOOT));
    assert!(
        reason.starts_with("NVIDIA NVLink health check has not completed for 2m5s; NVIDIA driver may be unresponsive; "),
        "{reason}"
    );
    for (seconds, text) in [
        (59, "59s"),
        (60, "1m0s"),
        (3_600, "1h0m0s"),
        (90_061, "25h1m1s"),
    ] {
        assert_eq!(duration(seconds), text);
    }
}

#[test]
fn the_kernels_complaint() {
    let minutes = |count: u64| count * 60_000;
    let other_boot = {
        let mut stored = complaint(minutes(1));
        stored.event.extra_info[0].1 = "b-other".into();
        stored
    };
    let other_event = StoredEvent {
        event: Event::new(NOW, "other", EventType::Info, ""),
        count: 1,
        last_time: NOW,
    };
    for (what, events, readings, way, open) in [
        (
            "just now, all well",
            vec![complaint(0)],
            vec![up(), up()],
            0,
            true,
        ),
        (
            "settled, all well",
            vec![complaint(minutes(2))],
            vec![up(), up()],
            0,
            false,
        ),
        (
            "settled, a link is down",
            vec![complaint(minutes(900))],
            vec![up(), down()],
            0,
            true,
        ),
        (
            "settled, no way",
            vec![complaint(minutes(5))],
            vec![up(), up()],
            5,
            true,
        ),
        (
            "settled, no links to see",
            vec![complaint(minutes(5))],
            vec![none(), none()],
            0,
            true,
        ),
        (
            "again",
            vec![complaint(minutes(1)), complaint(minutes(9))],
            vec![up(), up()],
            0,
            true,
        ),
        (
            "another boot",
            vec![other_boot],
            vec![down(), down()],
            0,
            false,
        ),
        (
            "another event",
            vec![other_event],
            vec![down(), down()],
            0,
            false,
        ),
        (
            "none, or set healthy",
            vec![],
            vec![down(), down()],
            0,
            false,
        ),
    ] {
        let seen = on("NVIDIA A10", readings);
        let pairs = ways(&seen, &[Some(way)]);
        let report = evaluate(
            &context(),
            &Config::default(),
            &seen,
            &pairs,
            &[],
            &events,
            "",
        );
        let state = only_state(&report);
        assert_eq!(state.health == Health::Unhealthy, open, "{what}");
        if open {
            assert_eq!(state.reason, MESSAGE);
            assert_eq!(actions(&report), (MESSAGE, REBOOT));
            assert_eq!(state.evidence[0], Evidence::Kmsg(7));
            assert_eq!(
                state.recovery,
                [
                    Recovery::NextGoodReading,
                    Recovery::Reboot,
                    Recovery::SetHealthy
                ]
            );
        }
    }
}

#[test]
fn a_scan_says_that_it_read_the_log() {
    let seen = on(H100, vec![up(), up()]);
    let pairs = ways(&seen, &[Some(0)]);
    let scan = |events: &[StoredEvent]| {
        evaluate(
            &context(),
            &Config::default(),
            &seen,
            &pairs,
            &[],
            events,
            "scanned kmsg(s); ",
        )
    };
    assert_eq!(
        only_state(&scan(&[])).reason,
        "scanned kmsg(s); all 2 GPU(s) were checked, no nvlink issue found"
    );
    assert_eq!(only_state(&scan(&[complaint(0)])).reason, MESSAGE);
}

#[test]
fn a_site_has_its_own_view() {
    let seen = on(H100, vec![up(), down()]);
    let pairs = ways(&seen, &[Some(0)]);
    let fine = "all 2 GPU(s) were checked, no nvlink issue found";
    for (policy, health, reason) in [
        ("{}", Health::Unhealthy, MESSAGE.to_owned()),
        (
            r#"{"nvlink_post_rx_detect_failure":{"severity":"ignore"}}"#,
            Health::Healthy,
            format!("{fine} (site policy)"),
        ),
        (
            r#"{"nvlink_post_rx_detect_failure":{"severity":"critical"}}"#,
            Health::Degraded,
            format!("{MESSAGE} (boot ID: b0) (site policy)"),
        ),
        (
            r#"{"nvlink_post_rx_detect_failure":{"threshold":2}}"#,
            Health::Healthy,
            format!("{fine} (site policy)"),
        ),
    ] {
        let document = format!("{{\"policy\":{policy}}}");
        let catalog = &crate::patterns::CATALOG;
        let (config, policy) = policy::settings(&document, catalog, Config::parse).unwrap();
        let judge =
            |events: &[StoredEvent]| evaluate(&context(), &config, &seen, &pairs, &[], events, "");
        let report = policy.judge(&context(), &[complaint(0)], || Ok(vec![]), judge);
        let report = report.unwrap();
        let state = only_state(&report);
        assert_eq!((&state.health, &state.reason), (&health, &reason));
    }
}

#[test]
fn a_scan_that_cannot_read_the_log() {
    let report = unread(&context(), &AccessError::Other("/dev/kmsg: broken".into()));
    let state = only_state(&report);
    assert_eq!(
        short(&report),
        (
            Health::Degraded,
            "cannot be judged: /dev/kmsg: broken",
            &[][..]
        )
    );
    assert_eq!(state.error.as_deref(), Some("/dev/kmsg: broken"));
}
