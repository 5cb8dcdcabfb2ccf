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
    cell::Cell,
    ptr,
};

use crate::block_size;

/// Bytes that are there from the beginning.
const FIRST: usize = 64 * 1024;
/// A WebAssembly page, bytes.
const PAGE: usize = 64 * 1024;
/// Memory that is large already grows by this part of it, since each time costs the host a change of page protections.
const GROWTH: usize = 8;
/// What all blocks are aligned to, at least. Those that are to be aligned to more are not handed out again.
const ALIGN: usize = 16;

/// What the arena hands out: three parts, of which the last two are one where nothing is between them.
trait MemoryLayout {
    /// Address of the first [`FIRST`] bytes.
    fn first(&self) -> usize;
    /// Address from which on the initial memory is nobody else's.
    fn rest(&self) -> usize;
    /// Returns the present end of memory.
    fn end(&self) -> usize;
    /// Makes it longer by so many pages; false where the host refuses.
    fn grow(&self, pages: usize) -> bool;
}

/// The allocator.
struct Arena<M> {
    memory: M,
    next: Cell<usize>,
    end: Cell<usize>,
    /// The last page of the initial memory is the module's only up to a point; the rest is used before it grows.
    is_rest_used: Cell<bool>,
    /// Of each size the block that was freed last; in its first word is the one before it, and so on.
    freed: [Cell<usize>; block_size::COUNT],
}

/// Which list a block of this layout belongs to, if any, and its bytes.
fn block(layout: Layout) -> (Option<usize>, usize) {
    match block_size::of(layout.size()) {
        Some((list, size)) if layout.align() <= ALIGN => (Some(list), size),
        _ => (None, layout.size()),
    }
}

impl<M: MemoryLayout> Arena<M> {
    const fn new(memory: M) -> Self {
        Self {
            memory,
            next: Cell::new(0),
            end: Cell::new(0),
            is_rest_used: Cell::new(false),
            freed: [const { Cell::new(0) }; block_size::COUNT],
        }
    }

    /// Room for `size` bytes at `align`, or null.
    fn take(&self, size: usize, align: usize) -> *mut u8 {
        if self.end.get() == 0 {
            let start = self.memory.first();
            self.next.set(start);
            self.end.set(start + FIRST);
        }
        let found = self.find(size, align).or_else(|| {
            // A large block may leave some of the first part unused, once.
            if !self.is_rest_used.replace(true) {
                self.next.set(self.memory.rest());
                self.end.set(self.memory.end());
            }
            self.find(size, align)
        });
        let found = found.or_else(|| {
            let left = self.end.get().saturating_sub(self.next.get());
            self.grow(size.checked_add(align)?.saturating_sub(left))?;
            self.find(size, align)
        });
        match found {
            Some(start) => {
                self.next.set(start + size);
                ptr::with_exposed_provenance_mut(start)
            }
            None => ptr::null_mut(),
        }
    }

    /// Returns the start of such a block, if it fits.
    fn find(&self, size: usize, align: usize) -> Option<usize> {
        let start = self.next.get().checked_add(align - 1)? & !(align - 1);
        let stop = start.checked_add(size)?;
        (stop <= self.end.get()).then_some(start)
    }

    /// Makes memory longer by at least so many bytes. It follows what is left of it.
    fn grow(&self, bytes: usize) -> Option<()> {
        let needed = bytes.div_ceil(PAGE);
        let so_far = self.memory.end().saturating_sub(self.memory.first());
        let wanted = needed.max(so_far / PAGE / GROWTH);
        let grown = self.memory.grow(wanted) || wanted > needed && self.memory.grow(needed);
        self.end.set(self.memory.end());
        grown.then_some(())
    }

    /// Is this block the last one handed out?
    fn is_last(&self, block: *mut u8, size: usize) -> bool {
        block.addr() + size == self.next.get()
    }
}

// SAFETY: `take` gives disjoint, aligned parts of memory that belongs to the arena alone ([`MemoryLayout`]); only the last part is taken back, or made longer where room follows. A part that is in a list was
// freed, has room for a word, and leaves the list before it is handed out again, for a layout that fits its size.
unsafe impl<M: MemoryLayout> GlobalAlloc for Arena<M> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (list, size) = block(layout);
        let Some(freed) = list.and_then(|list| self.freed.get(list)) else {
            // A block that shrinks may now belong to a list.
            return self.take(size, layout.align().max(ALIGN));
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

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::{
        arch::wasm32::{memory_grow, memory_size},
        cell::UnsafeCell,
    };

    use super::{Arena, FIRST, MemoryLayout, PAGE};

    /// The module's own memory.
    struct Own;

    #[repr(align(16))]
    struct FirstBlock(UnsafeCell<[u8; FIRST]>);

    // SAFETY: this module is compiled for wasm32 without threads only; there is nobody to share with.
    unsafe impl Sync for Arena<Own> {}
    // SAFETY: as above.
    unsafe impl Sync for FirstBlock {}

    unsafe extern "C" {
        /// Where the module's own data ends; the linker says so.
        static __heap_base: u8;
    }

    static FIRST_BYTES: FirstBlock = FirstBlock(UnsafeCell::new([0; FIRST]));

    #[global_allocator]
    static ARENA: Arena<Own> = Arena::new(Own);

    impl MemoryLayout for Own {
        fn first(&self) -> usize {
            FIRST_BYTES.0.get().addr()
        }

        fn rest(&self) -> usize {
            (&raw const __heap_base).addr()
        }

        fn end(&self) -> usize {
            memory_size::<0>() * PAGE
        }

        fn grow(&self, pages: usize) -> bool {
            memory_grow::<0>(pages) != usize::MAX
        }
    }
}

#[cfg(test)]
mod tests;
