use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::PathBuf,
};

use super::*;

const USER: u32 = 12_345;

fn user() -> User {
    User {
        name: "somebody".to_owned(),
        uid: USER,
        gid: USER,
        groups: Vec::new(),
        home: PathBuf::from("/"),
    }
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().uid()
}

/// A folder of root's, and whether root runs this.
fn place() -> Option<tempfile::TempDir> {
    let place = tempfile::tempdir().unwrap();
    if owner(place.path()) != 0 {
        eprintln!("skipped: only root gives files away");
        return None;
    }
    Some(place)
}

#[test]
fn a_folder_is_given_with_what_is_in_it_but_not_what_it_links_to() {
    let Some(place) = place() else { return };
    let (data, outside) = (place.path().join("a/data"), place.path().join("outside"));
    fs::write(&outside, "").unwrap();
    chown_folder(&data, &user()).unwrap();
    assert_eq!((owner(&data), owner(&place.path().join("a"))), (USER, 0));
    assert_eq!(fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
    // As a start that was interrupted leaves it.
    chown(&data, Some(0), Some(0)).unwrap();
    fs::create_dir_all(data.join("packs/x")).unwrap();
    fs::write(data.join("packs/x/file"), "").unwrap();
    fs::write(data.join("gpud.state"), "").unwrap();
    symlink(&outside, data.join("link")).unwrap();
    fs::hard_link(&outside, data.join("packs/second")).unwrap();
    fs::create_dir(data.join("theirs")).unwrap();
    fs::write(data.join("theirs/file"), "").unwrap();
    chown(data.join("theirs"), Some(54_321), None).unwrap();
    chown_folder(&data, &user()).unwrap();
    for name in ["", "packs", "packs/x", "packs/x/file", "gpud.state"] {
        assert_eq!(owner(&data.join(name)), USER, "{name}");
    }
    assert_eq!((owner(&outside), owner(&data.join("link"))), (0, 0));
    assert_eq!(owner(&data.join("theirs")), 54_321);
    assert_eq!(owner(&data.join("theirs/file")), 0);
}

#[test]
fn nothing_is_given_that_the_user_could_have_put_there() {
    let Some(place) = place() else { return };
    let precious = place.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("shadow"), "").unwrap();
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::create_dir(home.join("mine")).unwrap();
    fs::hard_link(precious.join("shadow"), home.join("mine/shadow")).unwrap();
    symlink(&precious, home.join("data")).unwrap();
    symlink(precious.join("shadow"), home.join("log")).unwrap();
    chown(home.join("mine"), Some(USER), None).unwrap();
    chown(&home, Some(USER), None).unwrap();
    for folder in ["data", "mine", "new"] {
        chown_folder(&home.join(folder), &user()).unwrap();
    }
    chown_file(&home.join("log"), &user()).unwrap();
    chown_file(&home.join("mine/shadow"), &user()).unwrap();
    assert_eq!((owner(&precious), owner(&precious.join("shadow"))), (0, 0));
    assert!(!home.join("new").exists());
}

#[test]
fn a_folder_within_that_others_can_write_to_stays_as_it_is() {
    let Some(place) = place() else { return };
    let (precious, data) = (place.path().join("shadow"), place.path().join("data"));
    fs::write(&precious, "").unwrap();
    for (name, mode) in [("sticky", 0o1777), ("group", 0o775), ("closed", 0o755)] {
        let inner = data.join(name);
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(mode)).unwrap();
        fs::write(inner.join("file"), "").unwrap();
    }
    fs::hard_link(&precious, data.join("sticky/shadow")).unwrap();
    chown_folder(&data, &user()).unwrap();
    assert_eq!(owner(&precious), 0);
    for (name, expected) in [("sticky", 0), ("group", 0), ("closed", USER)] {
        assert_eq!(owner(&data.join(name)), expected, "{name}");
        assert_eq!(owner(&data.join(name).join("file")), expected, "{name}");
    }
}

#[test]
fn a_log_file_is_given_and_made() {
    let Some(place) = place() else { return };
    let log = place.path().join("log");
    for _ in 0..2 {
        chown_file(&log, &user()).unwrap();
        assert_eq!(owner(&log), USER);
    }
    assert_eq!(fs::metadata(&log).unwrap().mode() & 0o777, 0o600);
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let other = place.path().join("other");
    chown_file(&other, &user()).unwrap();
    assert!(!other.exists());
}
