use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn an_open_folder_is_closed_with_what_is_in_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("a/data");
    close(&data).unwrap();
    assert_eq!(mode(&data), 0o700);
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(data.join("packs")).unwrap();
    for name in ["gpud.state", "gpud.state-wal", "gpud.lock", "token", "else"] {
        fs::write(data.join(name), "").unwrap();
        fs::set_permissions(data.join(name), Permissions::from_mode(0o664)).unwrap();
    }
    close(&data).unwrap();
    for name in ["gpud.state", "gpud.state-wal", "gpud.lock", "else"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    // A token that others could write may be theirs; one that they could only read is closed.
    let token = data.join("token");
    assert!(!token.exists());
    fs::write(&token, "").unwrap();
    fs::set_permissions(&token, Permissions::from_mode(0o644)).unwrap();
    close(&data).unwrap();
    assert_eq!(mode(&token), 0o600);
    assert_eq!((mode(&data), mode(&data.join("packs"))), (0o700, 0o700));
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    close(&data).unwrap();
    let state = data.join("gpud.state");
    fs::write(&state, "").unwrap();
    if chown(&state, Some(12345), None).is_err() {
        eprintln!("skipped the foreign owner: only root can give files away");
        return;
    }
    let refused = close(&data).unwrap_err().to_string();
    assert!(
        refused.contains("gpud.state belongs to user 12345"),
        "{refused}"
    );
    chown(&state, Some(0), None).unwrap();
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
    check(&data).unwrap_err();
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
