//! Code that the fuzz targets share: the crates of gpud that read texts of others, so that neither Wasmtime nor the rest of the
//! daemon is built, the built-in checkers' understanding of kernel lines, and the conditions of a run.

pub mod checkers;
pub mod node;
mod stack;

pub use gpud_capture as capture;
pub use gpud_model as model;
pub use gpud_script as script;
pub use gpud_spec as spec;
pub use gpud_wire as wire;
pub use stack::small_stack;

/// What stands before the first separator, and what behind it; everything and nothing if there is none.
pub fn split<'a>(input: &'a [u8], separator: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = input
        .windows(separator.len())
        .position(|bytes| bytes == separator);
    let parts = at.and_then(|at| Some((input.get(..at)?, input.get(at + separator.len()..)?)));
    parts.unwrap_or((input, &[]))
}
