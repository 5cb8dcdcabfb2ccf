//! What a grant lets a check see, and links that lead out of it.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use super::*;

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
    let files = Files::live_denying(&[data.clone(), key.clone()], None).unwrap();
    let confined = files.within(&roots(&["/**"]));
    let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(
        text(confined.read(&path(plain.join("file")), KIB).await),
        "all well"
    );
    for hidden in [
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
        denied(confined.read(&hidden, KIB).await, "no grant reaches that");
        denied(confined.stat(&hidden).await, "no grant reaches that");
        // Of a link, the answer of the one match says it.
        let mut found = confined.read_glob(&hidden, KIB, 9).await;
        if let Ok(answers) = &mut found {
            found = Err(answers.remove(0).1.unwrap_err());
        }
        denied(found, "no grant reaches");
    }
    for hidden in [path(data.clone()), "/proc/1/fd".to_owned()] {
        denied(confined.list(&hidden, 99).await, "no grant reaches that");
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

#[tokio::test]
async fn a_secret_that_was_renewed_is_denied_under_its_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    write(&folder, "/archive/key1.pem", "secret");
    fs::create_dir(folder.join("live")).unwrap();
    let key = folder.join("live/key.pem");
    symlink("../archive/key1.pem", &key).unwrap();
    let files = Files::live_denying(std::slice::from_ref(&key), None).unwrap();
    let confined = files.within(&roots(&["/**"]));
    // As tools for certificates do it: a new file, and the link leads there.
    write(&folder, "/archive/key2.pem", "secret");
    write(&folder, "/archive/cert2.pem", "no secret");
    fs::remove_file(&key).unwrap();
    symlink("../archive/key2.pem", &key).unwrap();
    fs::hard_link(folder.join("archive/key2.pem"), folder.join("second-name")).unwrap();
    for hidden in [
        "live/key.pem",
        "archive/key1.pem",
        "archive/key2.pem",
        "second-name",
    ] {
        let hidden = folder.join(hidden);
        let answer = confined.read(hidden.to_str().unwrap(), KIB).await;
        denied(answer, "no grant reaches that");
    }
    let plain = folder.join("archive/cert2.pem");
    let answer = confined.read(plain.to_str().unwrap(), KIB).await;
    assert_eq!(text(answer), "no secret");
}

#[tokio::test]
async fn a_data_folder_whose_name_is_no_text_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let data = folder.join(OsStr::from_bytes(b"d\xffta"));
    write(&data, "/token", "secret");
    let files = Files::live_denying(std::slice::from_ref(&data), None).unwrap();
    let confined = files.within(&roots(&["/**"]));
    let token = format!("{}/d\\xffta/token", folder.display());
    denied(confined.read(&token, KIB).await, "no grant reaches that");
    assert_eq!(text(files.read(&token, KIB).await), "secret");
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
    let files = Files::live_denying(std::slice::from_ref(&data), None).unwrap();
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
    for hidden in [
        &path(&place),
        &path(&place.join("inner")),
        &token,
        &path(&users),
    ] {
        denied(confined.stat(hidden).await, "no grant reaches that");
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
