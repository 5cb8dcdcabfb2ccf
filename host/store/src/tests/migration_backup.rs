use super::super::{Store, StoreError, ask_for_copy};
use super::{event, insert, messages, open, options, state_file};
use rusqlite::Connection;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file as an earlier gpud left it, with one change of state.
fn file_of_version_2(folder: &Path) {
    let conn = Connection::open(state_file(folder)).unwrap();
    conn.execute_batch(concat!(
        include_str!("../schema_1.sql"),
        include_str!("../schema_2.sql"),
        "INSERT INTO state_change (component, time_ms, name, health, reason)
         VALUES ('c', 1, 'n', 'Unhealthy', 'why');
         PRAGMA user_version = 2;"
    ))
    .unwrap();
    conn.close().unwrap();
}

/// Has a later gpud change the file.
fn change_tables(folder: &Path) {
    let conn = Connection::open(state_file(folder)).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.close().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_copy_from_before_is_left_beside_a_file_whose_tables_change() {
    let folder = tempfile::tempdir().unwrap();
    file_of_version_2(folder.path());
    open(folder.path()).checkpoint_and_close().await.unwrap();
    let expected = ["gpud.lock", "gpud.state", "gpud.state.schema-2"];
    assert_eq!(names(folder.path()), expected);
    let copy = folder.path().join("gpud.state.schema-2");
    let mode = fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let conn = Connection::open(&copy).unwrap();
    let version: i64 = conn
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    let reason: String = conn
        .query_row("SELECT reason FROM state_change", [], |row| row.get(0))
        .unwrap();
    assert_eq!((version, reason.as_str()), (2, "why"));
    conn.close().unwrap();

    // It stays for a week.
    open(folder.path()).checkpoint_and_close().await.unwrap();
    assert_eq!(names(folder.path()), expected);
    let old = SystemTime::now() - Duration::from_secs(8 * 24 * 60 * 60);
    let file = File::options().write(true).open(&copy).unwrap();
    file.set_modified(old).unwrap();
    open(folder.path()).checkpoint_and_close().await.unwrap();
    assert_eq!(names(folder.path()), ["gpud.lock", "gpud.state"]);
}

#[tokio::test]
async fn an_earlier_gpud_takes_the_copy_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    insert(&store, "c", event(1, "e", "before")).await;
    store.checkpoint_and_close().await.unwrap();
    // What a later gpud does: the copy, the change, and a row of its own.
    let copy = folder.path().join("gpud.state.schema-3");
    fs::copy(state_file(folder.path()), &copy).unwrap();
    change_tables(folder.path());

    let refused = Store::open(options(folder.path())).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
    ask_for_copy(&state_file(folder.path())).unwrap();
    ask_for_copy(&state_file(folder.path())).unwrap();
    let store = open(folder.path());
    assert_eq!(messages(&store, "c").await, ["before"]);
    store.checkpoint_and_close().await.unwrap();
    let names = names(folder.path());
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[2].starts_with("gpud.state.later-"), "{names:?}");

    // The power failed between the two renames.
    fs::rename(state_file(folder.path()), &copy).unwrap();
    ask_for_copy(&state_file(folder.path())).unwrap();
    assert_eq!(messages(&open(folder.path()), "c").await, ["before"]);
}

#[tokio::test]
async fn a_file_that_can_be_read_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    insert(&store, "c", event(1, "e", "new")).await;
    store.checkpoint_and_close().await.unwrap();
    let copy = folder.path().join("gpud.state.schema-3");
    fs::write(&copy, "older").unwrap();
    ask_for_copy(&state_file(folder.path())).unwrap();
    let store = open(folder.path());
    assert_eq!(messages(&store, "c").await, ["new"]);
    store.checkpoint_and_close().await.unwrap();
    assert_eq!(fs::read(&copy).unwrap(), b"older");
    assert!(!folder.path().join("gpud.state.restore").exists());

    // Asked for, and not there: the refusal is as before.
    fs::remove_file(&copy).unwrap();
    change_tables(folder.path());
    ask_for_copy(&state_file(folder.path())).unwrap();
    let refused = Store::open(options(folder.path())).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
    assert!(ask_for_copy(&folder.path().join("none/gpud.state")).is_err());
}
