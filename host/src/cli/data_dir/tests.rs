use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Each file with these permissions.
fn files(data: &Path, bits: u32) {
    for name in [
        "gpud.state",
        "gpud.state-shm",
        "gpud.state-wal",
        "gpud.lock",
        "token",
        "else",
    ] {
        fs::write(data.join(name), "").unwrap();
        fs::set_permissions(data.join(name), Permissions::from_mode(bits)).unwrap();
    }
}

#[test]
fn what_others_could_read_is_closed_and_what_they_could_use_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("a/data");
    close(&data).unwrap();
    assert_eq!(mode(&data), 0o700);
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(data.join("packs")).unwrap();
    files(&data, 0o644);
    fs::hard_link(data.join("token"), home.path().join("second name")).unwrap();
    close(&data).unwrap();
    let left = ["else", "gpud.state", "gpud.state-wal", "packs"];
    assert_eq!(names(&data), left);
    for name in left {
        assert_eq!(mode(&data.join(name)) & 0o077, 0, "{name}");
    }
    assert_eq!(mode(&data), 0o700);
    files(&data, 0o600);
    close(&data).unwrap();
    for name in ["gpud.lock", "gpud.state-shm", "token"] {
        assert!(data.join(name).exists(), "{name}");
    }
}

#[test]
fn what_others_could_write_is_set_aside() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    close(&data).unwrap();
    // One file of the database stands for all.
    files(&data, 0o600);
    for name in ["gpud.state-wal", "else"] {
        fs::set_permissions(data.join(name), Permissions::from_mode(0o666)).unwrap();
    }
    for name in ["cache", "packs"] {
        fs::create_dir(data.join(name)).unwrap();
    }
    fs::set_permissions(data.join("cache"), Permissions::from_mode(0o777)).unwrap();
    close(&data).unwrap();
    let left = names(&data);
    assert_eq!(left[..4], ["else", "gpud.lock", "packs", left[3].as_str()]);
    assert_eq!(left[4..], ["token"]);
    assert_eq!(
        names(&data.join(&left[3])),
        ["cache", "gpud.state", "gpud.state-shm", "gpud.state-wal"]
    );
    // The folder itself: nothing in it is as it was left.
    fs::set_permissions(&data, Permissions::from_mode(0o777)).unwrap();
    close(&data).unwrap();
    let aside = names(&data);
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(names(&data.join(&aside[0])), left);
}

#[test]
fn a_file_of_somebody_else_is_set_aside_and_a_folder_refused() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    close(&data).unwrap();
    let state = data.join("gpud.state");
    fs::write(&state, "").unwrap();
    if chown(&state, Some(12345), None).is_err() {
        eprintln!("skipped the foreign owner: only root can give files away");
        return;
    }
    close(&data).unwrap();
    assert!(!state.exists());
    for part in [&data, home.path()] {
        chown(part, Some(12345), None).unwrap();
        let refused = close(&data).unwrap_err().to_string();
        assert!(refused.contains("chown root"), "{refused}");
        chown(part, Some(0), None).unwrap();
    }
    close(&data).unwrap();
}

#[test]
fn commands_of_root_refuse_a_folder_of_somebody_else() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    check(&data).unwrap();
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    check(&data).unwrap();
    if chown(&data, Some(12345), None).is_err() {
        eprintln!("skipped the foreign owner: only root can give folders away");
        return;
    }
    let refused = check(&data).unwrap_err().to_string();
    assert!(refused.contains("belongs to user 12345"), "{refused}");
    chown(&data, Some(0), None).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o1777)).unwrap();
    assert!(matches!(check(&data), Err(CloseError::Open(_))));
}

#[test]
fn what_cannot_be_made_is_left_to_the_store() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    close(&home.path().join("file/data")).unwrap();
}

#[test]
fn the_flag_then_root_then_home() {
    for (flag, shared, home, expected) in [
        (Some("/x"), true, Some("/root"), Some("/x")),
        (Some(""), true, Some("/root"), Some("/var/lib/gpud")),
        (None, true, None, Some("/var/lib/gpud")),
        (None, false, Some("/home/u"), Some("/home/u/.gpud")),
        (None, false, Some(""), None),
        (None, false, None, None),
    ] {
        let found = choose(flag.map(Into::into), shared, home.map(Into::into));
        assert_eq!(
            found,
            expected.map(PathBuf::from),
            "{flag:?} {shared} {home:?}"
        );
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Who has it open can hold its lock.
#[test]
fn a_folder_that_others_could_open_is_another_one_with_the_same_content() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    close(&data).unwrap();
    files(&data, 0o600);
    let before = (inode(&data), inode(&data.join("gpud.state")));
    close(&data).unwrap();
    assert_eq!(inode(&data), before.0);
    for bits in [0o755, 0o711] {
        fs::set_permissions(&data, Permissions::from_mode(bits)).unwrap();
        let before = (inode(&data), inode(&data.join("gpud.state")));
        close(&data).unwrap();
        assert_ne!(inode(&data), before.0, "{bits:o}");
        assert_eq!(inode(&data.join("gpud.state")), before.1);
        assert_eq!(mode(&data), 0o700);
        assert_eq!(names(home.path()), ["data"]);
    }
}

#[test]
fn what_an_interrupted_start_left_beside_the_folder_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let (data, left) = (home.path().join("data"), home.path().join("data.before-1"));
    close(&data).unwrap();
    close(&left).unwrap();
    fs::write(left.join("gpud.state"), "rows").unwrap();
    // Anybody could have made this one, and those of other names.
    let other = home.path().join("data.before-0");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&left, Permissions::from_mode(0o755)).unwrap();
    close(&data).unwrap();
    assert!(!data.join("gpud.state").exists());
    fs::set_permissions(&left, Permissions::from_mode(0o700)).unwrap();
    close(&data).unwrap();
    let state = fs::read_to_string(data.join("gpud.state")).unwrap();
    assert_eq!(state, "rows");
    assert_eq!(names(home.path()), ["data", "data.before-0"]);
}

#[test]
fn a_held_folder_is_moved_away_as_a_whole() {
    let home = tempfile::tempdir().unwrap();
    let (data, left) = (home.path().join("data"), home.path().join("data.before-1"));
    close(&data).unwrap();
    files(&data, 0o600);
    assert!(!FoundFolder::find(&data).unwrap().may_be_held());
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let content = names(&data);
    let found = FoundFolder::find(&data).unwrap();
    assert!(found.may_be_held());
    let moved = found.move_away().unwrap();
    assert_eq!((names(&moved), names(&data).len()), (content, 0));
    assert_eq!(mode(&data), 0o700);
    fs::remove_dir_all(moved).unwrap();
    // One that was held while its content moved over.
    close(&left).unwrap();
    files(&data, 0o600);
    let found = FoundFolder::find(&data).unwrap();
    assert!(found.may_be_held());
    let moved = found.move_away().unwrap();
    assert!(moved.exists() && !left.exists() && data.join("token").exists());
}
