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
    /// What it may reach; see [`Self::grants`].
    pub grants: Value,
    /// What is known of its events, for people: `catalog/patterns.json` of its folder; empty where it has none.
    pub known: &'static str,
}

impl Builtin {
    /// What it may reach with this configuration. A text that begins with `${key}` begins with the value of that key, and
    /// is left out where the configuration has none: an operator who moves a folder lets it be read.
    pub fn grants(&self, config: &Value) -> Value {
        let mut grants = self.grants.clone();
        let lists = grants.as_object_mut().into_iter().flatten();
        for list in lists.filter_map(|(_, grant)| grant.as_array_mut()) {
            let filled = list.drain(..).filter_map(|item| match item.as_str() {
                Some(text) => fill(text, config).map(Value::from),
                None => Some(item),
            });
            *list = filled.collect::<Vec<_>>();
        }
        grants
    }
}

fn fill(text: &str, config: &Value) -> Option<String> {
    let Some((key, rest)) = text
        .strip_prefix("${")
        .and_then(|text| text.split_once('}'))
    else {
        return Some(text.to_owned());
    };
    let value = config.get(key)?.as_str()?.trim_end_matches('/');
    Some(format!("{value}{rest}"))
}

/// Laid down by the build script from each folder: folder, component, grants as JSON, code, what is known of its events.
const EMBEDDED: &[(&str, &str, &str, &[u8], &str)] =
    include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// All of them, ascending by component name.
pub fn all() -> Vec<Builtin> {
    let mut builtins: Vec<Builtin> = EMBEDDED
        .iter()
        .map(|&(folder, component, grants, wasm, known)| Builtin {
            folder,
            component,
            wasm,
            // The build script wrote what it had read as JSON. Without grants a checker is refused at load, and says so.
            grants: serde_json::from_str(grants).unwrap_or_default(),
            known,
        })
        .collect();
    builtins.sort_by_key(|builtin| builtin.component);
    builtins
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::capability::Grants;

    #[test]
    fn every_embedded_checker_has_grants_that_parse_and_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().iter().map(|builtin| builtin.component).collect();
        assert_eq!(names.len(), EMBEDDED.len());
        for builtin in all() {
            Grants::parse(&builtin.grants(&json!({"class_root": "/x"})))
                .unwrap_or_else(|error| panic!("{}: {error}", builtin.folder));
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "reads the project's own pages")]
    fn every_embedded_checker_has_a_page_and_is_listed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let (front, list) = (read("README.md"), read("docs/components/README.md"));
        for builtin in all() {
            let name = builtin.component;
            assert!(front.contains(&format!("`{name}`")), "README.md: {name}");
            assert!(list.contains(&format!("({name}.md)")), "the list: {name}");
            assert!(!read(&format!("docs/components/{name}.md")).is_empty());
        }
    }

    #[test]
    fn folders_of_the_configuration_are_granted() {
        let builtin = Builtin {
            folder: "a",
            component: "a",
            wasm: &[],
            known: "",
            grants: json!({"sysfs": ["/sys/class/a/**", "${class_root}/**"], "kmsg": true}),
        };
        let granted = |config| builtin.grants(&config)["sysfs"].clone();
        assert_eq!(granted(json!({})), json!(["/sys/class/a/**"]));
        assert_eq!(
            granted(json!({"class_root": "/mnt/a/"})),
            json!(["/sys/class/a/**", "/mnt/a/**"])
        );
        assert_eq!(
            granted(json!({"class_root": 5})),
            json!(["/sys/class/a/**"])
        );
    }
}
