use futures_util::FutureExt as _;

use super::*;

const SMALL: Quota = Quota {
    all: 8,
    others: 6,
    each: 4,
};

fn user(uid: u32) -> Option<Holder> {
    let identity = Identity::User(uid);
    Some(Holder {
        identity,
        group: identity,
    })
}

fn subordinate(uid: u32) -> Option<Holder> {
    Some(Holder {
        identity: Identity::User(uid),
        group: Identity::User(1),
    })
}

fn take(queue: &Arc<FairQueue>, holder: Option<Holder>, count: usize) -> Vec<Permit> {
    let permits = (0..count).filter_map(|_| queue.take(holder).now_or_never().flatten());
    permits.collect()
}

#[test]
fn each_has_a_share_and_root_always_finds_a_part_free() {
    let queue = Arc::new(FairQueue::new(SMALL));
    let mut one = take(&queue, user(1), 100);
    assert_eq!(one.len(), 4);
    let two = take(&queue, user(2), 100);
    assert_eq!(two.len(), 2);
    let root = take(&queue, None, 100);
    assert_eq!(root.len(), 2);
    one.pop();
    assert_eq!(take(&queue, user(1), 100).len(), 1);
    drop((one, two, root));
    assert_eq!(queue.free(), 8);
    let state = queue.lock();
    assert!(state.held.is_empty() && state.held_by_group.is_empty());
}

#[tokio::test]
async fn who_holds_none_is_served_before_all_who_came_earlier() {
    let queue = Arc::new(FairQueue::new(SMALL));
    let mut held = take(&queue, user(1), 3);
    held.extend(take(&queue, user(2), 3));
    // Many requests of those who hold some, then one of somebody else.
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let wait = |holder: Option<Holder>| {
        let (queue, served) = (Arc::clone(&queue), served.clone());
        tokio::spawn(async move {
            let permit = queue.take(holder).await;
            served.send((holder, permit)).unwrap();
        });
    };
    for uid in [1, 2, 1, 2, 1, 2, 3] {
        wait(user(uid));
        tokio::task::yield_now().await;
    }
    drop(held.pop());
    let (first, third) = order.recv().await.unwrap();
    assert_eq!(first, user(3));
    // Once it holds as many as others, they are served in turn.
    drop(held.remove(0));
    let (second, _permit) = order.recv().await.unwrap();
    assert_eq!(second, user(1), "it holds two, and came before the other");
    drop(third);
    assert_eq!(order.recv().await.unwrap().0, user(2));
}

/// With one place, nobody holds any when it becomes free: what each has had before decides.
#[tokio::test]
async fn each_has_a_turn_before_anybody_has_a_second() {
    let one_place = Quota {
        all: 1,
        others: 1,
        each: 1,
    };
    let queue = Arc::new(FairQueue::new(one_place));
    let held = take(&queue, user(1), 1);
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    // The last one comes when the others have queued up.
    for uid in [1, 1, 1, 1, 2, 2, 2, 2, 3] {
        let (queue, served) = (Arc::clone(&queue), served.clone());
        tokio::spawn(async move {
            let permit = queue.take(user(uid)).await;
            served.send((uid, permit)).unwrap();
        });
        tokio::task::yield_now().await;
    }
    drop(held);
    let mut uids = Vec::new();
    for _ in 0..9 {
        let (uid, _permit) = order.recv().await.unwrap();
        uids.push(uid);
    }
    assert_eq!(uids, [1, 2, 3, 1, 2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn many_users_of_one_person_count_together() {
    let queue = Arc::new(FairQueue::new(SMALL));
    let mut held: Vec<Permit> = (10..15)
        .flat_map(|uid| take(&queue, subordinate(uid), 1))
        .collect();
    held.extend(take(&queue, user(2), 1));
    let fresh = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.take(subordinate(99)).await }
    });
    tokio::task::yield_now().await;
    let other = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.take(user(2)).await }
    });
    tokio::task::yield_now().await;
    drop(held.remove(0));
    assert!(
        other.await.unwrap().is_some(),
        "before the sixth of one person"
    );
    assert!(!fresh.is_finished());
    drop(held);
    assert!(fresh.await.unwrap().is_some());
}

#[tokio::test]
async fn who_stops_waiting_leaves_nothing_behind() {
    let queue = Arc::new(FairQueue::new(SMALL));
    let held = take(&queue, user(1), 4);
    for _ in 0..1000 {
        assert!(queue.take(user(1)).now_or_never().is_none());
    }
    assert!(
        queue
            .lock()
            .waiting
            .get(&user(1))
            .is_none_or(|waiting| waiting.waiters.len() <= 1)
    );
    drop(held);
    assert_eq!(queue.free(), 8);
    assert!(queue.lock().waiting.is_empty());
}
