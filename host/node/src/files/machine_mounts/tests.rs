use super::*;

const MACHINE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:17 / /data rw - xfs /dev/sdb1 rw
31 22 8:33 / /my\\040disk rw - xfs /dev/sdc1 rw
32 22 0:30 / /btrfs rw - btrfs /dev/sdd rw
";
const POD: &str = "\
900 800 0:99 / / rw,relatime - overlay overlay rw
901 900 8:17 / /data rw - xfs /dev/sdb1 rw
902 900 8:1 / /host rw - ext4 /dev/sda1 rw
903 902 0:30 / /host/btrfs rw - btrfs /dev/sdd rw
";

#[test]
fn a_path_is_visible_where_it_leads_to_the_same_filesystem() {
    for (path, below, seen) in [
        // The pod's own root is another filesystem than the machine's.
        ("/", "", false),
        ("/var/lib/kubelet", "", false),
        ("/data", "", true),
        ("/data/sub", "", true),
        ("/my disk", "", false),
        ("/", "/host", true),
        ("/var/lib/kubelet", "/host", true),
        ("/btrfs", "/host", true),
        // The machine's root is there without what is mounted on it.
        ("/data", "/host", false),
        ("/my disk", "/host", false),
        ("/", "/nowhere", false),
    ] {
        assert_eq!(
            is_visible(MACHINE, POD, path, below),
            seen,
            "{path} at {below:?}"
        );
    }
}

#[test]
fn what_is_missing_from_the_same_place_is_absent() {
    let part = "904 902 8:1 /srv /part rw - ext4 /dev/sda1 rw\n";
    let pod = format!("{POD}{part}");
    for (path, below, same) in [
        ("/var/lib/docker", "/host", true),
        ("/btrfs/x", "/host", true),
        ("/", "/host", true),
        ("/data/sub", "", true),
        // Another folder of that filesystem.
        ("/var/lib/docker", "/part", false),
        ("/", "/part", false),
        // Another filesystem.
        ("/var/lib/docker", "", false),
        ("/data", "/host", false),
    ] {
        let found = is_same_place(MACHINE, &pod, path, below);
        assert_eq!(found, same, "{path} at {below:?}");
    }
}

#[test]
fn the_last_of_several_mounts_at_one_place_is_seen() {
    let text = format!("{MACHINE}40 22 8:49 / /data rw - ext4 /dev/sde rw\n");
    assert_eq!(device_of(&text, "/data/x"), Some("8:49"));
    assert_eq!(device_of(&text, "/database"), Some("8:1"));
    assert_eq!(device_of("broken\n", "/"), None);
}

#[test]
fn mounts_of_the_same_namespace_need_no_other_way() {
    assert_eq!(first_id(MACHINE), Some("22"));
    assert_eq!(first_id(""), None);
    let refused = not_visible("/data").to_string();
    for part in ["not visible from here", "--host-root", ROOT_VARIABLE] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}

#[test]
fn a_named_folder_takes_the_place_of_the_variable_s() {
    let mounts = MachineMounts {
        root: None,
        below: "/variable".to_owned(),
    };
    assert_eq!(mounts.below(Path::new("/host/")).below, "/host");
}
