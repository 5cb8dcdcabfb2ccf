//! A look from outside.

use std::{fs, path::Path};

use crate::{Location, StateFile, Store, StoreError, StoreOptions, clear_hosted, set_hosted};

#[tokio::test]
async fn a_file_is_read_and_edited_beside_a_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.state");
    let store = Store::open(StoreOptions::new(Location::File(path.clone())))
        .unwrap()
        .store;
    store
        .record_reboot(2_000_000, 1_000_000, "boot-a")
        .await
        .unwrap();
    let file = StateFile::open(&path).unwrap();
    assert!(file.hosted().unwrap().is_empty());
    assert_eq!(
        file.own().unwrap().get("last_boot_id").map(String::as_str),
        Some("boot-a")
    );
    assert_eq!(file.reboots().unwrap().len(), 1);
    set_hosted(&path, "machine_id", "m-1").unwrap();
    set_hosted(&path, "machine_id", "m-2").unwrap();
    assert_eq!(
        file.hosted().unwrap(),
        [("machine_id".to_owned(), "m-2".to_owned())].into()
    );
    clear_hosted(&path).unwrap();
    assert!(file.hosted().unwrap().is_empty());
    store.checkpoint_and_close().await.unwrap();
}

#[test]
fn a_file_of_gpuds_alone_has_no_tables_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.state");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TABLE gpud_metadata (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
         INSERT INTO gpud_metadata VALUES ('machine_id', 'm'), ('token', NULL);",
    )
    .unwrap();
    drop(conn);
    let file = StateFile::open(&path).unwrap();
    assert_eq!(file.hosted().unwrap().len(), 2);
    assert!(file.own().unwrap().is_empty() && file.reboots().unwrap().is_empty());
}

#[test]
fn what_is_not_there_is_not_made() {
    let path = Path::new("/nowhere/gpud.state");
    for error in [
        StateFile::open(path).unwrap_err(),
        set_hosted(path, "a", "b").unwrap_err(),
        clear_hosted(path).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Io(_)), "{error:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.state");
    fs::write(&path, "no database at all, just text that is long enough").unwrap();
    let error = StateFile::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
}
