//! Network cards.

use super::*;

#[test]
fn a_network_card_is_named() {
    let event = all(&[(1, DEAD)]).remove(0);
    assert_eq!(event.name, "mlx5_fatal_error");
    assert_eq!(event.event_type, EventType::Fatal);
    assert_eq!(
        event.message,
        "Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(incidents::fact(&event, "names"), Some("mlx5_0,ens1np0"));
    assert_eq!(
        event.subject,
        Some(Subject::Other(("nic".into(), "0000:17:00.0".into())))
    );
    let event = all(&[(1, INIT)]).remove(0);
    let gpu = GpuId {
        uuid: None,
        serial: None,
        pci_id: Some("0000:3b:00.0".into()),
    };
    assert_eq!(event.subject, Some(Subject::Gpu(gpu)));
    // A card is looked up once, a GPU never.
    let mut asked = 0;
    let line = |text: &str| Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    let lines = [line(DEAD), line(INIT), line(DEAD)];
    events(&context(NOW), &lines, &mut Repeats::default(), |_| {
        asked += 1;
        vec![]
    });
    assert_eq!(asked, 1);
    let mut service = line(DEAD);
    service.facility = 3;
    let mut repeats = Repeats::default();
    assert_eq!(
        events(&context(NOW), &[service], &mut repeats, |_| vec![]),
        []
    );
}

#[test]
fn a_card_that_recovers_is_healthy_again() {
    let (health, reason) = verdict(&[(5, DEAD)]);
    assert_eq!(health, Health::Unhealthy);
    assert_eq!(
        reason,
        "Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(verdict(&[(5, DEAD), (4, BACK)]).0, Health::Healthy);
    assert_eq!(
        verdict(&[(5, DEAD), (4, &BACK.replace("17", "18"))]).0,
        Health::Unhealthy
    );
    assert_eq!(verdict(&[(5, BACK), (4, DEAD)]).0, Health::Unhealthy);
    let failed = "mlx5_core 0000:17:00.0: mlx5_health_try_recover:381:(pid 1): health recovery flow aborted, PCI reads still not working";
    let state = report(&[(5, DEAD), (4, failed)], &[]).states.remove(0);
    assert_eq!(
        state.reason,
        "Network card: recovery failed (0000:17:00.0), mlx5_0, ens1np0: health recovery flow aborted, PCI reads still not working; Network card: fatal error (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(
        state.recovery,
        [
            Recovery::Reboot,
            Recovery::At(NOW - 4 * MINUTE + LOOK_BACK_MS),
            Recovery::SetHealthy
        ]
    );
}

#[test]
fn what_devices_recover_from_counts_when_it_comes_often() {
    use Health::{Degraded, Healthy};
    for line in [
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
        "mlx5_core 0000:01:00.0: wait_func:1004:(pid 9): DESTROY_EQ(0x302) timeout. Will cause a leak of a command resource",
        "mlx5_core 0000:17:00.0 ens1np0: TX timeout detected",
    ] {
        assert_eq!(verdict(&[(9, line), (8, line)]).0, Healthy, "{line}");
        assert_eq!(
            verdict(&[(9, line), (8, line), (7, line)]).0,
            Degraded,
            "{line}"
        );
        assert_eq!(
            verdict(&[(99, line), (98, line), (97, line)]).0,
            Healthy,
            "{line}"
        );
    }
}

#[test]
fn a_time_out_of_sending_counts_once() {
    let watchdog = "mlx5_core 0000:17:00.0 ens1np0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5000 ms";
    let driver = "mlx5_core 0000:17:00.0 ens1np0: TX timeout detected";
    let events = all(&[(9, watchdog), (9, driver), (8, watchdog), (8, driver)]);
    assert_eq!(events.len(), 2);
    assert_eq!(
        events[0].message,
        "Network card: does not send (0000:17:00.0), mlx5_0, ens1np0"
    );
    assert_eq!(incidents::fact(&events[0], "queue"), Some("0"));
    // Two interfaces at once are two; the name of one is not looked up as a PCI id.
    let lines = ["eth0", "eth1"]
        .map(|name| format!("NETDEV WATCHDOG: {name} (e1000e): transmit queue 0 timed out"));
    let message = |text: &String| Message {
        sequence: 1,
        time: NOW,
        level: 3,
        facility: 0,
        text: text.clone(),
        dictionary: None,
    };
    let messages: Vec<Message> = lines.iter().map(message).collect();
    let events = events_without_lookup(&messages);
    assert_eq!(events.len(), 2);
    assert_eq!(
        (events[1].subject.as_ref(), incidents::device(&events[1])),
        (None, "eth1")
    );
}

#[test]
fn repeats_count_from_the_first_line() {
    // The edge of a window of the clock is between the two.
    let edge = NOW - NOW % 300_000 - 600_000;
    let line = |time: u64| Message {
        sequence: 1,
        time,
        level: 3,
        facility: 0,
        text: INIT.into(),
        dictionary: None,
    };
    let mut repeats = Repeats::restore(None, "boot");
    let first = events(
        &context(NOW),
        &[line(edge - 40_000)],
        &mut repeats,
        |_| vec![],
    );
    // The next batch, after a restart.
    let saved = repeats.changed();
    let mut repeats = Repeats::restore(saved.as_deref(), "boot");
    let second = events(
        &context(NOW),
        &[line(edge + 1_000)],
        &mut repeats,
        |_| vec![],
    );
    let stored = incidents::as_stored([first, second].concat());
    assert_eq!((stored.len(), stored[0].count), (1, 2));
}

#[test]
fn a_syndrome_is_as_heavy_as_its_report() {
    let severity = |word: &str| {
        format!(
            "mlx5_core 0000:17:00.0: print_health_info:496:(pid 0): Health issue observed, EQ error, {word}:"
        )
    };
    let syndrome = "mlx5_core 0000:17:00.0: print_health_info:510:(pid 0): synd 0xd: EQ error";
    let other = "mlx5_core 0000:61:00.0: print_health_info:510:(pid 0): synd 0xd: EQ error";
    let names = |texts: &[(u64, &str)]| -> Vec<String> {
        all(texts).into_iter().map(|event| event.name).collect()
    };
    let (warning, info) = (
        severity("severity(4) WARNING"),
        severity("severity(6) INFO"),
    );
    for (texts, expected) in [
        (&[(1, syndrome)][..], &["mlx5_health_issue"][..]),
        (
            &[(1, &*warning), (1, syndrome)],
            &["mlx5_health_warning", "mlx5_health_warning"],
        ),
        (
            &[(1, &*info), (1, syndrome)],
            &["mlx5_health_notice", "mlx5_health_notice"],
        ),
        (
            &[(1, &*info), (1, other)],
            &["mlx5_health_notice", "mlx5_health_issue"],
        ),
        (
            &[(3, &*info), (1, syndrome)],
            &["mlx5_health_notice", "mlx5_health_issue"],
        ),
    ] {
        assert_eq!(names(texts), expected, "{texts:?}");
    }
}
