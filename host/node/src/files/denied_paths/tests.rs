use super::*;

fn denied() -> DeniedPaths {
    DeniedPaths {
        own_pid: "77".to_owned(),
        own_files: vec!["/srv/gpud".to_owned()],
        own_identities: Vec::new(),
    }
}

#[test]
fn secrets_are_denied_and_what_checks_read_is_not() {
    for path in [
        "/proc/kmsg",
        "/proc/kcore",
        "/proc/sys/net/ipv4/tcp_fastopen_key",
        "/proc/sys/net/ipv6/conf/eth0/stable_secret",
        "/proc/1/environ",
        "/proc/1/mem",
        "/proc/1/maps",
        "/proc/1/smaps_rollup",
        "/proc/1/stack",
        "/proc/1/root",
        "/proc/1/root/etc/passwd",
        "/proc/1/cwd",
        "/proc/1/fd",
        "/proc/1/fd/3",
        "/proc/1/task/2/environ",
        "/proc/1/task/2/task/3/mem",
        "/proc/self/environ",
        "/proc/self/cmdline",
        "/proc/thread-self/cmdline",
        "/proc/77/cmdline",
        "/proc/77/io",
        "/proc/77/attr/current",
        "/dev/mem",
        "/dev/kmsg",
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/sudoers.d/x",
        "/etc/ssh/ssh_host_ed25519_key",
        "/root/.ssh",
        "/home/x/.ssh/id_rsa",
        "/run/secrets/kubernetes.io/serviceaccount/token",
        "/sys/kernel/debug/x",
        "/srv/gpud",
        "/srv/gpud/token",
        "/etc/security/opasswd",
        "/var/lib/gpud/token",
        "/host/etc/shadow",
        "/host/etc/ssh/ssh_host_rsa_key",
        "/host/var/lib/gpud/token",
        "/host/sys/kernel/debug/x",
        "/var/lib/docker/overlay2/1/merged/etc/shadow",
        "/var/lib/docker/overlay2/1/merged/run/secrets/x",
        // Copies that programs make while they write, and leave.
        "/etc/shadow+",
        "/etc/gshadow+",
        "/etc/shadow.edit",
        "/etc/shadow~",
        "/etc/.shadow.swp",
        "/etc/gshadow.dpkg-old",
        "/etc/security/nopasswd",
        "/etc/security/opasswd.old",
        "/etc/sudoers.tmp",
        "/etc/krb5.keytab.bak",
        "/etc/ssh/ssh_host_rsa_key.Xa81yd",
        "/var/backups/shadow.bak",
        "/var/backups/gshadow.bak",
        "/host/var/backups/shadow.bak",
        // The environment of the service.
        "/etc/default/gpud",
        "/etc/default/gpud.bak",
        "/etc/default/gpud.plugins.yaml",
        "/etc/sysconfig/gpud",
        // What was replaced since it was opened.
        "/etc/shadow (deleted)",
        "/etc/ssh/ssh_host_rsa_key (deleted)",
        "/srv/gpud (deleted)",
    ] {
        assert!(denied().holds(path, WantedPart::Inside, false), "{path}");
        assert!(!denied().holds(path, WantedPart::Space, false), "{path}");
    }
    for path in [
        "/proc",
        "/proc/stat",
        "/proc/1",
        "/proc/1/stat",
        "/proc/1/cmdline",
        "/proc/1/cgroup",
        "/proc/1/mountinfo",
        "/proc/1/task",
        "/proc/1/task/2",
        "/proc/1/task/2/stat",
        "/proc/77/stat",
        "/proc/self/mountinfo",
        "/proc/self/net/tcp",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/net/ipv4/tcp_fastopen",
        "/proc/sys/net/ipv6/conf/eth0/mtu",
        "/dev/shm/x",
        "/etc/passwd",
        "/etc/ssh/ssh_host_ed25519_key.pub",
        "/etc/ssh/sshd_config",
        "/sys/class/net/lo/mtu",
        "/sys/kernel/mm/x",
        "/srv/gpud2",
        "/srv",
        "/host/etc/passwd",
        "/srv/etc",
        "/srv/shadow",
        "/etc/shadows",
        "/etc/default/grub",
        "/etc/default/gpudx",
        "/etc/security/limits.conf",
        "/etc/krb5.conf",
        "/var/backups/passwd.bak",
        "/var/backups/dpkg.status.0",
        "/var/lib/gpud2/x",
    ] {
        assert!(!denied().holds(path, WantedPart::Inside, false), "{path}");
    }
}

#[test]
fn open_files_are_counted_and_not_shown() {
    for path in ["/proc/1/fd", "/proc/77/fd", "/proc/1/task/2/fd"] {
        assert!(!denied().holds(path, WantedPart::Count, false), "{path}");
    }
    assert!(denied().holds("/proc/1/fd/3", WantedPart::Count, false));
    assert!(denied().holds("/proc/1/map_files", WantedPart::Count, false));
}

#[test]
fn a_builtin_check_sees_the_environments_of_others() {
    assert!(!denied().holds("/proc/1/environ", WantedPart::Inside, true));
    for own in ["/proc/77/environ", "/proc/self/environ", "/proc/1/mem"] {
        assert!(denied().holds(own, WantedPart::Inside, true), "{own}");
    }
}
