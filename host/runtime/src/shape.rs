//! The type of a component, read before any of its code runs: its imports and exports.

use super::{Runtime, cache, error::LoadError, guest::is_component, plugin::Wasm};
use crate::capability::Interface;

/// The beginning of all names of the contract.
const PACKAGE: &str = "gpud:plugin/";

/// The type of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Names of its imports, as the component spells them.
    pub imports: Vec<String>,
    /// Names of its exports.
    pub exports: Vec<String>,
}

impl Runtime {
    /// Compiles a component (or finds it compiled) and reads its type. Nothing of it runs, and no grant is looked at.
    ///
    /// # Errors
    /// [`LoadError`]: it is no component, or cannot be compiled.
    pub async fn shape(&self, name: &str, wasm: &[u8]) -> Result<Shape, LoadError> {
        is_component(name, wasm)?;
        let (engine, cache) = (&self.shared.engine, &self.shared.cache);
        let wasm = Wasm::Bytes(wasm);
        let key = cache::key(engine, wasm);
        let component = cache.component(engine, name, key, wasm).await?;
        let ty = component.component_type();
        Ok(Shape {
            imports: ty
                .imports(engine)
                .map(|(name, _)| name.to_owned())
                .collect(),
            exports: ty
                .exports(engine)
                .map(|(name, _)| name.to_owned())
                .collect(),
        })
    }
}

impl Shape {
    /// The interfaces of this host's contract that it asks for, by name.
    pub fn interfaces(&self) -> Vec<Interface> {
        let mut found: Vec<_> = self
            .imports
            .iter()
            .filter_map(|import| Interface::from_import(import))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the imported interfaces that need a grant.
    pub fn requests(&self) -> Vec<Interface> {
        let mut found = self.interfaces();
        found.retain(|interface| interface.needs_grant());
        found
    }

    /// Imports that this host does not offer.
    pub fn unknown(&self) -> Vec<&str> {
        self.imports
            .iter()
            .map(String::as_str)
            .filter(|import| {
                !import.starts_with("wasi:") && Interface::from_import(import).is_none()
            })
            .collect()
    }

    /// Imports of WASI, which are answered by an empty world.
    pub fn wasi(&self) -> Vec<&str> {
        let imports = self.imports.iter().map(String::as_str);
        imports
            .filter(|import| import.starts_with("wasi:"))
            .collect()
    }

    /// The versions of the contract that its imports and exports name, ascending; one, if it was built in one piece.
    pub fn contracts(&self) -> Vec<&str> {
        let mut versions: Vec<&str> = self
            .imports
            .iter()
            .chain(&self.exports)
            .filter_map(|name| Some(name.strip_prefix(PACKAGE)?.split_once('@')?.1))
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Returns the interfaces of the contract that it exports, without package and version, sorted: `checker`,
    /// `kmsg-watcher`, `scanner`.
    pub fn parts(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = self
            .exports
            .iter()
            .filter_map(|name| Some(name.strip_prefix(PACKAGE)?.split_once('@')?.0))
            .collect();
        parts.sort_unstable();
        parts
    }
}

#[cfg(test)]
mod tests;
