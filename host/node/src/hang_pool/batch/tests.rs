use std::{
    collections::HashSet,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use super::*;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("statvfs /mnt/{n}")).collect()
}

/// A call that answers with its index, but hangs for those of `dead` until the sender is dropped.
fn mounts(
    dead: &'static [usize],
) -> (
    mpsc::Sender<()>,
    impl Fn(usize) -> Result<usize, SourceError> + Send + Sync,
) {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    (release, move |index| {
        if dead.contains(&index) {
            let _ = held.lock().unwrap().recv();
        }
        Ok(index)
    })
}

fn timed_out(answer: &Option<Result<usize, SourceError>>) -> Option<&str> {
    match answer {
        Some(Err(SourceError::TimedOut { what, .. })) => Some(what),
        _ => None,
    }
}

#[tokio::test]
async fn every_call_has_its_answer_and_few_threads_made_them_all() {
    let pool = HangPool::new("test", 4);
    let call = |index| match index {
        3 => Err(SourceError::NotFound("3".to_owned())),
        5 => panic!("on purpose"),
        index => Ok((index, thread::current().id())),
    };
    let began = Instant::now();
    let answers = pool.run_all("all", names(100), LONG, LONG, call).await;
    // Where the machine is so busy that a call seems to hang, others go on with the rest.
    let most = if began.elapsed() < HAND_OVER {
        1
    } else {
        MAX_AT_ONCE
    };
    assert_eq!(answers.len(), 100);
    let mut threads = HashSet::new();
    for (index, answer) in answers.into_iter().enumerate() {
        match answer.unwrap() {
            Ok((answered, thread)) => {
                assert_eq!(answered, index);
                threads.insert(thread);
            }
            Err(SourceError::NotFound(_)) => assert_eq!(index, 3),
            Err(error) => {
                assert_eq!(index, 5);
                assert_eq!(error.to_string(), "statvfs /mnt/5: the call panicked");
            }
        }
    }
    let made = pool.shared.lock().threads;
    assert!((1..=most).contains(&threads.len()), "{threads:?}");
    assert!((1..=most).contains(&made), "{made}");
    let nothing = pool.run_all("none", Vec::new(), LONG, LONG, call).await;
    assert!(nothing.is_empty());
}

#[tokio::test]
async fn a_dead_mount_spoils_only_its_own_answer_and_is_not_asked_again() {
    let pool = HangPool::new("test", 4);
    let (release, call) = mounts(&[1]);
    let answers = pool.run_all("all", names(6), SHORT, LONG, call).await;
    for (index, answer) in answers.iter().enumerate() {
        match index {
            1 => assert_eq!(timed_out(answer), Some("statvfs /mnt/1")),
            index => assert_eq!(answer, &Some(Ok(index))),
        }
    }
    let stuck = || -> Vec<_> { pool.stuck().into_iter().map(|call| call.what).collect() };
    assert_eq!(stuck(), ["statvfs /mnt/1"]);
    // By itself and among others it fails at once.
    let alone = pool.run("statvfs /mnt/1", LONG, || Ok(0)).await;
    assert!(alone.unwrap_err().to_string().contains("still hangs"));
    let asked = Instant::now();
    let answers = pool.run_all("all", names(6), LONG, LONG, Ok).await;
    assert!(asked.elapsed() < LONG);
    let error = timed_out(&answers[1]).unwrap();
    assert!(error.contains("still hangs"), "{error}");
    assert_eq!(answers[5], Some(Ok(5)));
    assert_eq!(stuck(), ["statvfs /mnt/1"]);
    // It comes back, and its thread serves again.
    drop(release);
    while !pool.stuck().is_empty() {
        tokio::task::yield_now().await;
    }
    let answers = pool.run_all("all", names(6), LONG, LONG, Ok).await;
    assert_eq!(answers[1], Some(Ok(1)));
}

#[tokio::test]
async fn many_dead_mounts_cost_a_few_threads_and_a_bounded_time() {
    const DEAD: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let pool = HangPool::new("test", 32);
    let (_release, call) = mounts(&DEAD);
    let deadline = Duration::from_secs(1);
    let asked = Instant::now();
    let answers = pool.run_all("all", names(12), deadline, LONG, call).await;
    // One after the other they would take nine seconds.
    assert!(asked.elapsed() < 4 * deadline, "{:?}", asked.elapsed());
    assert_eq!(answers[0], Some(Ok(0)));
    let lost = answers.iter().filter(|one| timed_out(one).is_some());
    let lost = lost.count();
    assert!((MAX_LOST..MAX_LOST + MAX_AT_ONCE).contains(&lost), "{lost}");
    assert_eq!(answers[11], None, "not asked, which is no verdict");
    assert_eq!(pool.shared.lock().threads, lost);
}

#[tokio::test]
async fn slow_is_not_dead() {
    let pool = HangPool::new("test", 4);
    let call = |index| {
        thread::sleep(Duration::from_millis(if index == 0 { 600 } else { 0 }));
        Ok(index)
    };
    let answers = pool.run_all("all", names(3), LONG, LONG, call).await;
    assert_eq!(answers, [Some(Ok(0)), Some(Ok(1)), Some(Ok(2))]);
}

#[tokio::test]
async fn all_together_have_a_deadline_too() {
    let pool = HangPool::new("test", 4);
    let (_release, call) = mounts(&[0]);
    let answers = pool.run_all("all", names(1), LONG, SHORT, call).await;
    assert!(timed_out(&answers[0]).is_some(), "{answers:?}");
}

#[tokio::test]
async fn without_a_thread_each_answer_says_so() {
    let pool = HangPool::new("test", 1);
    let (release, call) = mounts(&[0]);
    pool.run_all("dead", names(1), SHORT, LONG, call).await;
    let others = vec!["statvfs /a".to_owned(), "statvfs /b".to_owned()];
    for answer in pool.run_all("others", others, SHORT, LONG, Ok).await {
        let text = answer.unwrap().unwrap_err().to_string();
        assert!(
            text.contains("not started") && text.contains("/mnt/0"),
            "{text}"
        );
    }
    drop(release);
}

#[tokio::test]
async fn dropping_the_future_ends_the_calls() {
    let pool = HangPool::new("test", 1);
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let (release, dead) = mounts(&[1]);
    let call = move |index| {
        counter.fetch_add(1, Ordering::SeqCst);
        dead(index)
    };
    let asked = pool.clone();
    let asking =
        tokio::spawn(async move { asked.run_all("all", names(50), LONG, LONG, call).await });
    while made.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    asking.abort();
    asking.await.unwrap_err();
    drop(release);
    assert_eq!(pool.run("after", LONG, || Ok(1)).await, Ok(1));
    assert_eq!(made.load(Ordering::SeqCst), 2);
}
