//! Boots within a log.

use super::*;

#[test]
fn the_kernels_clock_going_back_is_a_boot() {
    let capture =
        capture("[  100.000000] a\n[  160.000000] b\n[    0.000000] c\n[   20.000000] d\n");
    assert_eq!(capture.log().boots, [0, 2]);
    // The first boot ended when the second one began.
    let boot = NOW - 20_000;
    assert_eq!(times(&capture), [boot - 60_000, boot, boot, NOW]);
}

#[test]
fn boots_are_distinguished() {
    for (text, boots) in [
        // Processors out of order.
        ("[   20.000000] a\n[   15.000000] b\n", &[0][..]),
        ("[   20.000000] a\n[    9.000000] b\n", &[0, 1]),
        // A short boot, and the banners of the next.
        (
            "[    2.000000] a\n[    0.000000] Linux version 6\n",
            &[0, 1],
        ),
        (
            "[    2.000000] a\n[    0.000000] Booting Linux on physical CPU 0x0\n[    0.000000] Linux version 6\n",
            &[0, 1],
        ),
        ("6,500,2000000,-;a\n6,0,0,-;b\n", &[0, 1]),
        ("6,500,2000000,-;a\n6,501,1000000,-;b\n", &[0]),
        (
            "Nov 21 02:00:00 h kernel: a\n-- Reboot --\nNov 21 02:00:01 h kernel: b\n",
            &[0, 1],
        ),
        (
            "Nov 21 02:00:00 h kernel: a\n-- Boot 0123456789abcdef0123456789abcdef --\nNov 21 02:00:01 h kernel: Linux version 6\nNov 21 02:00:01 h kernel: b\n",
            &[0, 1],
        ),
        (
            "Nov 21 02:00:00 h kernel: a\nNov 21 02:00:00 h kernel: b\nNov 21 02:00:01 h kernel: Linux version 6\n",
            &[0, 2],
        ),
        (
            "Nov 21 02:00:00 h kernel: Booting Linux on physical CPU 0x0\nNov 21 02:00:01 h kernel: Linux version 6\n",
            &[0],
        ),
        (
            "Nov 21 02:00:00 h kernel: [  999.000000] a\nNov 21 02:00:01 h kernel: [    0.000000] b\n",
            &[0, 1],
        ),
        (
            "{\"MESSAGE\":\"a\",\"_TRANSPORT\":\"kernel\",\"_BOOT_ID\":\"0123456789abcdef0123456789abcdef\"}\n{\"MESSAGE\":\"b\",\"_TRANSPORT\":\"kernel\",\"_BOOT_ID\":\"1123456789abcdef0123456789abcdef\"}\n",
            &[0, 1],
        ),
        ("-- Reboot --\n[    1.000000] a\n", &[0]),
    ] {
        assert_eq!(capture(text).log().boots, boots, "{text}");
    }
}

#[test]
fn differences_add_up() {
    let relative = capture("[<    5.000000>] a\n[<    0.250000>] b\n[<   10.000000>] c\n");
    assert_eq!(relative.log().clock, Clock::SinceBoot);
    assert_eq!(times(&relative), [NOW - 10_250, NOW - 10_000, NOW]);

    let minutes = capture(
        "[  +0.100000] cut off\n[Nov21 04:14] a\n[  +0.000600] b\n[  +0.000600] c\n[ +12.000000] d\n[Nov21 04:16] e\n",
    );
    assert_eq!(
        (minutes.log().clock, minutes.format),
        (Clock::Wall, Some(Format::DmesgReltime))
    );
    let start = at("2026-11-21T04:14:00Z");
    let expected = [
        start,
        start,
        start,
        start + 1,
        start + 12_001,
        start + 120_000,
    ];
    assert_eq!(times(&minutes), expected);
    assert!(minutes.years_guessed);
}
