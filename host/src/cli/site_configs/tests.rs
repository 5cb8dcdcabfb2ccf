use serde_json::{Value, json};

use super::*;

const KNOWN: [&str; 2] = ["accelerator-nvidia-error-xid", "disk"];

#[test]
fn keys_are_taken_by_component() {
    let text = "# policy of this site\naccelerator-nvidia-error-xid:\n  policy:\n    79: {actions: [REBOOT_SYSTEM]}\ndisk: {}\n";
    let site = SiteConfigs::parse("f", text, &KNOWN).unwrap();
    assert_eq!(
        Value::Object(site.of(KNOWN[0]).unwrap().keys),
        json!({"policy": {"79": {"actions": ["REBOOT_SYSTEM"]}}})
    );
    assert!(site.of("disk").unwrap().keys.is_empty());
    assert_eq!(site.of("os"), None);
    for empty in ["", "# nothing\n", "{}"] {
        assert_eq!(
            SiteConfigs::parse("f", empty, &KNOWN).unwrap().of("disk"),
            None
        );
    }
}

#[test]
fn mistakes_are_reported_with_their_position() {
    for (text, expected) in [
        ("disk: 5\n", "(f:1:7"),
        ("disk:\n  a: [1\n", "(f:"),
        ("- disk\n", "(f:1:1)"),
        (
            "dsik: {}\n",
            "no built-in component is called \"dsik\"; there are: accelerator-nvidia-error-xid, disk",
        ),
        (
            "disk: {}\ndisk: {}\n",
            "`disk` is given more than once (f:2:1",
        ),
    ] {
        let problem = SiteConfigs::parse("f", text, &KNOWN).unwrap_err();
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn a_named_file_must_be_there_and_the_default_need_not() {
    let missing = Path::new("/nonexistent/gpud.components.yaml");
    let problem = SiteConfigs::load(Some(missing)).unwrap_err();
    assert!(problem.contains("/nonexistent"), "{problem}");
    SiteConfigs::load(None).unwrap();
}

#[test]
fn a_file_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = tempfile::NamedTempFile::new().unwrap();
    SiteConfigs::load(Some(file.path())).unwrap();
    let open = std::fs::Permissions::from_mode(0o666);
    file.as_file().set_permissions(open).unwrap();
    let problem = SiteConfigs::load(Some(file.path())).unwrap_err();
    assert!(
        problem.contains("is not trusted") && problem.contains("chmod go-w"),
        "{problem}"
    );
}
