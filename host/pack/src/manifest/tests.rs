use proptest::prelude::*;

use super::*;

const PACK: &str = "name: acme-sensors\nvendor: Acme\nversion: 1.2.3\nneeds: {gpud: 0.1.0, programs: [ipmitool]}\nplugins:\n\
        - name: acme-fans\n  file: plugins/fans.wasm\n  interval: 1m\n  grants: {sysfs: ['/sys/class/hwmon/**'], config: true}\n  \
        config: {min_rpm: 300, names: [a]}\n";

#[test]
fn a_manifest_becomes_entries_of_a_spec() {
    let manifest = Manifest::parse(PACK.as_bytes()).unwrap();
    let own = BTreeMap::from([(
        "acme-fans".to_owned(),
        Map::from_iter([("min_rpm".to_owned(), json!(500))]),
    )]);
    let entries = manifest.entries("acme-sensors/ab", &own).unwrap();
    let wasm = entries[0].spec.wasm.as_ref().unwrap();
    assert_eq!(entries[0].component, "acme-fans");
    assert_eq!(wasm.path, "acme-sensors/ab/plugins/fans.wasm");
    assert_eq!(wasm.config, json!({"min_rpm": 500, "names": ["a"]}));
    assert_eq!(
        wasm.grants,
        json!({"sysfs": ["/sys/class/hwmon/**"], "config": true})
    );
    let other = BTreeMap::from([("x".to_owned(), Map::new())]);
    let error = manifest.entries("", &other).unwrap_err().to_string();
    assert!(error.contains("no plugin \"x\""), "{error}");
}

#[test]
fn what_is_wrong_is_named() {
    for (from, to, expected) in [
        ("acme-sensors", "Acme", "name: \"Acme\""),
        ("acme-sensors", "../x", "name: \"../x\""),
        ("vendor: Acme", "vendor: ''", "vendor: "),
        ("1.2.3", "1.2", "version: \"1.2\" is no version"),
        ("0.1.0", "new", "needs.gpud: \"new\" is no version"),
        ("plugins/fans.wasm", "../../etc/x", "leads out of it"),
        ("config: true", "config: 5", "grants.config"),
        ("sysfs:", "sysf:", "unknown interface `sysf`"),
        ("interval: 1m", "interval: 1s", "interval"),
        ("interval: 1m", "colour: red", "colour"),
        ("vendor: Acme\n", "", "vendor"),
    ] {
        let text = PACK.replace(from, to);
        assert_ne!(text, PACK);
        let error = Manifest::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(
            error.starts_with("pack.yaml: ") && error.contains(expected),
            "{to}: {error}"
        );
    }
    let twice = format!("{PACK}- {{name: acme-fans, file: b.wasm}}\n");
    assert!(
        Manifest::parse(twice.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("duplicate")
    );
    assert!(Manifest::parse(b"\xff").is_err());
}

#[test]
fn versions_are_ordered() {
    for (older, newer) in [
        ("0.1.0", "0.1.1"),
        ("0.9.0", "0.10.0"),
        ("1.0.0-rc.1", "1.0.0"),
    ] {
        assert!(version(older).unwrap() < version(newer).unwrap());
    }
    for bad in [
        "",
        "1",
        "1.2",
        "1.2.3.4",
        "a.b.c",
        "1.2.3-",
        "1..3",
        "1.2.3/x",
        "+1.2.3",
        "99999999999999999999.0.0",
    ] {
        assert_eq!(version(bad), None, "{bad}");
    }
    let manifest = Manifest::parse(PACK.as_bytes()).unwrap();
    manifest.check_gpud("0.1.0").unwrap();
    let error = manifest.check_gpud("0.0.9").unwrap_err().to_string();
    assert!(
        error.contains("needs gpud 0.1.0 or later, and this is 0.0.9"),
        "{error}"
    );
}

#[test]
fn only_more_is_more() {
    let manifest = |grants: &str| {
        let text = PACK.replace("{sysfs: ['/sys/class/hwmon/**'], config: true}", grants);
        Manifest::parse(text.as_bytes()).unwrap()
    };
    for (old, new, more) in [
        ("{kmsg: true}", "{kmsg: true}", &[][..]),
        ("{kmsg: true, config: true}", "{kmsg: true}", &[]),
        ("{}", "{kmsg: true}", &["acme-fans: kmsg: true"]),
        ("{}", "{kmsg: false}", &[]),
        (
            "{sysfs: [/a]}",
            "{sysfs: [/a, /b]}",
            &["acme-fans: sysfs: /b"],
        ),
        ("{exec: bash}", "{exec: [lsblk]}", &[]),
        (
            "{exec: [lsblk]}",
            "{exec: bash}",
            &["acme-fans: exec: bash"],
        ),
        (
            "{net: {loopback: [1]}}",
            "{net: {loopback: [1, 2], unix: [/s]}}",
            &["acme-fans: net: loopback: 2", "acme-fans: net: unix: /s"],
        ),
    ] {
        assert_eq!(beyond(&manifest(old), &manifest(new)), more, "{old} {new}");
    }
    let other = PACK.replace("acme-fans", "acme-psu");
    let other = Manifest::parse(other.as_bytes()).unwrap();
    assert_eq!(
        beyond(&manifest("{}"), &other).len(),
        2,
        "a new plugin asks for all of it"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_manifest_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Manifest::parse(&bytes);
    }

    #[test]
    fn any_version_is_read_or_not(text in "[0-9.a-z-]{0,20}") {
        let _ = version(&text);
    }
}
