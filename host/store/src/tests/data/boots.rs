//! Records of boots.

use super::*;

#[tokio::test]
async fn a_boot_is_recorded_once_whatever_stands_near_it() {
    let store = in_memory();
    let boot = 1_770_091_506_000;
    let record = |now: u64, time: u64, id: &'static str| {
        let store = store.clone();
        async move { store.record_reboot(now, time, id).await.unwrap() }
    };
    insert(&store, "os", event(boot / 1000 - 5, "vfs", "limit")).await;
    assert!(record(boot + 4 * DAY, boot, "one").await);
    assert!(!record(boot + 4 * DAY, boot, "one").await);
    // The kernel's idea of the boot time moved, the boot is the same.
    assert!(!record(boot + 5 * DAY, boot + 70_000, "one").await);
    assert!(record(boot + 5 * DAY, boot + 30_000, "two").await);
    // Lost metadata does not make a second row.
    store.meta_set("last_boot_id", "").await.unwrap();
    assert!(!record(boot + 5 * DAY, boot + 99_000, "two").await);
    // Too old, and unknown.
    assert!(!record(boot + 14 * DAY, boot, "three").await);
    assert!(!record(boot, 0, "four").await);
    let reboots = store.reboots(0).await.unwrap();
    let shown: Vec<(&str, &str, u64)> = reboots
        .iter()
        .map(|row| {
            (
                row.event.message.as_str(),
                row.event.event_type.as_str(),
                row.event.time,
            )
        })
        .collect();
    let expected = [
        (
            "system reboot detected 2026-02-03 04:05:36 +0000 UTC",
            "Warning",
            boot + 30_000,
        ),
        (
            "system reboot detected 2026-02-03 04:05:06 +0000 UTC",
            "Warning",
            boot,
        ),
    ];
    assert_eq!(shown, expected);
    assert_eq!(store.reboots(boot).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_boot_follows_a_clock_that_was_set_back_and_stays_when_it_is_set_forward() {
    let boot = 1_770_091_506_000;
    // The boot's time by the clock at a later look, and as it is stored then.
    for (later, stored) in [
        (boot, boot),
        (boot - 500, boot),
        (boot - 2 * DAY, boot - 2 * DAY),
        (boot + 2 * DAY, boot),
    ] {
        let store = in_memory();
        assert!(
            store
                .record_reboot(boot + DAY, boot - 9 * DAY, "zero")
                .await
                .unwrap()
        );
        assert!(store.record_reboot(boot + DAY, boot, "one").await.unwrap());
        assert!(
            !store
                .record_reboot(later + DAY, later, "one")
                .await
                .unwrap()
        );
        let times: Vec<u64> = store
            .reboots(0)
            .await
            .unwrap()
            .iter()
            .map(|row| row.event.time)
            .collect();
        assert_eq!(times, [stored, boot - 9 * DAY], "{later}");
    }
    let store = in_memory();
    store.record_reboot(boot + DAY, boot, "one").await.unwrap();
    store
        .record_reboot(boot, boot - 2 * DAY, "one")
        .await
        .unwrap();
    let reboots = store.reboots(0).await.unwrap();
    assert_eq!(
        reboots[0].event.message,
        "system reboot detected 2026-02-01 04:05:06 +0000 UTC"
    );
    assert_eq!(reboots[0].last_time, boot - 2 * DAY);
}

#[tokio::test]
async fn without_a_boot_id_boots_are_distinguished_by_time() {
    let store = in_memory();
    let boot = 1_770_091_506_000;
    for (time, expected) in [
        (boot, true),
        (boot, false),
        (boot + 59_000, false),
        (boot + 60_000, true),
    ] {
        assert_eq!(
            store.record_reboot(boot + DAY, time, "").await.unwrap(),
            expected,
            "{time}"
        );
    }
}
