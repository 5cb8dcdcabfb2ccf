use std::time::Duration;

use super::*;

fn frame(kind: u8, length: usize) -> Vec<u8> {
    let size = u32::try_from(length).unwrap().to_be_bytes();
    let mut bytes = size[1..].to_vec();
    bytes.extend([kind, 0, 0, 0, 0, 0]);
    bytes.resize(HEAD + length, 0);
    bytes
}

fn started(now: Instant) -> Counter {
    let mut counter = Counter::new();
    assert!(counter.take(&[b'P'; PREFACE], now));
    counter.at = now;
    counter
}

#[test]
fn floods_are_cut_however_they_are_split() {
    let now = Instant::now();
    for kind in [3, 4, 6, 8, 77] {
        for piece in [1, 7, 9, 4096] {
            let mut counter = started(now);
            let flood = frame(kind, 8).repeat(BURST as usize);
            assert!(flood.chunks(piece).all(|bytes| counter.take(bytes, now)));
            assert!(!counter.take(&frame(kind, 8), now), "{kind} {piece}");
            // A while later a few more are fine.
            let later = now + Duration::from_secs(1);
            let few = frame(kind, 8).repeat(RATE as usize - 2);
            assert!(counter.take(&few, later));
        }
    }
    let mut counter = started(now);
    assert!(!counter.take(&frame(DATA, 0).repeat(BURST as usize + 1), now));
}

#[test]
fn requests_bodies_and_readers_are_not() {
    let now = Instant::now();
    let mut counter = started(now);
    for _ in 0..100_000 {
        assert!(counter.take(&frame(HEADERS, 30), now));
        assert!(counter.take(&frame(DATA, 100), now));
    }
    // A long answer, as Go's client takes it.
    for _ in 0..100_000 {
        counter.read_by_client(4096);
        assert!(counter.take(&frame(8, 4).repeat(2), now));
    }
}
