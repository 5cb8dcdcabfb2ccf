use super::*;

fn select(yaml: &str) -> Select {
    serde_yaml::from_str(yaml).unwrap()
}

#[test]
fn components_are_named_or_left_out() {
    let wants =
        |list: &str, name: &str| select(&format!("components: {list}")).wants_component(name);
    for (list, name, wanted) in [
        ("[]", "disk", true),
        ("[disk]", "disk", true),
        ("[disk]", "cpu", false),
        ("[-disk]", "disk", false),
        ("[-disk]", "cpu", true),
        (
            "['accelerator-*', -accelerator-nvidia-ecc]",
            "accelerator-nvidia-ecc",
            false,
        ),
        (
            "['accelerator-*', -accelerator-nvidia-ecc]",
            "accelerator-nvidia-xid",
            true,
        ),
        ("['accelerator-*']", "disk", false),
    ] {
        assert_eq!(wants(list, name), wanted, "{list} {name}");
    }
}

#[test]
fn kinds_and_severities() {
    let node = crate::NodeIdentity::default();
    let info = Record::sample(0, node);
    assert!(select("{}").wants(&info));
    assert!(select("min_severity: info").wants(&info));
    assert!(!select("min_severity: warning").wants(&info));
    assert!(!select("records: health").wants(&info));
    assert!(select("records: events").wants(&info));
}
