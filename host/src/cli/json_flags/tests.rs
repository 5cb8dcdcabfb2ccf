use super::*;

#[test]
fn ports_and_links() {
    let ports = |at_least_ports, at_least_rate| ExpectedPorts {
        at_least_ports,
        at_least_rate,
    };
    for (text, expected) in [
        (
            r#"{"at_least_ports":8,"at_least_rate":400}"#,
            Some(ports(8, 400)),
        ),
        (r#" {"at_least_ports":8, "more": 1}"#, Some(ports(8, 0))),
        (
            r#"{"at_least_ports":-8,"at_least_rate":99999999999}"#,
            Some(ports(0, u32::MAX)),
        ),
        ("{}", Some(ports(0, 0))),
        ("", None),
        ("[8,400]", None),
        (r#"{"at_least_ports":"8"}"#, None),
        (r#"{"at_least_ports":8} x"#, None),
    ] {
        assert_eq!(expected_ports("flag", text).ok(), expected, "{text}");
    }
    let links = expected_links(
        "flag",
        r#"{"at_least_gpus_with_all_links_feature_enabled":8}"#,
    );
    assert_eq!(links, Ok(8));
    let error = expected_links("nvlink-x", "8").unwrap_err();
    assert!(
        error.starts_with("invalid value for --nvlink-x: "),
        "{error}"
    );
}

#[test]
fn nfs() {
    let good = r#"[{"volume_path":"/a","dir_name":"d","file_contents":"x"}]"#;
    let group = NfsGroup {
        volume_path: "/a".into(),
        dir_name: "d".into(),
        file_contents: "x".into(),
    };
    assert_eq!(nfs_groups("flag", good), Ok(vec![group]));
    assert_eq!(nfs_groups("flag", "[]"), Ok(Vec::new()));
    for bad in [
        "{}",
        "null",
        r#"[{"volume_path":"a","file_contents":"x"}]"#,
        r#"[{"volume_path":"/a"}]"#,
    ] {
        assert!(nfs_groups("flag", bad).is_err(), "{bad}");
    }
}

#[test]
fn thresholds_are_strict() {
    let good = r#"{"overrides":{"79":{"rebootThreshold":3},"0":{"rebootThreshold":1}}}"#;
    assert_eq!(thresholds("xid", good), Ok([(79, 3), (0, 1)].into()));
    assert_eq!(
        thresholds("xid", r#"{"overrides":{}}"#),
        Ok(BTreeMap::new())
    );
    for bad in [
        "",
        "null",
        "[]",
        r#"{"overrides":[]}"#,
        r#"{"overrides":{},"more":1}"#,
        r#"{"overrides":{"-1":{"rebootThreshold":3}}}"#,
        r#"{"overrides":{"x":{"rebootThreshold":3}}}"#,
        r#"{"overrides":{"79":{"rebootThreshold":0}}}"#,
        r#"{"overrides":{"79":{}}}"#,
    ] {
        let error = thresholds("sxid", bad).unwrap_err();
        assert!(error.starts_with("invalid sxid thresholds: "), "{error}");
    }
}
