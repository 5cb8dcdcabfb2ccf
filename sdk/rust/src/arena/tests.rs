use std::collections::BTreeMap;

use super::*;

/// Where the parts of the memory are in a buffer of [`MOST`] bytes.
const FIRST_AT: usize = 48;
const REST_AT: usize = FIRST_AT + FIRST + 1000;
const INITIAL: usize = 2 * PAGE;
const MOST: usize = 16 << 20;

struct Buffer {
    start: usize,
    length: Cell<usize>,
    most: usize,
}

impl MemoryLayout for Buffer {
    fn first(&self) -> usize {
        self.start + FIRST_AT
    }

    fn rest(&self) -> usize {
        self.start + REST_AT
    }

    fn end(&self) -> usize {
        self.start + self.length.get()
    }

    fn grow(&self, pages: usize) -> bool {
        let length = self.length.get() + pages * PAGE;
        let fits = length <= self.most;
        if fits {
            self.length.set(length);
        }
        fits
    }
}

/// An arena in a buffer that may grow to so many bytes; the buffer is never freed.
fn arena(most: usize) -> Arena<Buffer> {
    assert!(most <= MOST);
    let words = vec![0_u128; MOST / size_of::<u128>()].leak();
    Arena::new(Buffer {
        start: words.as_mut_ptr().expose_provenance(),
        length: Cell::new(INITIAL),
        most,
    })
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Numbers of a xorshift generator: the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// A block in use, full of one byte.
struct Block {
    layout: Layout,
    filling: u8,
}

impl Block {
    fn holds(&self, address: usize, bytes: usize) -> bool {
        let start: *const u8 = ptr::with_exposed_provenance(address);
        // SAFETY: the block is in use, and at least so long.
        let content = unsafe { core::slice::from_raw_parts(start, bytes) };
        content.iter().all(|byte| *byte == self.filling)
    }

    fn fill(&self, start: *mut u8) {
        // SAFETY: the block was just handed out.
        unsafe { start.write_bytes(self.filling, self.layout.size()) };
    }
}

#[test]
fn blocks_lie_apart_and_keep_what_is_in_them() {
    let arena = arena(MOST);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut blocks: BTreeMap<usize, Block> = BTreeMap::new();
    for step in 0..60_000 {
        let chosen = numbers.below(blocks.len().max(1));
        let address = blocks.keys().nth(chosen).copied();
        let size = match numbers.below(8) {
            0 => 1 + numbers.below(60_000),
            1..=3 => 1 + numbers.below(2_000),
            _ => 1 + numbers.below(100),
        };
        let filling = u8::try_from(step % 251).unwrap();
        let (start, layout) = match (address, numbers.below(4)) {
            // SAFETY: what is freed or made longer is in use, with the layout that it was asked for with.
            (Some(address), 0..=1) if blocks.len() > 60 || numbers.below(2) == 0 => {
                let block = blocks.remove(&address).unwrap();
                assert!(block.holds(address, block.layout.size()), "step {step}");
                unsafe { arena.dealloc(ptr::with_exposed_provenance_mut(address), block.layout) };
                continue;
            }
            (Some(address), 2) => {
                let block = blocks.remove(&address).unwrap();
                let old = ptr::with_exposed_provenance_mut(address);
                let start = unsafe { arena.realloc(old, block.layout, size) };
                if start.is_null() {
                    blocks.insert(address, block);
                    continue;
                }
                let kept = size.min(block.layout.size());
                assert!(block.holds(start.addr(), kept), "step {step}");
                (start, layout(size, block.layout.align()))
            }
            _ => {
                let layout = layout(size, 1 << numbers.below(7));
                (unsafe { arena.alloc(layout) }, layout)
            }
        };
        if start.is_null() {
            continue;
        }
        let address = start.expose_provenance();
        assert_eq!(address % layout.align(), 0, "step {step}");
        let before = blocks.range(..=address).next_back();
        assert!(before.is_none_or(|(at, block)| at + block.layout.size() <= address));
        let after = blocks.range(address..).next();
        assert!(after.is_none_or(|(at, _)| address + size <= *at));
        let own = arena.memory.first()..arena.memory.first() + FIRST;
        let in_first = own.contains(&address) && address + size <= own.end;
        let in_rest = address >= arena.memory.rest() && address + size <= arena.memory.end();
        assert!(in_first || in_rest, "step {step}: not the arena's");
        let block = Block { layout, filling };
        block.fill(start);
        blocks.insert(address, block);
    }
    assert!(
        blocks
            .iter()
            .all(|(at, block)| block.holds(*at, block.layout.size()))
    );
}

#[test]
fn who_makes_and_drops_small_blocks_without_end_needs_no_more_memory() {
    let arena = arena(INITIAL);
    for round in 0..100_000_usize {
        let sizes = [40, 300 + round % 50, 24, 5_000 + round % 1_000];
        let layouts = sizes.map(|size| layout(size, 8));
        // SAFETY: each is freed once, with its layout.
        let starts = layouts.map(|layout| unsafe { arena.alloc(layout) });
        assert!(starts.iter().all(|start| !start.is_null()), "round {round}");
        for (start, layout) in starts.into_iter().zip(layouts) {
            unsafe { arena.dealloc(start, layout) };
        }
    }
    assert_eq!(arena.memory.length.get(), INITIAL);
}

#[test]
fn memory_that_is_refused_is_null_and_what_there_is_goes_on() {
    let arena = arena(INITIAL + PAGE);
    // SAFETY: nothing is done with the blocks.
    let take = |size| unsafe { arena.alloc(layout(size, 8)) };
    assert!(take(4 * PAGE).is_null());
    assert!(!take(PAGE).is_null());
    assert!(take(PAGE).is_null());
    assert!(!take(1_000).is_null());
    assert!(take(isize::MAX as usize - 15).is_null());
}
