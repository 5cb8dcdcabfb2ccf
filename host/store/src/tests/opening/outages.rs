//! Stores that cannot be written, and go on in memory.

use super::*;
use crate::StateFile;

/// Runs `work` in a thread that may not write what belongs to root.
fn unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::thread::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        thread.join().unwrap()
    })
}

#[tokio::test]
async fn a_read_only_store_goes_on_in_memory_with_its_content() {
    // (mode of the folder, mode of the file)
    for (folder_mode, file_mode) in [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)] {
        // Not below TMPDIR, which may be a folder that only root can enter.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let data = folder.path().join("100% data?");
        fill(&data).await;
        let file = state_file(&data);
        let before = fs::read(&file).unwrap();
        fs::remove_file(data.join("gpud.lock")).unwrap();
        for (path, mode) in [
            (folder.path(), 0o755),
            (&file, file_mode),
            (&data, folder_mode),
        ] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let opened = unprivileged(|| Store::open(options(&data))).unwrap();
        let degraded = opened.degraded.expect("must be degraded");
        assert!(degraded.contains(file.to_str().unwrap()), "{degraded}");
        assert!(degraded.contains("read-only"), "{degraded}");
        assert_eq!(opened.set_aside, None);
        let store = opened.store;
        assert_eq!(messages(&store, "c").await.len(), 300);
        insert(&store, "c", event(999, "e", "new")).await;
        assert_eq!(messages(&store, "c").await[0], "new");
        store.checkpoint_and_close().await.unwrap();
        assert!(fs::read(&file).unwrap() == before);
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_and_a_full_disk_degrade_too() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let below_file = Location::File(folder.path().join("file/gpud.state"));
    let no_space = StoreOptions {
        max_bytes: Some(1),
        ..options(folder.path())
    };
    let opened = Store::open(StoreOptions::new(below_file)).unwrap();
    assert!(opened.degraded.is_some());
    insert(&opened.store, "c", event(1, "e", "m")).await;
    // One page is too little for the tables, in memory as well: this is the one that says so.
    let full = Store::open(no_space).unwrap_err();
    assert!(matches!(full, StoreError::DiskFull(_)), "{full}");
}

#[tokio::test]
async fn a_pipe_in_the_place_of_a_file_stops_nobody() {
    for name in [
        "gpud.lock",
        "gpud.state",
        "gpud.state-journal",
        "gpud.state-wal",
    ] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path()).await;
        let pipe = folder.path().join(name);
        let _ = fs::remove_file(&pipe);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let opened = Store::open(options(folder.path())).unwrap();
        assert!(opened.degraded.is_some(), "{name}");
        assert_eq!(opened.set_aside, None, "{name}");
        insert(&opened.store, "c", event(1, "e", "m")).await;
        assert!(!messages(&opened.store, "c").await.is_empty());
        if name != "gpud.lock" {
            let looked_into = StateFile::open(&state_file(folder.path()));
            assert!(looked_into.is_err(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_store_in_memory_moves_to_its_file_once_there_can_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::write(&data, "in the way").unwrap();
    let store = Store::open(options(&data)).unwrap().store;
    insert(&store, "c", event(1, "e", "before")).await;
    assert!(store.is_fallback());
    assert!(store.trouble().unwrap().contains("in memory since"));
    assert!(store.move_to_file().await.is_err());
    insert(&store, "c", event(2, "e", "still in memory")).await;
    fs::remove_file(&data).unwrap();
    assert_eq!(store.move_to_file().await, Ok(true));
    assert_eq!(store.move_to_file().await, Ok(false));
    assert_eq!(store.trouble(), None);
    insert(&store, "c", event(3, "e", "after")).await;
    let all = ["after", "still in memory", "before"];
    assert_eq!(messages(&store, "c").await, all);
    assert!(FolderLock::acquire(&data).is_err(), "the folder is held");
    store.checkpoint_and_close().await.unwrap();
    assert_eq!(messages(&open(&data), "c").await, all);
}

#[tokio::test]
async fn rows_of_a_file_that_was_read_are_not_doubled_when_the_store_moves_back() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let file = state_file(folder.path());
    let fallback = crate::open::fall_back(&options(folder.path()), &file).unwrap();
    let store = Store::of_database(fallback, options(folder.path())).unwrap();
    store.delete_events("c", 100_000).await.unwrap();
    insert(&store, "c", event(999, "e", "new")).await;
    assert_eq!(store.move_to_file().await, Ok(true));
    assert_eq!(messages(&store, "c").await.len(), 201);
}
