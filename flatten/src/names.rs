//! The names of functions, for backtraces.

use std::collections::BTreeMap;

use wasm_encoder::{NameMap, NameSection};

/// The module's name in backtraces.
const MODULE: &str = "flattened";

/// A name section with the names of functions by their index.
pub(crate) fn section(funcs: &BTreeMap<u32, String>) -> NameSection {
    let mut map = NameMap::new();
    for (index, name) in funcs {
        map.append(*index, name);
    }
    let mut section = NameSection::new();
    section.module(MODULE);
    section.functions(&map);
    section
}
