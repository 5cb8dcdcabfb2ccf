use super::super::{FolderLock, Location, Store, StoreError, StoreOptions};
use super::{event, insert, messages, open, options, state_file};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

mod outages;

async fn fill(folder: &Path) {
    let store = open(folder);
    let rows = (1..=300)
        .map(|row| event(row, "e", &format!("{row:0>900}")))
        .collect();
    store.insert_events("c", rows, None).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
}

#[tokio::test]
async fn rows_outlive_closing_and_a_closed_store_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let nested = folder.path().join("made/when missing");
    let store = open(&nested);
    insert(&store, "c", event(1, "e", "kept")).await;
    let clone = store.clone();
    store.checkpoint_and_close().await.unwrap();
    assert_eq!(clone.events("c", 0, None).await, Err(StoreError::Closed));
    assert_eq!(clone.meta_set("a", "b").await, Err(StoreError::Closed));
    assert_eq!(clone.checkpoint_and_close().await, Err(StoreError::Closed));
    // The log was written back, and nothing else is left.
    let mut files: Vec<_> = fs::read_dir(&nested)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["gpud.lock", "gpud.state"]);
    assert_eq!(messages(&open(&nested), "c").await, ["kept"]);
}

#[tokio::test]
async fn a_second_daemon_is_refused_by_name_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let refused = Store::open(options(folder.path())).unwrap_err();
    assert_eq!(refused, StoreError::OtherDaemon(folder.path().to_owned()));
    assert!(
        refused
            .to_string()
            .contains(folder.path().to_str().unwrap())
    );
    assert!(FolderLock::acquire(folder.path()).is_err());
    store.checkpoint_and_close().await.unwrap();
    drop(FolderLock::acquire(folder.path()).unwrap());
    open(folder.path());
}

#[tokio::test]
async fn a_corrupt_file_is_set_aside_and_the_daemon_runs_on() {
    type Damage = fn(&Path);
    let damages: &[(&str, Damage)] = &[
        ("not a database", |file| {
            fs::write(file, "hello ".repeat(2000)).unwrap()
        }),
        ("truncated", |file| {
            let length = fs::metadata(file).unwrap().len();
            fs::File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_len(length / 2)
                .unwrap();
        }),
        ("cut inside the first page", |file| {
            fs::File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_len(700)
                .unwrap();
        }),
        ("overwritten pages", |file| {
            let pages = fs::File::options().write(true).open(file).unwrap();
            pages.write_all_at(&[0xA5; 32 * 4096], 2 * 4096).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path()).await;
        let file = state_file(folder.path());
        damage(&file);
        let damaged = fs::read(&file).unwrap();
        let opened = Store::open(options(folder.path())).unwrap();
        let aside = opened.set_aside.expect(what);
        assert_eq!(opened.degraded, None, "{what}");
        let name = aside.file_name().unwrap().to_str().unwrap();
        let seconds = name.strip_prefix("gpud.state.corrupt-").unwrap();
        assert!(seconds.parse::<u64>().unwrap() > 1_700_000_000);
        assert!(fs::read(&aside).unwrap() == damaged, "{what}");
        let store = opened.store;
        assert_eq!(messages(&store, "c").await, [""; 0], "{what}");
        insert(&store, "c", event(1, "e", "new")).await;
        store.checkpoint_and_close().await.unwrap();
        assert_eq!(messages(&open(folder.path()), "c").await, ["new"], "{what}");
    }
}

#[tokio::test]
async fn statements_in_a_file_do_not_run() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let connection = rusqlite::Connection::open(state_file(folder.path())).unwrap();
    connection
        .execute_batch("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END")
        .unwrap();
    drop(connection);
    let store = open(folder.path());
    insert(&store, "new", event(1, "e", "kept")).await;
    assert_eq!(messages(&store, "new").await, ["kept"]);
}

#[tokio::test]
async fn a_file_of_a_later_gpud_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let file = state_file(folder.path());
    let conn = Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.close().unwrap();
    let before = fs::read(&file).unwrap();
    let refused = Store::open(options(folder.path())).unwrap_err();
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn the_tables_of_gpud_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let conn = Connection::open(state_file(folder.path())).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE components_os_events_v0_5_0 (timestamp INTEGER NOT NULL, name TEXT NOT NULL,
             type TEXT NOT NULL, message TEXT, extra_info TEXT);
         INSERT INTO components_os_events_v0_5_0 VALUES (1, 'reboot', 'Warning', 'm', NULL);
         CREATE TABLE gpud_metadata (key TEXT PRIMARY KEY, value TEXT);
         INSERT INTO gpud_metadata VALUES ('machine_id', 'x');
         CREATE TABLE gpud_metrics_v0_5 (unix_milliseconds INTEGER NOT NULL, component_name TEXT NOT NULL,
             metric_name TEXT NOT NULL, metric_labels TEXT, metric_value REAL NOT NULL,
             PRIMARY KEY (unix_milliseconds, component_name, metric_name, metric_labels)) WITHOUT ROWID;
         INSERT INTO gpud_metrics_v0_5 VALUES (1, 'c', 'm', '', 1.5);",
    )
    .unwrap();
    conn.close().unwrap();
    let store = open(folder.path());
    insert(&store, "os", event(1, "reboot", "m")).await;
    store.purge(u64::MAX).await.unwrap();
    store.checkpoint_and_close().await.unwrap();
    super::super::compact(&state_file(folder.path())).unwrap();
    let conn = Connection::open(state_file(folder.path())).unwrap();
    for table in [
        "components_os_events_v0_5_0",
        "gpud_metadata",
        "gpud_metrics_v0_5",
    ] {
        let rows: i64 = conn
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(rows, 1, "{table}");
    }
}

#[test]
fn a_cached_statement_is_not_parsed_again_for_other_values() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let conn = super::super::open::connect(&state_file(folder.path())).unwrap();
    let events = "SELECT name FROM event WHERE component = ?1 AND time_ms / 1000 > ?2
                  ORDER BY time_ms / 1000 DESC, id DESC LIMIT ?3";
    let mut query = conn.prepare(events).unwrap();
    for value in [1, 2, 3] {
        let mut rows = query.query(("cpu", value, value)).unwrap();
        assert!(rows.next().unwrap().is_none());
    }
    assert_eq!(query.get_status(rusqlite::StatementStatus::RePrepare), 0);
}

#[tokio::test]
async fn a_new_store_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("a/data");
    let store = open(&data);
    insert(&store, "c", event(1, "e", "m")).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in [
        "gpud.state",
        "gpud.state-wal",
        "gpud.state-shm",
        "gpud.lock",
    ] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_file_of_version_2_gets_the_subjects_of_changes() {
    let folder = tempfile::tempdir().unwrap();
    let conn = Connection::open(state_file(folder.path())).unwrap();
    conn.execute_batch(concat!(
        include_str!("../schema_1.sql"),
        include_str!("../schema_2.sql"),
        "INSERT INTO state_change (component, time_ms, name, health, reason)
         VALUES ('c', 1, 'n', 'Unhealthy', 'why');
         PRAGMA user_version = 2;"
    ))
    .unwrap();
    conn.close().unwrap();
    let changes = open(folder.path()).state_history("c", 0).await.unwrap();
    let shown: Vec<_> = changes
        .iter()
        .map(|change| (change.reason.as_str(), &change.subject))
        .collect();
    assert_eq!(shown, [("why", &None)]);
}
