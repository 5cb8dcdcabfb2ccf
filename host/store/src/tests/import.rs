//! Events of GPUd, from a file with its schema.

use std::path::Path;

use rusqlite::Connection;

use super::{event, insert, messages, open, state_file};
use crate::model::EventType;
use crate::{ImportRules, Imported, StateFile, StoreError, import_gpud};

const BOOT: u64 = 2_000_000_000;
const RULES: ImportRules<'_> = ImportRules {
    components: &["accelerator-nvidia-error-xid", "cpu", "os", "pci"],
    of_kernel_log: &["accelerator-nvidia-error-xid", "cpu", "os"],
    kernel_log_from: Some(BOOT + 500_500),
    boot_time: BOOT,
};

/// A table as GPUd makes it for a component.
fn table(conn: &Connection, name: &str, rows: &[&str]) {
    let table = format!("components_{name}_events_v0_5_0");
    conn.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS {table} (timestamp INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
             message TEXT, extra_info TEXT);
         CREATE INDEX IF NOT EXISTS idx_{table}_timestamp ON {table}(timestamp);
         CREATE INDEX IF NOT EXISTS idx_{table}_name ON {table}(name);
         CREATE INDEX IF NOT EXISTS idx_{table}_type ON {table}(type);"
    ))
    .unwrap();
    for row in rows {
        conn.execute_batch(&format!("INSERT INTO {table} VALUES ({row})"))
            .unwrap();
    }
}

/// The file of a GPUd that saw two boots.
fn file_of_gpud(folder: &Path) {
    let conn = Connection::open(state_file(folder)).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE gpud_metadata (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
         INSERT INTO gpud_metadata VALUES ('machine_id', 'm-1'), ('token', 'secret');
         CREATE TABLE session_states (timestamp INTEGER, success INTEGER, message TEXT);",
    )
    .unwrap();
    table(
        &conn,
        "os",
        &[
            "1000000, 'reboot', 'Warning', 'system reboot detected a', NULL",
            "2000030, 'reboot', 'Warning', 'system reboot detected b', NULL",
            "2000499, 'vfs_file_max_limit_reached', 'Warning', 'lost from the log', NULL",
        ],
    );
    table(
        &conn,
        "accelerator_nvidia_error_xid",
        &[
            "1000100, 'error_xid', 'Fatal', NULL, '{\"data\":\"{\\\"xid\\\":79}\",\"device_uuid\":\"PCI:0000:3b:00\"}'",
            "1000100, 'error_xid', 'Fatal', NULL, '{\"data\":\"{\\\"xid\\\":79}\",\"device_uuid\":\"PCI:0000:3b:00\"}'",
            "2000600, 'error_xid', 'Fatal', NULL, '{\"data\":\"{\\\"xid\\\":48}\",\"device_uuid\":\"PCI:0000:3b:00\"}'",
        ],
    );
    table(
        &conn,
        "pci",
        &["2000600, 'acs_enabled', 'Warning', 'm', 'no JSON'"],
    );
    table(&conn, "cpu", &[]);
    table(
        &conn,
        "my_own_check",
        &["1000200, 'x', '', 'later', NULL", "-5, 'x', '', 'm', NULL"],
    );
}

#[tokio::test]
async fn events_and_reboots_are_there_at_the_first_start() {
    let folder = tempfile::tempdir().unwrap();
    file_of_gpud(folder.path());
    let path = state_file(folder.path());
    assert!(StateFile::open(&path).unwrap().awaits_import().unwrap());
    let imported = import_gpud(&path, &RULES).unwrap();
    let expected = Imported {
        events: 4,
        reboots: 1,
        in_kernel_log: 1,
        unusable: 1,
    };
    assert_eq!(imported, Some(expected));
    // Once is enough.
    assert_eq!(import_gpud(&path, &RULES).unwrap(), None);
    assert!(!StateFile::open(&path).unwrap().awaits_import().unwrap());

    let store = open(folder.path());
    let reboots = store.reboots(0).await.unwrap();
    assert_eq!(reboots.len(), 1);
    assert_eq!(reboots[0].event.time, 1_000_000_000);
    assert_eq!(
        messages(&store, "os").await,
        ["lost from the log", "system reboot detected a"]
    );
    let xids = store
        .events("accelerator-nvidia-error-xid", 0, None)
        .await
        .unwrap();
    assert_eq!(xids.len(), 1);
    assert_eq!(
        (xids[0].count, &xids[0].event.event_type),
        (2, &EventType::Fatal)
    );
    let facts = &xids[0].event.extra_info;
    assert_eq!(facts[0], ("data".to_owned(), "{\"xid\":79}".to_owned()));
    assert_eq!(
        facts[1],
        ("device_uuid".to_owned(), "PCI:0000:3b:00".to_owned())
    );
    let pci = store.events("pci", 0, None).await.unwrap();
    assert!(pci[0].event.extra_info.is_empty());
    let own = store.events("my-own-check", 0, None).await.unwrap();
    assert_eq!(own[0].event.event_type, EventType::Unknown);
    // This boot is recorded by the daemon, once.
    assert!(store.record_reboot(BOOT + 1, BOOT, "boot-a").await.unwrap());
    assert_eq!(store.reboots(0).await.unwrap().len(), 2);
    store.checkpoint_and_close().await.unwrap();

    let file = StateFile::open(&path).unwrap();
    assert_eq!(file.hosted().unwrap().len(), 2);
    let conn = Connection::open(&path).unwrap();
    let rows: i64 = conn
        .query_row(
            "SELECT count(*) FROM components_os_events_v0_5_0",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(rows, 3, "GPUd's tables stay");
}

#[tokio::test]
async fn without_a_kernel_log_everything_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    file_of_gpud(folder.path());
    let rules = ImportRules {
        kernel_log_from: None,
        ..RULES
    };
    let imported = import_gpud(&state_file(folder.path()), &rules)
        .unwrap()
        .unwrap();
    assert_eq!((imported.events, imported.in_kernel_log), (5, 0));
}

#[tokio::test]
async fn nothing_is_copied_over_events_of_our_own() {
    let folder = tempfile::tempdir().unwrap();
    file_of_gpud(folder.path());
    let store = open(folder.path());
    let path = state_file(folder.path());
    insert(&store, "os", event(1, "x", "ours")).await;
    let busy = import_gpud(&path, &RULES).unwrap_err();
    assert!(matches!(busy, StoreError::OtherDaemon(_)), "{busy}");
    store.checkpoint_and_close().await.unwrap();
    assert_eq!(import_gpud(&path, &RULES).unwrap(), None);
    let empty = tempfile::tempdir().unwrap();
    let missing = import_gpud(&state_file(empty.path()), &RULES).unwrap_err();
    assert!(matches!(missing, StoreError::Io(_)), "{missing}");
}
