use super::*;

#[test]
fn durations_sizes_and_addresses() {
    for (text, millis) in [
        ("500ms", Some(500)),
        ("10s", Some(10_000)),
        ("5m", Some(300_000)),
        ("1h", Some(3_600_000)),
        ("10", None),
        ("", None),
        ("s", None),
        ("1.5s", None),
        ("-1s", None),
        ("99999999999999999999s", None),
    ] {
        let found = ConfigDuration::parse(text).map(|span| span.0.as_millis());
        assert_eq!(found, millis, "{text}");
    }
    for (text, bytes) in [
        ("0", Some(0)),
        ("64KiB", Some(65536)),
        ("16 MiB", Some(16 << 20)),
        ("1GB", None),
        ("99999999999GiB", None),
    ] {
        assert_eq!(ByteSize::parse(text).map(|size| size.0), bytes, "{text}");
    }
    for (text, shown) in [
        (
            "https://hooks.example/T0/secret",
            Some("https://hooks.example"),
        ),
        ("http://127.0.0.1:9093", Some("http://127.0.0.1:9093")),
        ("env:HOOK", Some("env:HOOK")),
        ("file:/etc/hook", Some("file:/etc/hook")),
        ("file:///etc/hook", Some("file:///etc/hook")),
        ("ftp://host", None),
        ("hooks.example/x", None),
    ] {
        let found = Address::parse(text).map(|address| address.shown());
        assert_eq!(found.as_deref(), shown, "{text}");
    }
}
