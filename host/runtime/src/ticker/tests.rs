use super::*;

#[test]
fn the_thread_waits_only_while_no_guest_runs() {
    let shared = Arc::<TickerShared>::default();
    let first = shared.tick();
    let second = shared.tick();
    drop(first);
    assert!(shared.wait(), "the second still runs");
    drop(second);
    let waiting = Arc::clone(&shared);
    let thread = std::thread::spawn(move || waiting.wait());
    while !shared.lock().parked {
        std::thread::yield_now();
    }
    let _third = shared.tick();
    assert!(thread.join().unwrap(), "a guest wakes it");
    assert!(!shared.lock().parked);
}

#[test]
fn the_thread_ends_with_the_ticker() {
    let engine = crate::engine::for_compiling().unwrap();
    let ticker = Ticker::start(&engine).unwrap();
    let shared = Arc::downgrade(&ticker.shared);
    drop(ticker);
    while shared.strong_count() > 0 {
        std::thread::yield_now();
    }
}
