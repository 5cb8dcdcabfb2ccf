//! Kernel lines that nobody meant to write: none is lost silently, none stops the reader, and none harms a built-in
//! checker in its sandbox.
//!
//! The lines are those of `fuzz/corpus/kernel_line`, changed at random, the same way in every run. The same code is fuzzed
//! natively by `fuzz/`, for longer.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "all of this is test code, helpers included"
)]

mod guests;
mod lines;
mod reader;
