//! An allocator for guests that live for one call: it hands out memory in a row and takes back only what was handed out
//! last.
//!
//! An instance is thrown away after its call, so freeing is lost effort; and the first 64 KiB are part of the module's
//! initial memory, so that a small check never grows its memory, which costs the host a change of page protections and
//! all of the machine's cores a TLB flush. A checker that allocates and frees without end runs into its memory limit
//! sooner than with Rust's usual allocator: for such, leave the feature `arena` off.
#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::{Cell, UnsafeCell},
    ptr,
};

/// Bytes that are there from the beginning.
const FIRST: usize = 64 * 1024;
/// Least growth, in WebAssembly pages of 64 KiB.
const GROWTH: usize = 4;
/// A WebAssembly page, bytes.
const PAGE: usize = 64 * 1024;

/// The allocator.
pub struct Arena {
    next: Cell<usize>,
    end: Cell<usize>,
}

#[repr(align(16))]
struct First(UnsafeCell<[u8; FIRST]>);

// SAFETY: this module is compiled for wasm32 without threads only; there is nobody to share with.
unsafe impl Sync for Arena {}
// SAFETY: as above.
unsafe impl Sync for First {}

static FIRST_BYTES: First = First(UnsafeCell::new([0; FIRST]));

#[global_allocator]
static ARENA: Arena = Arena {
    next: Cell::new(0),
    end: Cell::new(0),
};

impl Arena {
    /// Room for `size` bytes at `align`, or null.
    fn take(&self, size: usize, align: usize) -> *mut u8 {
        if self.end.get() == 0 {
            let start = FIRST_BYTES.0.get().addr();
            self.next.set(start);
            self.end.set(start + FIRST);
        }
        let aligned = |next: usize| next.checked_add(align - 1).map(|end| end & !(align - 1));
        let Some(mut start) = aligned(self.next.get()) else {
            return ptr::null_mut();
        };
        if start
            .checked_add(size)
            .is_none_or(|stop| stop > self.end.get())
        {
            let Some(wanted) = size.checked_add(align) else {
                return ptr::null_mut();
            };
            let pages = wanted.div_ceil(PAGE).max(GROWTH);
            let old = core::arch::wasm32::memory_grow::<0>(pages);
            if old == usize::MAX {
                return ptr::null_mut();
            }
            // Growth that follows what is there makes it longer; anything else begins anew.
            let grown = old * PAGE;
            if grown != self.end.get() {
                self.next.set(grown);
            }
            self.end.set(grown + pages * PAGE);
            let Some(again) = aligned(self.next.get()) else {
                return ptr::null_mut();
            };
            start = again;
        }
        self.next.set(start + size);
        ptr::with_exposed_provenance_mut(start)
    }

    /// Is this block the last one handed out?
    fn is_last(&self, block: *mut u8, size: usize) -> bool {
        block.addr() + size == self.next.get()
    }
}

// SAFETY: `take` gives disjoint, aligned parts of memory that belongs to the arena alone (the static above, and pages
// that it grew itself); only the last part is ever taken back, or made longer where room follows.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size(), layout.align())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.is_last(block, layout.size()) {
            self.next.set(block.addr());
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let fits = block
            .addr()
            .checked_add(new_size)
            .is_some_and(|stop| stop <= self.end.get());
        if self.is_last(block, layout.size()) && fits {
            self.next.set(block.addr() + new_size);
            return block;
        }
        if new_size <= layout.size() {
            return block;
        }
        let new = self.take(new_size, layout.align());
        if !new.is_null() {
            // SAFETY: both are at least `layout.size()` bytes long, and disjoint.
            unsafe { ptr::copy_nonoverlapping(block, new, layout.size()) };
        }
        new
    }
}
