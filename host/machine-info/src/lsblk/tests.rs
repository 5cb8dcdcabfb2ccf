use proptest::prelude::*;

use super::*;

const TREE: &str = r#"{"blockdevices":[
      {"name":"/dev/sdb","type":"disk","size":2000,"rota":"1","mountpoint":null,"children":[
        {"name":"/dev/md0","type":"raid1","size":1900,"mountpoint":"/data","fstype":"xfs","fsused":"100"}]},
      {"name":"/dev/sda","type":"disk","size":"2000","rota":false,"serial":" S1 ","children":[
        {"name":"/dev/sda1","type":"part","size":1,"mountpoint":"/mnt/cloud-metadata"},
        {"name":"/dev/md0","type":"raid1","size":1900,"mountpoint":"/data","fstype":"xfs","fsused":"100"}]},
      {"name":"/dev/loop0","type":"loop","size":5,"mountpoint":"/snap/x"},
      {"name":"/dev/sdc","type":"disk","size":"63.9M","mountpoint":"[SWAP]"},
      {"name":"/dev/vda","type":"disk","size":7,"mountpoint":"/","rota":true,"model":"M 1"}]}"#;

#[test]
fn a_tree_becomes_a_list_of_what_is_mounted() {
    let devices = from_json(TREE.as_bytes()).unwrap();
    assert_eq!(
        mounted(&devices),
        [
            BlockDevice {
                name: "/dev/md0".into(),
                device_type: "raid1".into(),
                size: 1900,
                used: 100,
                mount_point: "/data".into(),
                fs_type: "xfs".into(),
                parents: vec!["/dev/sda".into(), "/dev/sdb".into()],
                ..BlockDevice::default()
            },
            BlockDevice {
                name: "/dev/vda".into(),
                device_type: "disk".into(),
                size: 7,
                rota: true,
                model: "M 1".into(),
                mount_point: "/".into(),
                ..BlockDevice::default()
            },
        ]
    );
}

#[test]
fn pairs_of_old_versions() {
    let output = "NAME=\"/dev/sda\" TYPE=\"disk\" SIZE=\"10\" ROTA=\"1\" MODEL=\"A = B C\" MOUNTPOINT=\"\" PKNAME=\"\"\n\
                      NAME=\"/dev/sda1\" TYPE=\"part\" SIZE=\"9\" ROTA=\"1\" MOUNTPOINT=\"/a\\x20b\" PKNAME=\"/dev/sda\"\n";
    let devices = from_pairs(output).unwrap();
    assert_eq!(devices[0].facts.model, "A = B C");
    let found = mounted(&devices);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].name.as_str(), found[0].mount_point.as_str()),
        ("/dev/sda1", "/a b")
    );
    assert_eq!(
        (found[0].parents.as_slice(), found[0].rota),
        (&["/dev/sda".to_owned()][..], true)
    );
}

#[test]
fn other_output_is_refused() {
    for output in [
        "",
        "lsblk: unknown column",
        "{}",
        r#"{"blockdevices":{}}"#,
        "[]",
    ] {
        assert_eq!(from_json(output.as_bytes()), None, "{output}");
    }
    for output in ["", "\n", "lsblk: failed", "NAME=\"x", "TYPE=\"disk\""] {
        assert_eq!(from_pairs(output), None, "{output}");
    }
}

#[test]
fn sizes() {
    for (text, expected) in [
        ("", 0),
        ("12", 12),
        ("18446744073709551615", i64::MAX),
        ("63.9M", 63_900_000),
        ("1.5T", 1_500_000_000_000),
        ("9E", 9_000_000_000_000_000_000),
        ("99E", i64::MAX),
        ("-5", 0),
        ("xM", 0),
        ("NaNG", 0),
        ("?", 0),
    ] {
        assert_eq!(bytes(text), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_value_in_pairs_comes_back(value in "[ -~]{0,30}") {
        let escaped: String = value
            .bytes()
            .map(|byte| match byte {
                b'"' | b'\\' | b' ' => format!("\\x{byte:02x}"),
                byte => char::from(byte).to_string(),
            })
            .collect();
        let fields = pairs(&format!("NAME=\"{escaped}\" TYPE=\"disk\"")).unwrap();
        prop_assert_eq!(&fields["name"], &value);
        prop_assert_eq!(&fields["type"], "disk");
    }
}
