use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, lchown, symlink},
};

use super::*;

/// A user who is neither root nor this process's own.
const OTHER: u32 = 12345;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_link_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("other"), "other").unwrap();
    symlink(at("other"), at("link")).unwrap();
    for content in ["new", "newer"] {
        replace(&at("link"), content.as_bytes(), FileMode::Exact(0o640)).unwrap();
        assert_eq!(fs::read(at("other")).unwrap(), b"other");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
        assert_eq!(fs::read(at("link")).unwrap(), content.as_bytes());
        assert_eq!(mode(&at("link")), 0o640);
    }
    replace(&at("a/b/c"), b"deep", FileMode::ByUmask).unwrap();
    assert_eq!(fs::read(at("a/b/c")).unwrap(), b"deep");
    assert!(replace(Path::new("/"), b"", FileMode::ByUmask).is_err());
    assert!(replace(&at("a"), b"", FileMode::ByUmask).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_new_file_takes_no_other_files_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_private(&at("file"), b"content").unwrap();
    assert_eq!(mode(&at("file")), 0o600);
    symlink(at("other"), at("link")).unwrap();
    for name in ["file", "link"] {
        let error = write_private(&at(name), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let error = write_new(&at(name), b"x", FileMode::Exact(0o644)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let error = OutputFolder::create(&at(name)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert!(!at("other").exists());
}

#[test]
fn what_is_written_stays_in_the_folder_that_was_made() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("victim")).unwrap();
    let folder = OutputFolder::create(&at("new")).unwrap();
    // What the owner of the folder above can do at any moment.
    fs::rename(at("new"), at("moved")).unwrap();
    symlink(at("victim"), at("new")).unwrap();
    let write = |path: &str| folder.write_new(Path::new(path), b"x", FileMode::ByUmask);
    write("file").unwrap();
    write("deep/er/file").unwrap();
    folder
        .replace(OsStr::new("other"), b"x", FileMode::ByUmask)
        .unwrap();
    folder.create_folder(OsStr::new("inner")).unwrap();
    assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
    for name in ["file", "deep/er/file", "other", "inner"] {
        assert!(at("moved").join(name).exists(), "{name}");
    }
    // Below the folder as well.
    symlink(at("victim"), at("moved/way")).unwrap();
    for path in ["way/file", "../file", "/file", "", "deep/../file"] {
        assert!(write(path).is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
}

#[test]
fn root_follows_no_link_that_others_can_change() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can give files away");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let at = |name: &str| place.join(name);
    for name in ["victim", "theirs", "ours"] {
        fs::create_dir(at(name)).unwrap();
    }
    chown(at("theirs"), Some(OTHER), None).unwrap();
    symlink(at("victim"), at("theirs/way")).unwrap();
    lchown(at("theirs/way"), Some(OTHER), None).unwrap();
    // One of root's in a folder of theirs can be replaced as well.
    symlink(at("victim"), at("theirs/roots")).unwrap();
    symlink(at("victim"), at("ours/way")).unwrap();
    for way in ["theirs/way", "theirs/roots"] {
        let folder = at(way);
        let errors = [
            OutputFolder::open(&folder).unwrap_err(),
            OutputFolder::open(&folder.join("new")).unwrap_err(),
            OutputFolder::create(&folder.join("new")).unwrap_err(),
            write_new(&folder.join("new"), b"", FileMode::ByUmask).unwrap_err(),
            replace(&folder.join("new"), b"", FileMode::ByUmask).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
            assert!(
                error.to_string().contains("root follows no link"),
                "{error}"
            );
        }
    }
    assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
    // A folder of theirs is as good as another one, and so is a link of root's.
    replace(&at("theirs/file"), b"", FileMode::ByUmask).unwrap();
    OutputFolder::create(&at("theirs/folder")).unwrap();
    replace(&at("ours/way/file"), b"", FileMode::ByUmask).unwrap();
    assert!(at("victim/file").exists());
}
