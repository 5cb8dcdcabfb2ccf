use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn answer(folder: &Path) -> String {
    match check(folder, Opener::of_daemon(), 100) {
        Ok(whole) => whole.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_first_file_that_others_can_change_is_named() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let (folder, deep) = (place.join("project"), place.join("project/target/deep"));
    fs::create_dir_all(&deep).unwrap();
    let file = deep.join("build.sh");
    fs::write(&file, "true").unwrap();
    for (target, link) in [
        ("/dev/null", "null"),
        ("target/deep", "again"),
        ("..", "target/deep/up"),
        ("missing/x", "dangling"),
    ] {
        symlink(target, folder.join(link)).unwrap();
    }
    assert_eq!(answer(&folder), "true");
    assert!(!check(&folder, Opener::of_daemon(), 3).unwrap());

    mode(&file, 0o666);
    let said = answer(&folder);
    assert!(said.contains("build.sh can be changed by others"), "{said}");
    mode(&file, 0o644);
    // Anybody could put a file into it.
    mode(&deep, 0o1777);
    let said = answer(&folder);
    assert!(said.contains("deep can be changed by others"), "{said}");
    mode(&deep, 0o755);

    // What a link leads to is part of it, also what is not there yet.
    let other = place.join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "").unwrap();
    symlink(&other, folder.join("linked")).unwrap();
    assert_eq!(answer(&folder), "true");
    mode(&other.join("x"), 0o620);
    let said = answer(&folder);
    assert!(said.contains("other/x can be changed"), "{said}");
    fs::remove_file(folder.join("linked")).unwrap();
    mode(&other, 0o1777);
    for missing in ["later", "later/deeper"] {
        symlink(other.join(missing), folder.join("linked")).unwrap();
        let said = answer(&folder);
        assert!(said.contains("link") && said.contains("linked"), "{said}");
        fs::remove_file(folder.join("linked")).unwrap();
    }
    assert_eq!(answer(&folder), "true");
}
