//! Components that no compiler would make: a core module in text, wrapped for a world.

use std::fs;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::lab;

/// Where the guest of [`checker`] has room for a report; all zero.
pub const REPORT: u32 = 4096;

/// The contract's `types` and `checker` as a package that a forged one may add to.
pub fn contract_with(more: &str) -> String {
    let read = |file: &str| fs::read_to_string(lab::workspace().join("wit").join(file)).unwrap();
    let checker = read("checker.wit");
    // What follows draws in kernel messages.
    let checker = checker.split("/// Exported as well").next().unwrap();
    format!(
        "package gpud:plugin@0.1.0;\n{}\n{checker}\n{more}",
        read("types.wit")
    )
}

/// A component for the world `w` of a WIT package of its own.
pub fn component(wit: &str, module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("forged.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some("w")).unwrap();
    wrap(&resolve, world, module)
}

fn wrap(resolve: &Resolve, world: wit_parser::WorldId, module: &str) -> Vec<u8> {
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// The parts of a forged checker that differ; the rest is honest.
pub struct Checker<'a> {
    /// Further imports, memories, tables and functions.
    pub items: &'a str,
    /// What `check` does before it returns the address [`REPORT`], or its own.
    pub check: String,
    /// What `cabi_realloc` does; it is called for what the host hands over.
    pub realloc: &'a str,
    /// What `describe` does before it describes one component `liar`.
    pub describe: &'a str,
    /// Pages of memory at the start.
    pub pages: u32,
}

impl Default for Checker<'_> {
    fn default() -> Self {
        Self {
            items: "",
            check: String::new(),
            realloc: "(i32.const 8192)",
            describe: "",
            pages: 1,
        }
    }
}

/// Puts a 32-bit word at an address.
pub fn store(address: u32, value: u32) -> String {
    format!("(i32.store (i32.const {address}) (i32.const {value}))")
}

/// A report of one state without a name, with this reason as address and length.
pub fn report_with_reason(pointer: u32, length: u32) -> String {
    let state = REPORT + 256;
    [
        // Result `ok`; payload after 8 bytes: supported, states.
        store(REPORT + 8, 1),
        store(REPORT + 12, state),
        store(REPORT + 16, 1),
        // The reason is stored behind name, time and health.
        store(state + 44, pointer),
        store(state + 48, length),
    ]
    .concat()
}

/// A checker of today's contract around these parts.
pub fn checker(parts: &Checker<'_>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(lab::workspace().join("wit")).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    wrap(&resolve, world, &checker_module(parts))
}

/// The core module of [`checker`].
pub fn checker_module(parts: &Checker<'_>) -> String {
    let Checker {
        items,
        check,
        realloc,
        describe,
        pages,
    } = parts;
    format!(
        r#"(module
            {items}
            (memory (export "memory") {pages})
            (data (i32.const 2048) "liar")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
            (func (export "gpud:plugin/checker@0.1.0#describe") (result i32)
                {describe}
                (i32.store (i32.const 1032) (i32.const 1056)) ;; components
                (i32.store (i32.const 1036) (i32.const 1))
                (i32.store (i32.const 1056) (i32.const 2048)) ;; name
                (i32.store (i32.const 1060) (i32.const 4))
                (i32.const 1024))
            (func (export "gpud:plugin/checker@0.1.0#check")
                (param i32 i32 i64 i32 i32 i32 i32 i32 i64 i32 i64 i32 i32) (result i32)
                {check}
                (i32.const {REPORT})))"#
    )
}
