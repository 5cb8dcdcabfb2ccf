use std::sync::mpsc;

use super::*;

const SHORT: Duration = Duration::from_millis(30);
const LONG: Duration = Duration::from_secs(60);

/// A call that hangs until the sender is dropped.
fn hang() -> (
    mpsc::Sender<()>,
    impl FnOnce() -> Result<u8, SourceError> + Send,
) {
    let (release, held) = mpsc::channel::<()>();
    (release, move || {
        let _ = held.recv();
        Ok(1)
    })
}

#[tokio::test]
async fn answers_errors_and_panics_come_back() {
    let pool = HangPool::new("test", 2);
    assert_eq!(pool.run("a", LONG, || Ok(5)).await, Ok(5));
    let gone = SourceError::NotFound("b".to_owned());
    let answer: Result<(), _> = pool.run("b", LONG, || Err(gone)).await;
    assert_eq!(answer, Err(SourceError::NotFound("b".to_owned())));
    let answer: Result<(), _> = pool.run("c", LONG, || panic!("on purpose")).await;
    assert!(matches!(answer, Err(SourceError::Other(text)) if text.starts_with("c: ")));
    assert_eq!(pool.run("a", LONG, || Ok(6)).await, Ok(6));
}

#[tokio::test]
async fn a_hung_call_times_out_with_its_last_good_time_and_never_takes_a_second_thread() {
    let pool = HangPool::new("test", 4);
    pool.run("mount", LONG, || Ok(0)).await.unwrap();
    let (release, call) = hang();
    let answer = pool.run("mount", SHORT, call).await;
    let Err(SourceError::TimedOut {
        what,
        after,
        last_good: Some(_),
    }) = answer
    else {
        panic!("{answer:?}")
    };
    assert_eq!(what, "mount");
    assert!(after >= SHORT);
    let again = pool
        .run("mount", LONG, || -> Result<u8, _> { unreachable!() })
        .await;
    assert!(matches!(
        again,
        Err(SourceError::TimedOut {
            last_good: Some(_),
            ..
        })
    ));
    assert_eq!(
        pool.stuck().iter().map(|s| &s.what).collect::<Vec<_>>(),
        ["mount"]
    );
    assert_eq!(pool.run("other", LONG, || Ok(2)).await, Ok(2));
    drop(release);
    while !pool.stuck().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(pool.run("mount", LONG, || Ok(3)).await, Ok(3));
}

#[tokio::test]
async fn an_exhausted_pool_names_its_holders_and_recovers() {
    let pool = HangPool::new("files", 2);
    let (first, call) = hang();
    pool.run("stat /mnt/a", SHORT, call).await.unwrap_err();
    let (second, call) = hang();
    pool.run("stat /mnt/b", SHORT, call).await.unwrap_err();
    let refused = pool.run("read /proc/stat", LONG, || Ok(1)).await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("read /proc/stat")
            && text.contains("stat /mnt/a")
            && text.contains("stat /mnt/b"),
        "{text}"
    );
    drop(first);
    while pool.stuck().len() > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pool.run("read /proc/stat", LONG, || Ok(1)).await, Ok(1));
    drop(second);
}

#[tokio::test]
async fn a_call_that_never_got_a_thread_says_so_and_never_runs() {
    let pool = HangPool::new("test", 1);
    let (release, call) = hang();
    // Busy, but within its own deadline: the second call may hope and waits.
    let busy = tokio::spawn(pool.run("busy", LONG, call));
    while pool.shared.lock().running.is_empty() {
        tokio::task::yield_now().await;
    }
    let (ran, was_run) = mpsc::channel::<()>();
    let waiting = pool.run("waiting", SHORT, move || {
        let _ = ran.send(());
        Ok(())
    });
    let text = waiting.await.unwrap_err().to_string();
    assert!(
        text.contains("not started") && text.contains("busy"),
        "{text}"
    );
    drop(release);
    assert_eq!(busy.await.unwrap(), Ok(1));
    pool.run("after", LONG, || Ok(())).await.unwrap();
    assert!(was_run.recv().is_err());
}

#[tokio::test]
async fn dropping_the_future_unqueues_the_call() {
    let pool = HangPool::new("test", 1);
    let (release, call) = hang();
    let busy = tokio::spawn(pool.run("busy", LONG, call));
    while pool.shared.lock().running.is_empty() {
        tokio::task::yield_now().await;
    }
    let waiting = tokio::spawn(pool.run("waiting", LONG, || Ok(())));
    while pool.shared.lock().queue.is_empty() {
        tokio::task::yield_now().await;
    }
    waiting.abort();
    waiting.await.unwrap_err();
    assert!(pool.shared.lock().queue.is_empty());
    drop(release);
    busy.await.unwrap().unwrap();
}

/// The next call is often served by the thread that has just answered, and no thread is woken for it: no call may be
/// left lying.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_follow_answers_are_all_served() {
    let pool = HangPool::new("test", 2);
    let chain = |of: u32| {
        let pool = pool.clone();
        tokio::spawn(async move {
            for n in 0..500 {
                let answer = pool.run(&format!("{of} {n}"), LONG, move || Ok(n)).await;
                assert_eq!(answer, Ok(n));
            }
        })
    };
    let chains: Vec<_> = (0..6).map(chain).collect();
    for chain in chains {
        chain.await.unwrap();
    }
    let state = pool.shared.lock();
    assert_eq!((state.queue.len(), state.running.len()), (0, 0));
}

#[tokio::test]
async fn a_call_that_is_started_is_made_and_ends_though_it_panics() {
    let pool = HangPool::new("test", 1);
    let (end, mut ended) = tokio::sync::mpsc::channel::<()>(1);
    let kept = end.clone();
    let panics = pool.start("a", LONG, move || {
        let _kept = kept;
        panic!("on purpose")
    });
    let _tickets = [panics.unwrap(), pool.start("b", LONG, || end).unwrap()];
    assert_eq!(ended.recv().await, None);
}

#[tokio::test]
async fn threads_stay_within_the_bound_and_every_call_is_served() {
    let pool = HangPool::new("test", 3);
    let calls: Vec<_> = (0..200u32)
        .map(|n| tokio::spawn(pool.run(&format!("call {n}"), LONG, move || Ok(n))))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(
            call.await.unwrap().map(|got| got as usize),
            Ok::<usize, SourceError>(n)
        );
    }
    assert!(pool.shared.lock().threads <= 3);
}

#[test]
fn the_memory_of_good_answers_is_bounded_and_forgets_the_oldest() {
    let mut state = PoolState::default();
    for n in 0..=MAX_REMEMBERED as u64 {
        state.remember(format!("source {n}"), n);
    }
    assert_eq!(state.last_good.len(), MAX_REMEMBERED);
    assert!(!state.last_good.contains_key("source 0"));
    assert!(state.last_good.contains_key("source 1"));
}
