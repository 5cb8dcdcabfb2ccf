use super::*;

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// A folder as the kernel shows gpud's cgroup.
fn own_cgroup(controllers: &str, processes: &str) -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("cgroup.controllers"), controllers).unwrap();
    fs::write(base.path().join("cgroup.procs"), processes).unwrap();
    let runs = base.path().join(RUNS);
    fs::create_dir(&runs).unwrap();
    fs::write(runs.join("cgroup.kill"), "").unwrap();
    base
}

fn prepared(base: &Path, is_delegated: bool) -> &'static Cgroups {
    let own = Cgroups::prepare(base, 55, is_delegated, 64 << 30).unwrap();
    Box::leak(Box::new(own))
}

#[test]
fn a_run_is_bounded_and_killed_whole() {
    let base = own_cgroup("cpu memory pids", "55\n");
    let own = prepared(base.path(), true);
    assert!(own.bounds());
    assert_eq!(read(&base.path().join(LEAF), "cgroup.procs"), "55");
    for folder in [base.path().to_owned(), base.path().join(RUNS)] {
        assert_eq!(read(&folder, "cgroup.subtree_control"), "+memory +pids");
    }
    let run = own.create(3).unwrap();
    let folder = run.folder.clone();
    run.add(77).unwrap();
    assert_eq!(read(&folder, "cgroup.procs"), "77");
    assert_eq!(read(&folder, "pids.max"), "4096");
    assert_eq!(read(&folder, "memory.max"), (16_u64 << 30).to_string());
    assert_eq!(read(&folder, "memory.oom.group"), "1");
    drop(run);
    assert_eq!(read(&folder, "cgroup.kill"), "1");
}

#[test]
fn without_controllers_or_delegation_runs_are_only_killed() {
    let base = own_cgroup("cpu", "55\n");
    let own = prepared(base.path(), true);
    assert!(!own.bounds() && !base.path().join(LEAF).exists());
    let run = own.create(1).unwrap();
    assert!(!run.folder.join("memory.max").exists());
    // Others are in it, or nobody handed it over: gpud stays where it is.
    for (processes, is_delegated) in [("55\n66\n", true), ("55\n", false)] {
        let base = own_cgroup("memory pids", processes);
        prepared(base.path(), is_delegated);
        assert!(!base.path().join(LEAF).exists());
    }
}

#[test]
fn systems_without_it_are_recognised() {
    let base = tempfile::tempdir().unwrap();
    let error = Cgroups::prepare(base.path(), 1, false, 0).unwrap_err();
    assert!(error.to_string().contains("cgroup.kill"), "{error}");
    assert!(Cgroups::prepare(Path::new("/nonexistent"), 1, false, 0).is_err());
    let mounts = "24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      30 24 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
    let unified = PathBuf::from("/sys/fs/cgroup/unified");
    assert_eq!(mount_of(mounts), Some(unified));
    assert_eq!(mount_of("24 1 0:22 / /sys rw - sysfs sysfs rw\n"), None);
    let own = "4:memory:/x\n0::/system.slice/gpud.service\n";
    assert_eq!(own_path(own), Some("/system.slice/gpud.service"));
    for outside in ["4:memory:/x\n", "0::/../other\n", "0::/x (deleted)\n"] {
        assert_eq!(own_path(outside), None, "{outside}");
    }
}

#[test]
fn what_a_killed_gpud_left_is_removed() {
    let base = own_cgroup("", "");
    let runs = base.path().join(RUNS);
    let (stale, own) = (
        runs.join("999999999-1"),
        format!("{}-1", std::process::id()),
    );
    fs::create_dir(&stale).unwrap();
    fs::create_dir(runs.join(&own)).unwrap();
    prepared(base.path(), false);
    // The kernel removes a cgroup with its files; a folder of a test stays because one was written into it.
    assert_eq!(read(&stale, "cgroup.kill"), "1");
    assert_eq!(read(&runs.join(own), "cgroup.kill"), "");
}
