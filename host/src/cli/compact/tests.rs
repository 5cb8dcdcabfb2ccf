use tokio::net::TcpListener;

use super::*;
use crate::{cli::exit::Stderr, store::FolderLock};

fn failure(result: Result<String, Exit>) -> String {
    match result.unwrap_err().stderr {
        Stderr::Failure(message) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn shrinks_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(store::STATE_FILE);
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE t (x); INSERT INTO t SELECT randomblob(1000000); DELETE FROM t;",
        )
        .unwrap();
    drop(database);
    let before = path.metadata().unwrap().len();
    let text = compact_file(folder.path(), false, Terminal::PLAIN)
        .await
        .unwrap();
    assert!(
        text.starts_with("✔ successfully compacted state file\n"),
        "{text}"
    );
    assert!(path.metadata().unwrap().len() < before / 2);
    let text = compact_file(folder.path(), true, Terminal::PLAIN)
        .await
        .unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["bytes_before"], document["bytes_after"]);
}

#[tokio::test]
async fn refuses_without_a_file_and_beside_a_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let message = failure(compact_file(folder.path(), false, Terminal::PLAIN).await);
    assert!(message.starts_with("there is no state file "), "{message}");
    drop(rusqlite::Connection::open(folder.path().join(store::STATE_FILE)).unwrap());
    let _lock = FolderLock::acquire(folder.path()).unwrap();
    std::fs::write(folder.path().join(store::STATE_FILE), "").unwrap();
    let message = failure(compact_file(folder.path(), false, Terminal::PLAIN).await);
    assert!(message.contains("another gpud"), "{message}");
}

#[tokio::test]
async fn notices_a_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(somebody_listens(port).await);
    // Bound without listening: another test's child process cannot keep it open, as it could a listener's copy.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = closed.local_addr().unwrap().port();
    assert!(!somebody_listens(port).await);
}
