//! The checkers that are part of the binary, and what each may reach: the same kind of grants that an operator writes
//! for a plugin (`builtin-plugins/‹folder›/manifest.json`), and no more than its own list of imports.

use serde_json::Value;

/// A built-in checker.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Folder under `builtin-plugins/`.
    pub folder: &'static str,
    /// Its component's name, known before the plugin is loaded.
    pub component: &'static str,
    /// The WebAssembly component.
    pub wasm: &'static [u8],
    /// What it may reach.
    pub grants: Value,
}

/// Laid down by the build script from each folder's `manifest.json`: folder, component, grants as JSON, code.
const EMBEDDED: &[(&str, &str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// All of them, ascending by component name.
pub fn all() -> Vec<Builtin> {
    let mut builtins: Vec<Builtin> = EMBEDDED
        .iter()
        .map(|&(folder, component, grants, wasm)| Builtin {
            folder,
            component,
            wasm,
            // The build script wrote what it had read as JSON. Without grants a checker is refused at load, and says so.
            grants: serde_json::from_str(grants).unwrap_or_default(),
        })
        .collect();
    builtins.sort_by_key(|builtin| builtin.component);
    builtins
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::capability::Grants;

    #[test]
    fn every_embedded_checker_has_grants_that_parse_and_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().iter().map(|builtin| builtin.component).collect();
        assert_eq!(names.len(), EMBEDDED.len());
        for builtin in all() {
            Grants::parse(&builtin.grants)
                .unwrap_or_else(|error| panic!("{}: {error}", builtin.folder));
        }
    }
}
