use super::*;

#[test]
fn knows_the_priorities() {
    let names = [
        "EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG",
    ];
    for (expected, name) in (0u8..).zip(names) {
        assert_eq!(severity(&format!("KERN_{name}")), expected);
        assert_eq!(severity(&format!("kern.{}", name.to_lowercase())), expected);
    }
    for (name, expected) in [
        ("kern.warn", 4),
        ("KERN_DEFAULT", 6),
        ("kern.default", 6),
        ("", 6),
        ("KERN_err", 6),
        ("err", 6),
    ] {
        assert_eq!(severity(name), expected, "{name}");
    }
}

#[test]
fn splits_and_cuts() {
    let cases: [(u8, &str, &[&str]); 5] = [
        (6, "", &[]),
        (3, "one", &["<43>one\n"]),
        (0, "a\tb\n\nc\n", &["<40>a b\n", "<40>c\n"]),
        (99, "x", &["<47>x\n"]),
        (4, "ünï", &["<44>ünï\n"]),
    ];
    for (severity, message, expected) in cases {
        assert_eq!(
            lines(severity, message).collect::<Vec<_>>(),
            expected,
            "{message:?}"
        );
    }
    for (message, length) in [
        ("x".repeat(971), 976),
        ("x".repeat(972), 976),
        ("x".repeat(5000), 976),
        ("ü".repeat(600), 976),
    ] {
        let line = lines(6, &message).next().unwrap();
        assert_eq!(line.len(), length);
        assert_eq!(
            line.ends_with("...\n"),
            message.len() > 971,
            "{}",
            message.len()
        );
    }
}

#[test]
fn limits_the_message() {
    assert_eq!(validate_message(&"x".repeat(976)), Ok(()));
    let error = validate_message(&"x".repeat(977)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "message length exceeds the maximum length of 976"
    );
}

#[test]
fn says_when_it_cannot_write() {
    assert!(matches!(
        open(Path::new("/nonexistent/kmsg")),
        Err(SourceError::NotFound(_))
    ));
    assert!(matches!(
        open(Path::new("/proc")),
        Err(SourceError::Other(_))
    ));
}
