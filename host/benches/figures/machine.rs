//! Measures this machine's speed at the work of the figures, so that figures of two machines can be compared with each
//! other: the targets are for one whose processor is its own.

use std::{hint::black_box, sync::mpsc, time::Instant};

use crate::table::{Table, quantile};

const PAGE: usize = 4096;
/// More than the caches of one core hold.
const WALKED: usize = 16 << 20;
const STEPS: usize = 1 << 20;
const PAGES: usize = 8192;
const HOPS: usize = 2000;
/// The middle one is shown.
const ROUNDS: usize = 5;

pub fn measure(table: &mut Table) {
    eprintln!("this machine …");
    for (what, once, unit) in [
        (
            "this machine: a step of 64-bit arithmetic that needs the one before",
            arithmetic as fn() -> f64,
            "ns",
        ),
        ("  a read from 16 MiB, each from another place", read, "ns"),
        ("  a page written to for the first time", fault, "µs"),
        ("  to another thread and back, both asleep", hop, "µs"),
    ] {
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| once()).collect();
        table.note(what, quantile(&mut rounds, 0.5), unit);
    }
}

/// Nanoseconds of a multiplication, an addition and a rotation.
fn arithmetic() -> f64 {
    let began = Instant::now();
    let mut number = black_box(1_u64);
    for step in 0..STEPS as u64 {
        number = number
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(step)
            .rotate_left(5);
    }
    black_box(number);
    began.elapsed().as_nanos() as f64 / STEPS as f64
}

/// Nanoseconds of a read that says where the next one is.
fn read() -> f64 {
    let places = WALKED / size_of::<u32>();
    // One circle through all places (Sattolo).
    let mut next: Vec<u32> = (0..places as u32).collect();
    let mut random = 1_u64;
    for place in (1..places).rev() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        next.swap(place, (random >> 33) as usize % place);
    }
    let began = Instant::now();
    let mut place = 0;
    for _ in 0..STEPS {
        place = next[place as usize];
    }
    black_box(place);
    began.elapsed().as_nanos() as f64 / STEPS as f64
}

/// Microseconds, clearing the page included.
fn fault() -> f64 {
    let mut memory: Vec<u8> = Vec::with_capacity(PAGES * PAGE);
    let pages = memory.spare_capacity_mut();
    let began = Instant::now();
    for page in pages.chunks_mut(PAGE) {
        page[0].write(1);
    }
    let took = began.elapsed();
    black_box(&memory);
    took.as_nanos() as f64 / 1e3 / PAGES as f64
}

/// Microseconds.
fn hop() -> f64 {
    let (there, asked) = mpsc::sync_channel::<()>(0);
    let (back, answered) = mpsc::sync_channel::<()>(0);
    let other = std::thread::spawn(
        move || {
            while asked.recv().is_ok() && back.send(()).is_ok() {}
        },
    );
    let began = Instant::now();
    for _ in 0..HOPS {
        there.send(()).unwrap();
        answered.recv().unwrap();
    }
    let took = began.elapsed();
    drop(there);
    other.join().unwrap();
    took.as_nanos() as f64 / 1e3 / HOPS as f64
}
