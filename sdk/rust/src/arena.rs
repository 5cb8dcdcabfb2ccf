//! An allocator for guests that live for one call: it hands out memory in a row, and again what was freed of the same
//! size.
//!
//! An instance is thrown away after its call, so there is nothing to keep in order; and the first 64 KiB are part of the
//! module's initial memory, so that a small check never grows its memory, which costs the host a change of page
//! protections and all of the machine's cores a TLB flush. A checker that allocates and frees large blocks without end runs
//! into its memory limit sooner than with Rust's usual allocator: for such, leave the feature `arena` off.
#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::{Cell, UnsafeCell},
    ptr,
};

use crate::block_size;

/// Bytes that are there from the beginning.
const FIRST: usize = 64 * 1024;
/// Least growth, in WebAssembly pages of 64 KiB.
const GROWTH: usize = 1;
/// A WebAssembly page, bytes.
const PAGE: usize = 64 * 1024;
/// What all blocks of a size are aligned to. Others are not handed out again.
const ALIGN: usize = 16;

/// The allocator.
pub struct Arena {
    next: Cell<usize>,
    end: Cell<usize>,
    /// The last page of the initial memory is the module's only up to a point; the rest is used before it grows.
    is_rest_used: Cell<bool>,
    /// Of each size the block that was freed last; in its first word is the one before it, and so on.
    freed: [Cell<usize>; block_size::COUNT],
}

#[repr(align(16))]
struct First(UnsafeCell<[u8; FIRST]>);

// SAFETY: this module is compiled for wasm32 without threads only; there is nobody to share with.
unsafe impl Sync for Arena {}
// SAFETY: as above.
unsafe impl Sync for First {}

unsafe extern "C" {
    /// Where the module's own data ends; the linker says so.
    static __heap_base: u8;
}

static FIRST_BYTES: First = First(UnsafeCell::new([0; FIRST]));

#[global_allocator]
static ARENA: Arena = Arena {
    next: Cell::new(0),
    end: Cell::new(0),
    is_rest_used: Cell::new(false),
    freed: [const { Cell::new(0) }; block_size::COUNT],
};

/// Which list a block of this layout belongs to, if any, and its bytes.
fn block(layout: Layout) -> (Option<usize>, usize) {
    match block_size::of(layout.size()) {
        Some((list, size)) if layout.align() <= ALIGN => (Some(list), size),
        _ => (None, layout.size()),
    }
}

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
        let fits = |start: usize| {
            let stop = start.checked_add(size);
            stop.is_some_and(|stop| stop <= self.end.get())
        };
        if !fits(start) && !self.is_rest_used.replace(true) {
            // A large block may leave some of the first part unused, once.
            self.next.set((&raw const __heap_base).addr());
            self.end.set(core::arch::wasm32::memory_size::<0>() * PAGE);
            start = aligned(self.next.get()).unwrap_or(usize::MAX);
        }
        if !fits(start) {
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
// that it grew itself); only the last part is taken back, or made longer where room follows. A part that is in a list was
// freed, has room for a word, and leaves the list before it is handed out again, for a layout that fits its size.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (list, size) = block(layout);
        let Some(freed) = list.and_then(|list| self.freed.get(list)) else {
            return self.take(size, layout.align());
        };
        match freed.get() {
            0 => self.take(size, ALIGN),
            address => {
                let block: *mut usize = ptr::with_exposed_provenance_mut(address);
                // SAFETY: the block is free, and `dealloc` wrote this word into it.
                freed.set(unsafe { block.read() });
                block.cast()
            }
        }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        let (list, size) = block(layout);
        if self.is_last(old, size) {
            self.next.set(old.addr());
        } else if let Some(freed) = list.and_then(|list| self.freed.get(list)) {
            // SAFETY: nobody uses the block any more; it is aligned to, and at least, 16 bytes.
            unsafe { old.cast::<usize>().write(freed.get()) };
            freed.set(old.expose_provenance());
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Ok(new_layout) = Layout::from_size_align(new_size, layout.align()) else {
            return ptr::null_mut();
        };
        let ((_, size), (_, wanted)) = (block(layout), block(new_layout));
        let fits = old
            .addr()
            .checked_add(wanted)
            .is_some_and(|stop| stop <= self.end.get());
        if self.is_last(old, size) && fits {
            self.next.set(old.addr() + wanted);
            return old;
        }
        if wanted <= size {
            return old;
        }
        // SAFETY: both layouts are good; the blocks are disjoint and as long as what is copied.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                ptr::copy_nonoverlapping(old, new, layout.size());
                self.dealloc(old, layout);
            }
            new
        }
    }
}
