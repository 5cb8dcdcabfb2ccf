//! Tests how long a reservation lasts, and how its answer ends.

use tokio_util::sync::CancellationToken;

use super::*;
use crate::peer::Identity;

const SMALL: Quota = Quota {
    all: 8,
    others: 6,
    each: 4,
};
const LIMIT: Duration = Duration::from_secs(30);

fn user(uid: u32) -> Option<Holder> {
    let identity = Identity::User(uid);
    Some(Holder {
        identity,
        group: identity,
    })
}

/// An answer over a connection of its own, and the connection.
fn connected() -> (Cancellation, CancellationToken) {
    let connection = CancellationToken::new();
    (Cancellation::of_this_task(&connection), connection)
}

#[test]
fn a_place_is_held_until_the_last_piece_was_written() {
    let pool = Arc::new(ReservationPool::new(SMALL));
    let reservation = Arc::new(pool.take(user(1), 3, &Cancellation::default()).unwrap());
    let [one, two] = [b"one", b"two"].map(|text| reservation.piece(Bytes::from_static(text)));
    assert_eq!((&one[..], &two[..]), (&b"one"[..], &b"two"[..]));
    drop(reservation);
    drop(two);
    assert_eq!(pool.held(), 3);
    drop(one);
    assert_eq!(pool.held(), 0);
    assert!(pool.lock().answers.is_empty());
}

#[test]
fn an_answer_that_is_not_taken_is_ended_and_then_its_connection() {
    let pool = Arc::new(ReservationPool::new(SMALL));
    let (cancellation, connection) = connected();
    let gentle = cancellation.asking_first();
    let reservation = Arc::new(pool.take(None, 1, &gentle).unwrap());
    let started = Instant::now();
    pool.end_stalled(started + LIMIT, LIMIT);
    assert!(!connection.is_cancelled(), "there is nothing to take");
    let _piece = reservation.piece(Bytes::from_static(b"piece"));
    pool.end_stalled(started, LIMIT);
    assert!(!connection.is_cancelled(), "it has time");
    let late = Instant::now() + LIMIT;
    pool.end_stalled(late, LIMIT);
    assert!(connection.is_cancelled() && !gentle.is_asked());
    assert_eq!(pool.held(), 1, "until it is gone");
    let step = || pool.lock().answers.values().next().unwrap().leaving;
    assert_eq!(step(), Some((CancelStep::EndStream, late)));
    pool.end_stalled(late + STEP_TIME / 2, LIMIT);
    assert_eq!(step(), Some((CancelStep::EndStream, late)));
    let later = late + STEP_TIME;
    for now in [later, later + STEP_TIME] {
        pool.end_stalled(now, LIMIT);
        assert_eq!(step(), Some((CancelStep::CutConnection, later)));
    }
}

#[test]
fn an_answer_that_makes_room_is_asked_first() {
    let pool = Arc::new(ReservationPool::new(SMALL));
    let held: Vec<_> = [1, 1, 1, 2, 2, 2]
        .map(|uid| {
            let (cancellation, connection) = connected();
            let reservation = pool.take(user(uid), 1, &cancellation.asking_first());
            (reservation.unwrap(), connection)
        })
        .into_iter()
        .collect();
    assert!(pool.take(user(1), 2, &Cancellation::default()).is_none());
    let newcomer = pool.take(user(3), 1, &Cancellation::default()).unwrap();
    let asked = held
        .iter()
        .map(|(reservation, _)| reservation.cancellation().is_asked());
    let expected = [true, false, false, false, false, false];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
    assert_eq!(pool.held(), 6, "the one that goes counts no more");
    let open = || {
        held.iter()
            .filter(|(_, connection)| !connection.is_cancelled())
    };
    assert_eq!(open().count(), 6);
    pool.end_stalled(Instant::now() + STEP_TIME, LIMIT);
    assert_eq!(open().count(), 5, "it did not go by itself");
    drop(newcomer);
    assert_eq!(pool.held(), 5);
    drop(held);
    assert_eq!(pool.held(), 0);
    assert!(pool.lock().answers.is_empty());
}

#[tokio::test]
async fn a_place_that_comes_free_is_waited_for() {
    let pool = Arc::new(ReservationPool::new(SMALL));
    // Larger than a share: it counts as one.
    let first = pool.take(user(1), 100, &Cancellation::default()).unwrap();
    assert_eq!(pool.held(), SMALL.each);
    let waiting = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move { pool.wait(user(1), 1, &Cancellation::default()).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(first);
    let second = waiting.await.unwrap();
    assert_eq!(pool.held(), 1);
    drop(second);
}
