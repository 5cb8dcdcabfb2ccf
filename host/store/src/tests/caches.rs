use super::super::Commit;
use super::{event, in_memory, insert, open};

const NOW: u64 = 1_770_000_000_000;
const DAY: u64 = 24 * 3600 * 1000;

/// Every way for a row to come, after it was seen that there is none.
#[tokio::test]
async fn what_comes_after_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for store in [in_memory(), open(folder.path())] {
        let events = async |component: &str, since| {
            let first = store.events(component, since, Some(1)).await.unwrap();
            let again = store.events(component, since, None).await.unwrap();
            assert_eq!(first.len(), again.len().min(1));
            again.len()
        };
        assert_eq!(events("a", NOW - DAY).await, 0);
        insert(&store, "a", event(NOW / 1000, "e", "x")).await;
        assert_eq!(events("a", NOW - DAY).await, 1);
        assert_eq!(events("a", NOW).await, 0);
        assert_eq!(events("a", NOW - DAY).await, 1, "of an earlier time");

        assert!(store.events("b", NOW, Some(0)).await.unwrap().is_empty());
        let commit = Commit {
            events: vec![event(NOW / 1000 + 60, "e", "x")],
            ..Commit::default()
        };
        store.commit("b", commit).await.unwrap();
        assert_eq!(events("b", NOW).await, 1);

        assert_eq!(events("os", 0).await, 0);
        store.record_reboot(NOW, NOW - 5000, "boot").await.unwrap();
        assert_eq!(events("os", 0).await, 1);

        assert!(store.marks("a", 5).await.unwrap().is_empty());
        store.add_mark("a", 7).await.unwrap();
        assert_eq!(store.marks("a", 5).await.unwrap(), [7]);
        assert!(store.marks("a", 7).await.unwrap().is_empty());
        assert_eq!(store.marks("a", 6).await.unwrap(), [7]);

        store.checkpoint_and_close().await.unwrap();
        assert!(store.events("a", NOW, None).await.is_err());
        assert!(store.marks("a", 7).await.is_err());
    }
}
