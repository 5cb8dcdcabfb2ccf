//! What the fuzz targets share: gpud's own modules that read what others write, taken from its sources so that neither
//! Wasmtime nor the rest of the daemon is built, the built-in checkers' understanding of kernel lines, and the conditions
//! of a run.

#[path = "../../host/src/capture/mod.rs"]
pub mod capture;
pub mod checkers;
#[path = "../../host/src/model/mod.rs"]
pub mod model;
pub mod node;
pub mod script;
#[path = "../../host/src/spec/mod.rs"]
pub mod spec;
mod stack;
#[path = "../../host/src/wire/mod.rs"]
pub mod wire;

pub use stack::small_stack;

/// What stands before the first separator, and what behind it; everything and nothing if there is none.
pub fn split<'a>(input: &'a [u8], separator: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = input
        .windows(separator.len())
        .position(|bytes| bytes == separator);
    let parts = at.and_then(|at| Some((input.get(..at)?, input.get(at + separator.len()..)?)));
    parts.unwrap_or((input, &[]))
}
