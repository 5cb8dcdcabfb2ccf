use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::{
    tree::{AccessKind, Tree},
    *,
};

mod confinement;
mod nonblocking;

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
async fn a_pattern_that_matches_many_long_paths_takes_no_memory_for_all_of_them() {
    let (dir, files) = machine();
    let deep = format!("/wide{}", format!("/{}", "d".repeat(250)).repeat(13));
    write(dir.path(), &format!("{deep}/first"), "");
    let folder = dir.path().join(deep.trim_start_matches('/'));
    for number in 0..10_000 {
        fs::write(folder.join(format!("{number:0>200}")), "").unwrap();
    }
    let answer = files.read_glob(&format!("{deep}/*"), KIB, 20_000).await;
    assert!(
        matches!(&answer, Err(SourceError::TooLarge { what, .. }) if what.starts_with("bytes of candidates")),
        "{answer:?}"
    );
    let some = format!("{deep}/{}00*", "0".repeat(196));
    let some = files.read_glob(&some, KIB, 20_000).await;
    assert_eq!(some.map(|found| found.len()), Ok(100));
}

#[tokio::test]
async fn checks_that_are_not_built_in_have_threads_of_their_own() {
    let (_dir, files) = machine();
    let everything = roots(&["/**"]);
    let (plugin, builtin) = (
        files.within(&everything),
        files.within(&everything.with_environments()),
    );
    let threads = || (files.kernel.threads(), files.mounts.threads());
    for path in ["/etc/secret", "/proc/1/status"] {
        plugin.read(path, KIB).await.unwrap();
    }
    assert_eq!(threads(), (0, 0));
    for path in ["/etc/secret", "/proc/1/status"] {
        builtin.read(path, KIB).await.unwrap();
    }
    assert_eq!(threads(), (1, 1));
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
async fn a_pipe_that_never_answers_times_out_and_the_rest_goes_on() {
    let (dir, files) = machine();
    let pipe = dir.path().join("etc/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    let impatient = files.with_deadline(Duration::from_millis(50));
    // However it is named, it keeps one thread.
    for path in ["/etc/pipe", "/etc//./pipe"] {
        let answer = impatient.read(path, KIB).await;
        assert!(matches!(answer, Err(SourceError::TimedOut { .. })));
    }
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
        let mut paths = files
            .view()
            .expand(pattern, AccessKind::Content)
            .unwrap()
            .paths;
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
    assert!(files.mounts_of_plugins.threads() < asked);
    let [etc, sys, none, process, gone, relative] = answers.try_into().unwrap();
    let one = files.statvfs("/etc").await.unwrap();
    assert_eq!(etc.unwrap().unwrap().total_bytes, one.total_bytes);
    assert_eq!(process.unwrap().unwrap().total_inodes, one.total_inodes);
    denied(sys.unwrap(), "add \"/sys\"");
    denied(none.unwrap(), "add \"/none\"");
    assert!(matches!(gone.unwrap(), Err(SourceError::NotFound(_))));
    assert!(matches!(relative.unwrap(), Err(SourceError::Invalid(_))));
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
