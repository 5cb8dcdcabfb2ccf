//! What the fuzz targets share: gpud's own modules that read what others write, taken from its sources so that neither
//! Wasmtime nor the rest of the daemon is built, and the conditions of a run.

#[path = "../../host/src/model/mod.rs"]
pub mod model;
pub mod script;
#[path = "../../host/src/spec/mod.rs"]
pub mod spec;
mod stack;
#[path = "../../host/src/wire/mod.rs"]
pub mod wire;

pub use stack::small_stack;

/// The first line and what follows it.
pub fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == b'\n');
    let first = parts.next().unwrap_or_default();
    (first, parts.next().unwrap_or_default())
}
