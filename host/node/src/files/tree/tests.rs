use super::*;

fn short(tree: &Tree, path: &str) -> Option<Result<OwnedFd, SourceError>> {
    tree.open_plainly(path, OFlags::RDONLY | OFlags::CLOEXEC)
}

fn is_missing(opened: Option<Result<OwnedFd, SourceError>>) -> bool {
    matches!(opened, Some(Err(SourceError::NotFound(_))))
}

#[test]
fn only_plain_files_of_proc_take_the_short_way() {
    let tree = Tree::new(Path::new("/")).unwrap();
    if tree.proc.is_none() {
        eprintln!("left out: needs openat2 and a procfs");
        return;
    }
    let own = std::process::id();
    for (path, expected) in [
        (format!("/proc/{own}/stat"), true),
        ("/proc/stat".to_owned(), true),
        (format!("/proc/{own}/fd"), true),
        // Links of the kernel, also those that jump.
        ("/proc/self/stat".to_owned(), false),
        (format!("/proc/{own}/cwd"), false),
        (format!("/proc/{own}/root/etc/passwd"), false),
        (format!("/proc/{own}/fd/0"), false),
        ("/proc/net/tcp".to_owned(), false),
        // Out of it, and elsewhere.
        ("/proc/../etc/passwd".to_owned(), false),
        ("/proc".to_owned(), false),
        ("/procfs/stat".to_owned(), false),
    ] {
        assert_eq!(short(&tree, &path).is_some(), expected, "{path}");
    }
    assert!(is_missing(short(&tree, "/proc/no-such-file")));
    let folder = tempfile::tempdir().unwrap();
    let copy = Tree::new(folder.path()).unwrap();
    assert!(copy.proc.is_none() && copy.sys.is_none(), "a copy has none");
}

#[test]
fn files_of_sys_take_the_short_way_and_never_leave_it() {
    let tree = Tree::new(Path::new("/")).unwrap();
    if tree.sys.is_none() {
        eprintln!("left out: needs openat2 and a sysfs");
        return;
    }
    // Through a link of the kernel, and without one.
    for path in ["/sys/class/net/lo/mtu", "/sys/devices/virtual/net/lo/mtu"] {
        let opened = short(&tree, path).expect(path).expect(path);
        let real = real_path(path, &opened).unwrap();
        assert_eq!(real, "/sys/devices/virtual/net/lo/mtu");
    }
    for path in [
        "/sys/../etc/passwd",
        "/sys/class/../../etc/passwd",
        "/sys",
        "/system/stat",
        // Filesystems of their own, where they are mounted.
        "/sys/fs/cgroup/cgroup.controllers",
        "/sys/kernel/debug/sched",
    ] {
        assert!(!matches!(short(&tree, path), Some(Ok(_))), "{path}");
    }
    assert!(is_missing(short(&tree, "/sys/no-such-file")));
    assert!(is_missing(short(&tree, "/sys/class/net/lo/no-such-file")));
}
