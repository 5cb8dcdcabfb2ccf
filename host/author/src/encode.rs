//! From a core module to a component, for languages whose own tools leave a core module.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use wasmparser::{ExternalKind, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::{node::local_file, plugins::wasm::MAX_COMPONENT_BYTES};

/// The name by which core modules import the first version of WASI.
const WASI: &str = "wasi_snapshot_preview1";
/// The world of the contract whose imports a module may have, used or not: what it does not use is left out.
const IMPORTS: &str = "capabilities";
/// Worlds of the contract by the interface that they export.
const EXPORTS: [(&str, &str); 3] = [
    ("checker", "plugin"),
    ("scanner", "scanner-only"),
    ("kmsg-watcher", "kmsg-watcher-only"),
];

/// What a module needs to become a component, apart from its own content.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct EncodeOptions {
    /// Folder of the contract, for a module that does not carry it.
    pub(crate) wit: Option<PathBuf>,
    /// A module, as text or binary, that replaces the first version of WASI; it may import what the contract has.
    pub(crate) adapter: Option<PathBuf>,
}

/// Makes a component of a core module.
///
/// # Errors
/// In words.
pub(crate) fn encode(module: &[u8], options: &EncodeOptions) -> Result<Vec<u8>, String> {
    let contract = options.wit.as_deref().map(contract).transpose()?;
    let module = match &contract {
        Some(contract) => typed(module, contract, &worlds(module)?)?,
        None => module.to_vec(),
    };
    let encoder = ComponentEncoder::default().validate(true);
    let mut encoder = encoder.module(&module).map_err(none)?;
    if let Some(path) = &options.adapter {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let bytes = local_file::read(path, MAX_COMPONENT_BYTES)
            .map_err(|error| local_file::open_error(path, &error))?;
        let binary = wat::parse_bytes(&bytes).map_err(|error| wrong(error.to_string()))?;
        let adapter = match &contract {
            Some(contract) => typed(&binary, contract, &[IMPORTS]).map_err(wrong)?,
            None => binary.into_owned(),
        };
        encoder = encoder.adapter(WASI, &adapter).map_err(none)?;
    }
    encoder.encode().map_err(none)
}

fn none(error: impl std::fmt::Display) -> String {
    format!("no component can be made of it: {error:#}")
}

fn contract(folder: &Path) -> Result<Resolve, String> {
    let mut resolve = Resolve::default();
    resolve
        .push_dir(folder)
        .map_err(|error| format!("{}: {error:#}", folder.display()))?;
    Ok(resolve)
}

/// The module with the types of these worlds in it.
fn typed(module: &[u8], contract: &Resolve, worlds: &[&str]) -> Result<Vec<u8>, String> {
    let mut module = module.to_vec();
    for name in worlds {
        let world = contract
            .worlds
            .iter()
            .find(|(_, world)| world.name == *name);
        let (id, _) = world.ok_or_else(|| format!("the contract has no world `{name}`"))?;
        embed_component_metadata(&mut module, contract, id, StringEncoding::UTF8).map_err(none)?;
    }
    Ok(module)
}

/// The worlds that a module belongs to, by what it exports: `gpud:plugin/checker@0.1.0#check`.
fn worlds(module: &[u8]) -> Result<Vec<&'static str>, String> {
    let mut interfaces = BTreeSet::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::ExportSection(section) = payload.map_err(none)? else {
            continue;
        };
        for export in section {
            let export = export.map_err(none)?;
            if export.kind == ExternalKind::Func
                && let Some((interface, _)) = export.name.split_once('#')
                && let Some(of_contract) = interface.strip_prefix("gpud:plugin/")
            {
                let name = of_contract.split('@').next().unwrap_or(of_contract);
                interfaces.insert(name.to_owned());
            }
        }
    }
    let worlds = EXPORTS
        .iter()
        .filter(|(interface, _)| interfaces.contains(*interface));
    let worlds: Vec<_> = worlds.map(|(_, world)| *world).collect();
    match interfaces.contains("checker") {
        true => Ok(worlds),
        false => Err("it exports no checker (gpud:plugin/checker)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");

    /// A module with the least that the contract asks of a checker, and more.
    fn module(imports: &str, more: &str) -> Vec<u8> {
        let text = format!(
            r#"(module {imports}
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "gpud:plugin/checker@0.1.0#describe") (result i32) unreachable)
            (func (export "gpud:plugin/checker@0.1.0#check")
                (param i32 i32 i64 i32 i32 i32 i32 i32 i64 i32 i64 i32 i32) (result i32) unreachable)
            {more})"#
        );
        wat::parse_str(text).unwrap()
    }

    fn options(folder: &Path, adapter: Option<&str>) -> EncodeOptions {
        let adapter = adapter.map(|text| {
            let path = folder.join("wasi.wat");
            std::fs::write(&path, text).unwrap();
            path
        });
        EncodeOptions {
            wit: Some(WIT.into()),
            adapter,
        }
    }

    #[test]
    fn a_core_module_without_wit_becomes_an_empty_component_that_is_none_of_ours() {
        let module = wat::parse_str("(module)").unwrap();
        let component = encode(&module, &EncodeOptions::default()).unwrap();
        assert!(component.starts_with(b"\0asm\x0d\0\x01\0"));
    }

    #[test]
    fn what_is_not_used_is_not_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let import = r#"(import "gpud:plugin/log@0.1.0" "write" (func (param i32 i32 i32)))"#;
        let component = encode(&module(import, ""), &options(folder.path(), None)).unwrap();
        let names = String::from_utf8_lossy(&component);
        assert!(names.contains("gpud:plugin/log@0.1.0"));
        assert!(!names.contains("gpud:plugin/sysfs@0.1.0"));
    }

    #[test]
    fn an_adapter_takes_the_place_of_wasi() {
        let folder = tempfile::tempdir().unwrap();
        let import = r#"(import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))"#;
        let adapter = r#"(module
            (import "gpud:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
            (import "env" "memory" (memory 0))
            (func (export "sched_yield") (result i32)
                (call $log (i32.const 0) (i32.const 0) (i32.const 0)) i32.const 0))"#;
        let options = options(folder.path(), Some(adapter));
        let module = module(import, "");
        let component = encode(&module, &options).unwrap();
        let names = String::from_utf8_lossy(&component);
        assert!(names.contains("gpud:plugin/log@0.1.0"));
        let without = EncodeOptions {
            adapter: None,
            ..options
        };
        let error = encode(&module, &without).unwrap_err();
        assert!(error.contains("wasi_snapshot_preview1"), "{error}");
    }

    #[test]
    fn mistakes_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let good = options(folder.path(), None);
        let nothing = wat::parse_str("(module)").unwrap();
        let nowhere = EncodeOptions {
            wit: Some("/nonexistent".into()),
            adapter: None,
        };
        let odd = options(folder.path(), Some("(module (func"));
        let gone = EncodeOptions {
            adapter: Some("/nonexistent.wat".into()),
            ..good.clone()
        };
        for (module, options, expected) in [
            (&b"text"[..], &good, "no component can be made of it"),
            (&nothing, &good, "it exports no checker"),
            (&nothing, &nowhere, "/nonexistent"),
            (&module("", ""), &odd, "wasi.wat"),
            (&module("", ""), &gone, "/nonexistent.wat: no such file"),
        ] {
            let error = encode(module, options).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
