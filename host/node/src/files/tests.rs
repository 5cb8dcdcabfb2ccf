use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::{
    pci::{ATTRIBUTES, DEVICES, is_attribute},
    tree::{Tree, Want},
    *,
};

const KIB: u64 = 1024;

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn roots(lines: &[&str]) -> Roots {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    Roots::parse(&lines).unwrap()
}

/// A small machine: two network devices as sysfs has them, three processes, a configuration file.
fn machine() -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for (net, up) in [("eth0", "up\n"), ("ib0", "down\n")] {
        write(root, &format!("/sys/devices/pci/{net}/operstate"), up);
        fs::create_dir_all(root.join("sys/class/net")).unwrap();
        let target = format!("../../devices/pci/{net}");
        symlink(target, root.join("sys/class/net").join(net)).unwrap();
    }
    for pid in ["1", "20", "self"] {
        write(root, &format!("/proc/{pid}/status"), format!("Pid: {pid}"));
        for fd in ["0", "1", "2"] {
            write(root, &format!("/proc/{pid}/fd/{fd}"), "");
        }
    }
    write(root, "/etc/secret", "hush");
    let files = Files::rooted(root).unwrap();
    (dir, files)
}

fn text(content: Result<Vec<u8>, SourceError>) -> String {
    String::from_utf8(content.unwrap()).unwrap()
}

fn denied<T: std::fmt::Debug>(answer: Result<T, SourceError>, to_add: &str) {
    match answer {
        Err(SourceError::Denied(text)) => assert!(text.contains(to_add), "{text}"),
        other => panic!("{other:?} instead of denied"),
    }
}

#[tokio::test]
async fn reads_are_exact_at_the_limit() {
    let (dir, files) = machine();
    for size in [0usize, 1, 4095, 4096, 4097, 200_000] {
        let content = vec![b'x'; size];
        write(dir.path(), "/data", &content);
        assert_eq!(files.read("/data", size as u64).await, Ok(content));
        if let Some(less) = (size as u64).checked_sub(1) {
            let what = "/data".to_owned();
            let (size, limit) = (size as u64, less);
            assert_eq!(
                files.read("/data", less).await,
                Err(SourceError::TooLarge { what, size, limit })
            );
        }
    }
    let missing = files.read("/nope", 1).await;
    assert_eq!(missing, Err(SourceError::NotFound("/nope".to_owned())));
    for bad in ["etc/secret", "/etc/../etc/secret", "/etc\0", "/etc"] {
        let answer = files.read(bad, 1).await;
        assert!(matches!(answer, Err(SourceError::Invalid(_))), "{bad:?}");
    }
}

#[tokio::test]
async fn globs_are_sorted_bounded_and_follow_sysfs_links() {
    let (_dir, files) = machine();
    let found = files
        .read_glob("/proc/[0-9]*/status", KIB, 10)
        .await
        .unwrap();
    let found: Vec<_> = found.into_iter().map(|(p, c)| (p, text(c))).collect();
    let pair = |path: &str, content: &str| (path.to_owned(), content.to_owned());
    assert_eq!(
        found,
        [
            pair("/proc/1/status", "Pid: 1"),
            pair("/proc/20/status", "Pid: 20")
        ]
    );
    let nets = files.read_glob("/sys/class/net/*/operstate", KIB, 2).await;
    assert_eq!(nets.unwrap().len(), 2);
    let too_many = files.read_glob("/sys/class/net/*/operstate", KIB, 1).await;
    assert!(matches!(
        too_many,
        Err(SourceError::TooLarge {
            size: 2,
            limit: 1,
            ..
        })
    ));
    let small = files.read_glob("/proc/1/stat?s", 3, 5).await.unwrap();
    assert!(matches!(
        small.as_slice(),
        [(_, Err(SourceError::TooLarge { .. }))]
    ));
    // What does not exist does not match, also behind the last wildcard.
    for none in ["/proc/*/nope", "/sys/class/infiniband/*/ports", "/nope"] {
        assert_eq!(files.read_glob(none, KIB, 1).await, Ok(vec![]), "{none}");
    }
    let recursive = files.read_glob("/sys/**", KIB, 1).await;
    assert!(matches!(recursive, Err(SourceError::Invalid(_))));
}

#[tokio::test]
async fn lists_links_and_facts() {
    let (dir, files) = machine();
    let kinds: Vec<_> = files
        .list("/", 10)
        .await
        .unwrap()
        .into_iter()
        .map(|entry| (entry.name, entry.kind))
        .collect();
    let directory = |name: &str| (name.to_owned(), FileKind::Directory);
    assert_eq!(
        kinds,
        [directory("etc"), directory("proc"), directory("sys")]
    );
    let nets = files.list("/sys/class/net", 2).await.unwrap();
    assert!(nets.iter().all(|entry| entry.kind == FileKind::Link));
    assert!(matches!(
        files.list("/sys/class/net", 1).await,
        Err(SourceError::TooLarge { limit: 1, .. })
    ));
    let target = files.read_link("/sys/class/net/eth0").await;
    assert_eq!(target, Ok("../../devices/pci/eth0".to_owned()));
    let not_a_link = files.read_link("/etc/secret").await;
    assert!(matches!(not_a_link, Err(SourceError::Invalid(_))));

    let file = dir.path().join("etc/secret");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let stat = files.stat("/etc/secret").await.unwrap();
    assert_eq!(
        (stat.kind, stat.size, stat.mode),
        (FileKind::File, 4, 0o640)
    );
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    let modified = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    assert_eq!(u128::from(stat.modified_ms), modified);

    let usage = files.statvfs("/etc").await.unwrap();
    let df = rustix::fs::statvfs(&file).unwrap();
    assert_eq!(usage.total_bytes, df.f_blocks * df.f_frsize);
    assert!(usage.available_bytes <= usage.free_bytes && usage.free_bytes <= usage.total_bytes);
    assert_eq!(usage.total_inodes, df.f_files);
}

#[tokio::test]
async fn entries_are_counted_per_directory() {
    let (_dir, files) = machine();
    let counts = files.count_entries("/proc/[0-9]*/fd", 10).await.unwrap();
    let entry = |path: &str| (path.to_owned(), Ok(3));
    assert_eq!(counts, [entry("/proc/1/fd"), entry("/proc/20/fd")]);
    // Files that match are not directories to count.
    assert_eq!(files.count_entries("/etc/*", 10).await, Ok(vec![]));
    assert!(files.count_entries("/proc/*/fd", 2).await.is_err());
}

#[tokio::test]
async fn links_cannot_leave_a_copied_machine() {
    let (dir, files) = machine();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "outside").unwrap();
    let etc = dir.path().join("etc");
    symlink(outside.path(), etc.join("absolute")).unwrap();
    symlink("../../../../../../../../etc/hostname", etc.join("dots")).unwrap();
    symlink("/etc/secret", etc.join("inside")).unwrap();
    for escape in ["/etc/absolute", "/etc/dots"] {
        let answer = files.read(escape, KIB).await;
        assert_eq!(answer, Err(SourceError::NotFound(escape.to_owned())));
    }
    assert_eq!(text(files.read("/etc/inside", KIB).await), "hush");
}

#[tokio::test]
async fn a_grant_confines_every_operation() {
    let (_dir, files) = machine();
    let granted = files.within(&roots(&["/sys/class/net/**", "/proc/[0-9]*/status"]));
    // Links of sysfs may lead elsewhere in sysfs.
    assert_eq!(
        text(granted.read("/sys/class/net/eth0/operstate", KIB).await),
        "up\n"
    );
    assert_eq!(text(granted.read("/proc/1/status", KIB).await), "Pid: 1");

    denied(
        granted.read("/etc/secret", KIB).await,
        "add \"/etc/secret\"",
    );
    denied(
        granted.read("/sys/devices/pci/eth0/operstate", KIB).await,
        "add \"/sys/devices",
    );
    denied(granted.stat("/etc/secret").await, "/etc/secret");
    denied(granted.statvfs("/etc").await, "/etc");
    denied(granted.list("/etc", 9).await, "/etc");
    denied(granted.read_link("/proc/self").await, "/proc/self");
    denied(granted.read_glob("/etc/*", KIB, 9).await, "add \"/etc/*\"");
    denied(
        granted.count_entries("/proc/*/fd", 9).await,
        "add \"/proc/*/fd\"",
    );

    // Above a grant only the way to it is visible.
    let names = |entries: Vec<DirEntry>| -> Vec<String> {
        entries.into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names(granted.list("/", 9).await.unwrap()), ["proc", "sys"]);
    assert_eq!(names(granted.list("/proc", 9).await.unwrap()), ["1", "20"]);
    let found = granted.read_glob("/proc/*/status", KIB, 9).await.unwrap();
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn user_made_links_pass_only_when_their_target_is_granted() {
    let (dir, files) = machine();
    write(dir.path(), "/run/app/state", "fine");
    let run = dir.path().join("run/app");
    symlink("/etc/secret", run.join("absolute")).unwrap();
    symlink("../../etc/secret", run.join("dots")).unwrap();
    symlink("../../etc", run.join("folder")).unwrap();
    symlink("../../proc/1/status", run.join("pseudo")).unwrap();
    symlink("state", run.join("own")).unwrap();
    // Even in /sys, where a copy may have been tampered with, a link must stay in /sys.
    symlink("/etc/secret", dir.path().join("sys/class/net/evil")).unwrap();

    let granted = files.within(&roots(&["/run/app/**", "/sys/class/net/**"]));
    assert_eq!(text(granted.read("/run/app/own", KIB).await), "fine");
    for escape in [
        "/run/app/absolute",
        "/run/app/dots",
        "/run/app/folder/secret",
        "/sys/class/net/evil",
    ] {
        denied(granted.read(escape, KIB).await, "add \"/etc/secret\"");
        denied(granted.stat(escape).await, "add \"/etc/secret\"");
    }
    denied(granted.list("/run/app/folder", 9).await, "add \"/etc\"");
    denied(
        granted.read("/run/app/pseudo", KIB).await,
        "add \"/proc/1/status\"",
    );
    let found = granted.read_glob("/run/app/*", KIB, 9).await.unwrap();
    let readable: Vec<_> = found
        .iter()
        .filter(|(_, content)| content.is_ok())
        .collect();
    assert_eq!(readable.len(), 2, "{found:?}");

    let both = files.within(&roots(&["/run/app/**", "/etc/secret"]));
    assert_eq!(text(both.read("/run/app/dots", KIB).await), "hush");
}

/// While a link is swapped between a granted and a secret file, a confined read may be refused but never tells.
#[tokio::test]
async fn swapping_a_link_never_leaks() {
    let (dir, files) = machine();
    write(dir.path(), "/run/app/state", "fine");
    let run = dir.path().join("run/app");
    symlink("state", run.join("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(Ordering::Relaxed) {
                for target in ["/etc/secret", "state"] {
                    symlink(target, run.join("new")).unwrap();
                    fs::rename(run.join("new"), run.join("link")).unwrap();
                }
            }
        }
    });
    let granted = files.within(&roots(&["/run/app/**"]));
    let (mut fine, mut refused) = (0, 0);
    for _ in 0..20_000 {
        match granted.read("/run/app/link", KIB).await {
            Ok(content) => {
                assert_eq!(content, b"fine");
                fine += 1;
            }
            Err(_) => refused += 1,
        }
        if fine > 50 && refused > 50 {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(fine > 0 && refused > 0, "{fine} {refused}");
}

#[tokio::test]
async fn a_pipe_that_never_answers_times_out_and_the_rest_goes_on() {
    let (dir, files) = machine();
    let pipe = dir.path().join("etc/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    let impatient = files.with_deadline(Duration::from_millis(50));
    let answer = impatient.read("/etc/pipe", KIB).await;
    assert!(matches!(answer, Err(SourceError::TimedOut { .. })));
    assert_eq!(
        files
            .stuck()
            .into_iter()
            .map(|s| s.what)
            .collect::<Vec<_>>(),
        ["read /etc/pipe"]
    );
    assert_eq!(text(files.read("/etc/secret", KIB).await), "hush");
    // A confined reader does not even open it.
    let confined = files.within(&roots(&["/etc/*"]));
    assert_eq!(
        confined.stat("/etc/pipe").await.unwrap().kind,
        FileKind::Special
    );
    drop(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
    while !files.stuck().is_empty() {
        tokio::task::yield_now().await;
    }
    let answer = confined.read("/etc/pipe", KIB).await;
    assert!(matches!(answer, Err(SourceError::Invalid(_))), "{answer:?}");
}

/// Names on the way to further segments: folders and links to them, and nothing of the files beside them.
#[tokio::test]
async fn only_folders_and_links_lead_on() {
    let (dir, files) = machine();
    for path in ["/groups/limit", "/groups/a/kills", "/groups/a/limit"] {
        write(dir.path(), path, "0");
    }
    symlink("a", dir.path().join("groups/b")).unwrap();
    let expand = |pattern| {
        let mut paths = files.view().expand(pattern, Want::Itself).unwrap().paths;
        paths.sort();
        paths
    };
    let kills = expand("/groups/*/kills");
    assert_eq!(kills, ["/groups/a/kills", "/groups/b/kills"]);
    let all = expand("/groups/*");
    assert_eq!(all, ["/groups/a", "/groups/b", "/groups/limit"]);
}

#[tokio::test]
async fn directories_that_come_and_go_do_not_fail_a_glob() {
    let (dir, files) = machine();
    let stop = Arc::new(AtomicBool::new(false));
    let churn = thread::spawn({
        let (stop, root) = (Arc::clone(&stop), dir.path().to_owned());
        move || {
            while !stop.load(Ordering::Relaxed) {
                write(&root, "/proc/999/status", "here");
                fs::remove_dir_all(root.join("proc/999")).unwrap();
            }
        }
    });
    for _ in 0..500 {
        let found = files
            .read_glob("/proc/[0-9]*/status", KIB, 9)
            .await
            .unwrap();
        assert!(
            found.iter().all(|(_, content)| content.is_ok()),
            "{found:?}"
        );
        assert!(found.len() >= 2);
        let counts = files.count_entries("/proc/[0-9]*", 9).await.unwrap();
        assert!(counts.iter().all(|(_, count)| count.is_ok()), "{counts:?}");
    }
    stop.store(true, Ordering::Relaxed);
    churn.join().unwrap();
}

#[tokio::test]
async fn the_space_of_many_paths_comes_in_their_order_and_within_the_grant() {
    let (_dir, files) = machine();
    let granted = files.within(&roots(&["/etc/**", "/proc/1"]));
    let paths = ["/etc", "/sys", "/none", "/proc/1", "/etc/none", "etc"].map(str::to_owned);
    let asked = paths.len();
    let answers = granted.statvfs_all(paths.to_vec(), DEFAULT_DEADLINE).await;
    // One, unless a busy machine keeps it waiting.
    assert!(files.mounts.threads() < asked);
    let [etc, sys, none, process, gone, relative] = answers.try_into().unwrap();
    let one = files.statvfs("/etc").await.unwrap();
    assert_eq!(etc.unwrap().unwrap().total_bytes, one.total_bytes);
    assert_eq!(process.unwrap().unwrap().total_inodes, one.total_inodes);
    denied(sys.unwrap(), "add \"/sys\"");
    denied(none.unwrap(), "add \"/none\"");
    assert!(matches!(gone.unwrap(), Err(SourceError::NotFound(_))));
    assert!(matches!(relative.unwrap(), Err(SourceError::Invalid(_))));
}

#[tokio::test]
async fn counters_of_the_kernel_are_read_where_they_are_asked_for() {
    let files = Files::live().unwrap();
    let own = |path: &str| files.view().read_own(path, 4 * KIB * KIB).is_some();
    if !own("/proc/stat") {
        eprintln!("left out: needs openat2 and a procfs");
        return;
    }
    let mut read = 0;
    for path in PROMPT.into_iter().filter(|path| own(path)) {
        // A pressure file is there and still not to be read where the kernel was started without.
        if let Ok(content) = files.read(path, 4 * KIB * KIB).await {
            assert!(!content.is_empty(), "{path}");
            read += 1;
        }
    }
    assert!(read >= 7, "{read}");
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // Bounds and grants are those of any file.
    let tiny = files.read("/proc/stat", 3).await;
    assert!(
        matches!(tiny, Err(SourceError::TooLarge { .. })),
        "{tiny:?}"
    );
    let granted = files.within(&roots(&["/proc/uptime"]));
    denied(granted.read("/proc/stat", KIB).await, "add \"/proc/stat\"");
    // A copy of a machine is read on threads, and so is everything else.
    let (dir, copied) = machine();
    write(dir.path(), "/proc/stat", "copied");
    assert_eq!(text(copied.read("/proc/stat", KIB).await), "copied");
    assert_eq!(copied.kernel.threads(), 1);
    files.read("/proc/version", KIB).await.unwrap();
    assert_eq!(files.kernel.threads(), 1);
}

#[tokio::test]
async fn what_pci_devices_are_is_read_where_it_is_asked_for() {
    let files = Files::live().unwrap();
    let devices = files.list(DEVICES, 1024).await.unwrap_or_default();
    let Some(device) = devices.first().filter(|_| files.kernel.threads() == 0) else {
        eprintln!("left out: needs openat2, a sysfs and a PCI device");
        return;
    };
    let of_first = |name: &str| format!("{DEVICES}/{}/{name}", device.name);
    for name in ATTRIBUTES {
        let one = files.read(&of_first(name), KIB).await;
        let every = format!("{DEVICES}/*/{name}");
        let all = files.read_glob(&every, KIB, 1024).await.unwrap();
        // Of kernels without NUMA it has no node.
        assert_eq!(all.is_empty(), one.is_err(), "{name}");
        assert!(one.is_ok() || name == "numa_node", "{one:?}");
        if let Ok(one) = one {
            assert_eq!(all.len(), devices.len());
            assert_eq!(all[0], (of_first(name), Ok(one)));
            assert!(all.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
    let granted = files.within(&roots(&["/sys/bus/pci/devices/*/class"]));
    let classes = async || {
        let classes = granted.read_glob("/sys/bus/pci/devices/*/class", KIB, 1024);
        classes.await.unwrap()
    };
    let real = classes().await;
    assert_eq!(real.len(), devices.len());
    // It is not read again, until there is another device.
    assert_eq!(classes().await, real);
    files.devices.pretend("class", b"kept", true);
    assert_eq!(classes().await[0].1, Ok(b"kept".to_vec()));
    files.devices.pretend("class", b"kept", false);
    assert_eq!(classes().await, real);
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // The long way tells what is wrong, and knows what is like any file.
    denied(granted.read(&of_first("vendor"), KIB).await, "vendor");
    let vendors = granted.read_glob("/sys/bus/pci/devices/*/vendor", KIB, 1024);
    denied(vendors.await, "vendor");
    let many = files
        .read_glob("/sys/bus/pci/devices/*/class", KIB, 0)
        .await;
    assert!(
        matches!(many, Err(SourceError::TooLarge { .. })),
        "{many:?}"
    );
    let short = files.read_glob("/sys/bus/pci/devices/*/class", 3, 1024);
    let short = short.await.unwrap();
    assert!(
        matches!(short[0].1, Err(SourceError::TooLarge { .. })),
        "{short:?}"
    );
    files.read(&of_first("uevent"), KIB).await.unwrap();
    assert_eq!(files.kernel.threads(), 1);
    // So is what only looks like one of these.
    for path in [
        "/sys/bus/pci/devices/a/b/class",
        "/sys/bus/pci/devices/class",
        "/sys/bus/pcie/devices/a/class",
    ] {
        assert!(!is_attribute(path), "{path}");
    }
}

#[tokio::test]
async fn names_and_links_of_sysfs_are_read_where_they_are_asked_for() {
    let files = Files::live().unwrap();
    let (class, link) = ("/sys/class/net", "/sys/class/net/lo");
    if files.view().list_own(class, 512).is_none() {
        eprintln!("left out: needs openat2 and a sysfs");
        return;
    }
    let granted = files.within(&roots(&["/sys/class/net/lo"]));
    let names: Vec<_> = granted.list(class, 512).await.unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(
        (names[0].name.as_str(), names[0].kind),
        ("lo", FileKind::Link)
    );
    let target = granted.read_link(link).await.unwrap();
    assert_eq!(target, "../../devices/virtual/net/lo");
    let gone = files.read_link("/sys/class/net/none").await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let gone = files.list("/sys/class/none", 512).await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let file = files.read_link("/sys/class/net/lo/mtu").await;
    assert!(matches!(file, Err(SourceError::Invalid(_))), "{file:?}");
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // A path that is not granted, or too large a file, is reported from a thread.
    denied(granted.read_link("/sys/class/net/eth0").await, "add");
    denied(granted.list("/sys/class/block", 512).await, "add");
    let much = files.list("/sys/class/net/lo", 1).await;
    assert!(
        matches!(much, Err(SourceError::TooLarge { .. })),
        "{much:?}"
    );
    assert_eq!(files.kernel.threads(), 1);
    // A copy of a machine is read on threads.
    let (_dir, copied) = machine();
    assert_eq!(copied.list(class, 512).await.unwrap()[0].name, "eth0");
    assert_eq!(copied.kernel.threads(), 1);
}

/// The machine this runs on, with and without `openat2`.
fn live() -> [Files; 2] {
    let old = Tree::new(Path::new("/")).unwrap().without_openat2();
    [Files::live().unwrap(), Files::over(old)]
}

#[tokio::test]
async fn the_real_proc_and_sys_can_be_read() {
    for files in live() {
        assert!(files.is_live());
        let own = format!("/proc/{}/status", std::process::id());
        let granted = files.within(&roots(&["/proc/self/**", "/proc/mounts", "/sys/class/**"]));
        let status = text(granted.read("/proc/self/status", 64 * KIB).await);
        assert!(
            status.contains(&format!("Pid:\t{}", std::process::id())),
            "{status}"
        );
        assert!(!text(granted.read("/proc/mounts", KIB * KIB).await).is_empty());
        denied(granted.read(&own, KIB).await, "add \"/proc/");

        let all = files
            .read_glob("/proc/[0-9]*/status", 64 * KIB, 65_536)
            .await
            .unwrap();
        assert!(all.iter().any(|(path, _)| *path == own));
        let counts = files.count_entries("/proc/self/fd", 1).await.unwrap();
        let open = fs::read_dir("/proc/self/fd").unwrap().count();
        let [(_, Ok(count))] = counts.as_slice() else {
            panic!("{counts:?}")
        };
        // Other tests open and close files in the meantime.
        assert!(*count > 2 && (*count as usize).abs_diff(open) < 200);
        let loopback = granted.read("/sys/class/net/lo/address", KIB).await;
        assert_eq!(text(loopback), "00:00:00:00:00:00\n");
    }
}

#[tokio::test]
async fn links_into_processes_are_never_followed() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink("/proc/self/root/etc/passwd", &link).unwrap();
    let link = link.to_str().unwrap();
    let file = fs::File::open("/etc/passwd").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    let own_fd = format!("/proc/self/fd/{fd}");
    for files in live() {
        let granted = files.within(&roots(&["/proc/**", "/etc/**", "/tmp/**", link]));
        for path in [
            "/proc/self/root/etc/passwd",
            "/proc/self/root/proc/1/environ",
            "/proc/self/cwd/Cargo.toml",
            "/proc/self/exe",
            "/proc/thread-self/root/etc/passwd",
            &own_fd,
            link,
        ] {
            let answer = granted.read(path, KIB * KIB).await;
            assert!(matches!(answer, Err(SourceError::Denied(_))), "{path}");
        }
        assert!(granted.read("/etc/passwd", KIB * KIB).await.is_ok());
        let counts = granted.count_entries("/proc/self/fd", 1).await.unwrap();
        assert!(counts.iter().all(|(_, count)| count.is_ok()), "{counts:?}");
    }
}

#[tokio::test]
async fn no_grant_reaches_secrets_however_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (data, plain) = (folder.join("data"), folder.join("plain"));
    write(&data, "/token", "secret");
    write(&plain, "/file", "all well");
    let own = std::process::id();
    let environ = format!("/proc/{own}/environ");
    for (link, target) in [
        ("environ", Path::new(&environ)),
        ("own", Path::new("/proc/self/cmdline")),
        ("data", data.as_path()),
        ("token", &data.join("token")),
    ] {
        symlink(target, plain.join(link)).unwrap();
    }
    // A second name, and another machine's root.
    let key = folder.join("key");
    write(&folder, "/key", "secret");
    fs::hard_link(&key, plain.join("second-name")).unwrap();
    write(&plain, "/root/etc/shadow", "secret");
    let files = Files::live_sealing(&[data.clone(), key.clone()], None).unwrap();
    let confined = files.within(&roots(&["/**"]));
    let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(
        text(confined.read(&path(plain.join("file")), KIB).await),
        "all well"
    );
    for sealed in [
        environ.clone(),
        "/proc/self/environ".to_owned(),
        "/proc/1/mem".to_owned(),
        "/proc/kmsg".to_owned(),
        "/etc/shadow".to_owned(),
        path(data.join("token")),
        path(plain.join("environ")),
        path(plain.join("own")),
        path(plain.join("token")),
        path(plain.join("data/token")),
        path(key),
        path(plain.join("second-name")),
        path(plain.join("root/etc/shadow")),
    ] {
        denied(confined.read(&sealed, KIB).await, "no grant reaches that");
        denied(confined.stat(&sealed).await, "no grant reaches that");
        // Of a link, the answer of the one match says it.
        let mut found = confined.read_glob(&sealed, KIB, 9).await;
        if let Ok(answers) = &mut found {
            found = Err(answers.remove(0).1.unwrap_err());
        }
        denied(found, "no grant reaches");
    }
    for sealed in [path(data.clone()), "/proc/1/fd".to_owned()] {
        denied(confined.list(&sealed, 99).await, "no grant reaches that");
    }
    let link = format!("/proc/{own}/exe");
    denied(confined.read_link(&link).await, "no grant reaches that");
    // Names that lead nowhere are not shown either, and what is left is.
    let names = confined.list(&path(folder.clone()), 99).await.unwrap();
    let names: Vec<_> = names.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["plain"]);
    let counted = confined.count_entries("/proc/[0-9]*/fd", 1 << 16).await;
    let counted = counted.unwrap();
    let mine = format!("/proc/{own}/fd");
    assert!(
        counted
            .iter()
            .any(|(path, count)| *path == mine && count.is_ok())
    );
    // The space of a filesystem shows nothing of a file; and the daemon itself is not confined.
    assert!(confined.statvfs(&path(data.clone())).await.is_ok());
    assert_eq!(
        text(files.read(&path(data.join("token")), KIB).await),
        "secret"
    );
}

/// A file or folder that is mounted in a second place, which only root can do.
struct SecondPlace(std::path::PathBuf);

impl SecondPlace {
    fn new(original: &Path, place: &Path) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.arg("--bind").args([original, place]).output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(place.to_owned()))
    }
}

impl Drop for SecondPlace {
    fn drop(&mut self) {
        let mut unmount = std::process::Command::new("umount");
        let _ = unmount.arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn no_grant_reaches_secrets_through_a_second_mount() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (data, place, users) = (
        folder.join("data"),
        folder.join("place"),
        folder.join("users"),
    );
    write(&data, "/inner/token", "secret");
    fs::create_dir(&place).unwrap();
    fs::write(&users, "").unwrap();
    let files = Files::live_sealing(std::slice::from_ref(&data), None).unwrap();
    let confined = files.within(&roots(&["/**"]));
    let (Some(_place), Some(_users)) = (
        SecondPlace::new(&data, &place),
        SecondPlace::new(Path::new("/etc/shadow"), &users),
    ) else {
        eprintln!("left out: nothing can be mounted here");
        return;
    };
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let token = path(&place.join("inner/token"));
    for sealed in [
        &path(&place),
        &path(&place.join("inner")),
        &token,
        &path(&users),
    ] {
        denied(confined.stat(sealed).await, "no grant reaches that");
    }
    denied(confined.read(&token, KIB).await, "no grant reaches that");
    denied(
        confined.list(&path(&place), 9).await,
        "no grant reaches that",
    );
}

#[tokio::test]
async fn only_a_builtin_check_reads_environments_and_never_our_own() {
    let files = Files::live().unwrap();
    let granted = roots(&["/proc/*/environ"]);
    let own = format!("/proc/{}/environ", std::process::id());
    let confined = files.within(&granted);
    denied(confined.read("/proc/1/environ", KIB).await, "no grant");
    let builtin = files.within(&granted.with_environments());
    denied(builtin.read(&own, KIB).await, "no grant");
    let all = builtin.read_glob("/proc/*/environ", 1 << 20, 1 << 16).await;
    let all = all.unwrap();
    assert!(!all.is_empty() && all.iter().all(|(path, _)| *path != own));
}

#[tokio::test]
async fn names_that_are_no_text_are_shown_and_opened() {
    use std::os::unix::ffi::OsStrExt as _;

    let (dir, files) = machine();
    let folder = dir.path().join(std::ffi::OsStr::from_bytes(b"mnt/d\xffta"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("size"), "7").unwrap();
    // A name that holds the text of an escape itself.
    write(dir.path(), "/mnt/d\\xfeta/size", "8");
    let names = files.list("/mnt", 9).await.unwrap();
    let names: Vec<_> = names.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["d\\xfeta", "d\\xffta"]);
    let granted = files.within(&roots(&["/mnt/**"]));
    for files in [&files, &granted] {
        assert_eq!(text(files.read("/mnt/d\\xffta/size", 9).await), "7");
        assert_eq!(text(files.read("/mnt/d\\xfeta/size", 9).await), "8");
        assert!(files.stat("/mnt/d\\xffta").await.is_ok());
        assert!(files.statvfs("/mnt/d\\xffta").await.unwrap().total_bytes > 0);
        let found = files.read_glob("/mnt/*/size", 9, 9).await.unwrap();
        assert_eq!(found.len(), 2);
        assert!(
            found.iter().all(|(_, content)| content.is_ok()),
            "{found:?}"
        );
    }
    let missing = files.read("/mnt/d\\xfdta/size", 9).await;
    assert!(
        matches!(missing, Err(SourceError::NotFound(_))),
        "{missing:?}"
    );
    denied(
        granted.read("/etc\\xff/secret", 9).await,
        "/etc\\xff/secret",
    );
}
