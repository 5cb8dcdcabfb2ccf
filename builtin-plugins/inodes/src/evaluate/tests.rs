use super::*;
use gpud_builtin_shared::mounts::parse;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn filesystem(fstype: &str, total: u64, free: u64, available: u64) -> Option<Filesystem> {
    let mount = Mount {
        point: "/data".to_owned(),
        fstype: fstype.to_owned(),
        device: "8:1".to_owned(),
    };
    let usage = FsUsage {
        total_bytes: 100,
        free_bytes: available,
        available_bytes: available,
        total_inodes: total,
        free_inodes: free,
        read_only: false,
    };
    Filesystem::new(&mount, &usage)
}

#[test]
fn one_mount_of_each_filesystem() {
    let line = |device: &str, point: &str, fstype: &str| {
        format!("1 2 {device} / {point} rw - {fstype} x rw\n")
    };
    let text = [
        line("8:1", "/var/lib/docker", "ext4"),
        line("8:1", "/", "ext4"),
        line("0:30", "/run", "tmpfs"),
        line("0:31", "/var/lib/kubelet/pods/1/volumes/x", "tmpfs"),
        line("0:40", "/mnt", "nfs4"),
        line("0:41", "/b", "btrfs"),
        line("0:42", "/run/user/1000", "tmpfs"),
        line("0:43", "/var/lib/docker/overlay2/x/merged", "overlay"),
    ]
    .concat();
    let mounts = parse(&text);
    let points: Vec<&str> = chosen(&mounts)
        .iter()
        .map(|mount| mount.point.as_str())
        .collect();
    assert_eq!(points, ["/", "/run"]);
    let mounts = parse(&line("0:43", "/", "overlay"));
    assert_eq!(chosen(&mounts).len(), 1);
}

#[test]
fn verdicts() {
    let context = test_context("inodes", 1_000);
    for (config, fstype, free, space, health, event) in [
        ("{}", "ext4", 11, 50, Health::Healthy, None),
        ("{}", "ext4", 10, 50, Health::Degraded, Some("inodes_low")),
        (
            "{}",
            "ext4",
            1,
            50,
            Health::Unhealthy,
            Some("inodes_exhausted"),
        ),
        ("{}", "xfs", 1, 4, Health::Healthy, None),
        (
            "{}",
            "xfs",
            1,
            50,
            Health::Unhealthy,
            Some("inodes_exhausted"),
        ),
        (
            r#"{"ignored_mounts":["/data"]}"#,
            "ext4",
            0,
            50,
            Health::Healthy,
            None,
        ),
        (
            r#"{"degraded_percent":50}"#,
            "ext4",
            50,
            50,
            Health::Degraded,
            Some("inodes_low"),
        ),
    ] {
        let config = Config::parse(config).unwrap();
        let all = [filesystem(fstype, 100, free, space).unwrap()];
        let (report, _) = judge(&context, &config, &all, &[], &Memory::default());
        let name = report.events.first().map(|event| event.name.as_str());
        assert_eq!((&report.states[0].health, name), (&health, event));
        assert_eq!(report.metrics.len(), 3);
    }
    assert_eq!(filesystem("btrfs", 0, 0, 50), None);
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let context = test_context("inodes", 1_000);
    let config = Config::parse("{}").unwrap();
    let unread = ["/x".to_owned()];
    let (report, _) = judge(&context, &config, &[], &unread, &Memory::default());
    assert_eq!(
        report.states[0].reason,
        "no filesystem could be looked at; /x could not be looked at"
    );
    assert!(
        !judge(&context, &config, &[], &[], &Memory::default())
            .0
            .supported
    );
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
}
