use super::*;
use proptest::prelude::*;

const TRACKING: &str = "C0A80001,192.168.0.1,3,1700000000.123456789,-0.000012345,0.000001,0.00002,-12.3,0.001,0.05,0.01,0.002,64.5,Normal\n";

#[test]
fn answers() {
    let full = |synchronised, offset, measured, interval, distance| {
        Some(Source::Chrony {
            synchronised,
            offset,
            measured,
            interval,
            distance,
        })
    };
    let chrony = |synchronised, offset| full(synchronised, offset, 1_700_000_000, 64.5, 0.007);
    for (text, expected) in [
        (TRACKING, chrony(true, 0.000_012_345)),
        (
            &TRACKING.replace("Normal", "Insert second"),
            chrony(true, 0.000_012_345),
        ),
        (
            // chronyd 4.3 of Debian 12 that has found no server yet; and with `local stratum 10` alone.
            "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n",
            full(false, 0.0, 0, 0.0, 1.5),
        ),
        (
            "7F7F0101,,10,1795358384.027570234,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n",
            full(false, 0.0, 1_795_358_384, 0.0, 0.0),
        ),
        (
            &format!("chronyc: a warning, of one line\n{TRACKING}"),
            chrony(true, 0.000_012_345),
        ),
        ("506 Cannot talk to daemon\n", None),
        ("1,2,3,4,5,6", None),
        (&TRACKING.replace("-0.000012345", "nan"), None),
    ] {
        assert_eq!(tracking(text), expected, "{text}");
    }
    let systemd = |synchronised, service| Source::Systemd {
        synchronised,
        service,
    };
    for (text, expected) in [
        (
            "Timezone=UTC\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n",
            systemd(true, true),
        ),
        ("NTP=no\nNTPSynchronized=no\n", systemd(false, false)),
        ("NTPSynchronized=no\n", systemd(false, false)),
        ("Failed to connect to bus", Source::Unknown),
    ] {
        assert_eq!(timedate(text), expected, "{text}");
    }
    for (text, expected) in [
        (
            "      Local time: Mon 2026-01-05 10:00:00 UTC\n     NTP enabled: yes\nNTP synchronized: no\n RTC in local TZ: no\n",
            systemd(false, true),
        ),
        (
            "System clock synchronized: yes\n              NTP service: inactive\n",
            systemd(true, false),
        ),
        ("Failed to connect to bus: No such file\n", Source::Unknown),
    ] {
        assert_eq!(timedate_status(text), expected, "{text}");
    }
    assert_eq!(
        boot_time("cpu 1 2\nbtime 1795309757\nprocesses 3\n"),
        Some(1_795_309_757)
    );
    assert_eq!(boot_time("cpu 1"), None);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "[ -~\n,=]{0,200}") {
        tracking(&text);
        timedate(&text);
        timedate_status(&text);
        boot_time(&text);
    }
}
