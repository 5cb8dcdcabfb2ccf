use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| error.kind().to_string())
}

#[test]
fn entries_follow_each_other_in_a_file_that_all_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, b"one\n").unwrap();
    append(&path, b"two\n").unwrap();
    assert_eq!(read(&path), "one\ntwo\n");
    // The process's mask can only take from it.
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o733,
        0o600
    );
}

#[test]
fn errors_say_what_go_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let missing = folder.join("no/such");
    let fifo = folder.join("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for (path, problem) in [
        (missing.as_path(), "no such file or directory"),
        (folder, "is a directory"),
        (&fifo, "no such device or address"),
    ] {
        assert_eq!(
            append(path, b"x").unwrap_err().to_string(),
            format!(
                "failed to open log file: open {}: {problem}",
                path.display()
            )
        );
    }
    assert_eq!(
        append(Path::new("/dev/full"), b"x")
            .unwrap_err()
            .to_string(),
        "failed to write to log file: write /dev/full: no space left on device"
    );
}

#[test]
fn a_full_file_is_moved_away_and_a_link_to_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("log"), folder.path().join("link"));
    symlink(&path, &link).unwrap();
    for entry in [b"1234", b"5678", b"abcd", b"efgh", b"ijkl"] {
        append_up_to(8, &link, entry).unwrap();
    }
    assert_eq!(read(&path), "ijkl");
    assert_eq!(read(&folder.path().join("log.1")), "abcdefgh");
    assert!(link.is_symlink());
    // Longer than the limit by itself.
    append_up_to(2, &path.with_extension("new"), b"1234").unwrap();
    assert_eq!(read(&path.with_extension("new")), "1234");
}

#[test]
fn who_meets_a_renaming_loses_nothing_and_a_reader_cannot_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, b"1234").unwrap();
    let other = open(&path).unwrap();
    other.lock().unwrap();
    append_up_to(4, &path, b"5678").unwrap();
    assert_eq!(read(&path), "5678");
    assert_eq!(read(&folder.path().join("log.1")), "1234");
    // It was renamed by another after we opened it.
    let old = fs::metadata(&path).unwrap();
    fs::rename(&path, folder.path().join("log.1")).unwrap();
    fs::write(&path, b"new").unwrap();
    move_away(&path, &old).unwrap();
    assert_eq!(read(&path), "new");
}

#[test]
fn a_link_of_another_user_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
    fs::write(&victim, "").unwrap();
    symlink(&victim, &link).unwrap();
    if std::os::unix::fs::lchown(&link, Some(12345), None).is_err() {
        eprintln!("skipped: only root can give links away");
        return;
    }
    let error = append(&link, b"x").unwrap_err().to_string();
    assert!(error.contains("belongs to user 12345"), "{error}");
    assert_eq!(read(&victim), "");
}
