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
#[tokio::test(start_paused = true)]
async fn who_wants_little_does_not_wait_for_all_who_want_much() {
    let one_place = Quota {
        all: 1,
        others: 1,
        each: 1,
    };
    let queue = Arc::new(FairQueue::new(one_place));
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let wait = |uid: u32, count: usize| {
        for _ in 0..count {
            let (queue, served) = (Arc::clone(&queue), served.clone());
            tokio::spawn(async move {
                let permit = queue.take(user(uid)).await;
                served.send((uid, permit)).unwrap();
            });
        }
    };
    let mut next = async |time: u64| {
        let (uid, _permit) = order.recv().await.unwrap();
        tokio::time::advance(Duration::from_millis(time)).await;
        uid
    };
    for uid in 1..=4 {
        wait(uid, 20);
        tokio::task::yield_now().await;
    }
    let first = [
        next(2000).await,
        next(2100).await,
        next(2200).await,
        next(2300).await,
    ];
    assert_eq!(
        first,
        [1, 2, 3, 4],
        "each has a turn before anybody has a second"
    );
    // Somebody else comes again and again while the others queue up.
    wait(5, 1);
    tokio::task::yield_now().await;
    assert_eq!(next(2000).await, 1, "chosen before");
    for _ in 0..5 {
        assert_eq!(next(10).await, 5);
        wait(5, 1);
        tokio::task::yield_now().await;
        assert_ne!(next(2000).await, 5, "chosen before");
    }
}

#[tokio::test]
async fn of_the_time_of_those_who_have_gone_nothing_is_kept() {
    let queue = Arc::new(FairQueue::new(SMALL));
    drop(take(&queue, user(1), 3));
    assert!(queue.lock().had.is_empty());
    let held = take(&queue, user(0), 1);
    for uid in 1..10_000 {
        drop(take(&queue, user(uid), 1));
    }
    assert!(queue.lock().had.len() <= MAX_KNOWN);
    drop(held);
    assert!(queue.lock().had.is_empty());
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
