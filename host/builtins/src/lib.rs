//! The checkers that are part of the binary, and what each may reach: the same kind of grants that an operator writes
//! for a plugin (`builtin-plugins/‹folder›/manifest.json`). Many share a WebAssembly component; their grants stay apart.
//!
//! The components are compressed: the machine code of a release is at the end of the binary, and they are only unpacked
//! where it cannot be used.

use std::io::{self, Read as _};

use lzma_rust2::XzReader;
use serde_json::Value;

/// Most memory of the decoder, KiB.
const MAX_DECODER: u32 = 64 << 10;

/// A built-in checker.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Folder under `builtin-plugins/`.
    pub folder: &'static str,
    /// Its component's name, known before the plugin is loaded.
    pub component: &'static str,
    /// SHA-256 of the WebAssembly component.
    pub sha256: [u8; 32],
    /// All components as an xz file; see [`Self::unpack`].
    packed: &'static [u8],
    /// Where in them this one begins.
    start: u64,
    /// Its length.
    length: u64,
    /// What it may reach; see [`Self::grants`].
    pub grants: Value,
    /// The known facts about its events, for people: `catalog/patterns.json` of its folder; empty where it has none.
    pub known: &'static str,
}

impl Builtin {
    /// Returns the WebAssembly component. Takes some 50 ms.
    ///
    /// # Errors
    /// The binary is damaged.
    pub fn unpack(&self) -> io::Result<Vec<u8>> {
        let damaged = |error: io::Error| {
            let folder = self.folder;
            let problem = format!(
                "{folder}: the component in gpud's binary is damaged ({error}); install gpud again"
            );
            io::Error::new(error.kind(), problem)
        };
        let mut all = XzReader::new_mem_limit(self.packed, false, MAX_DECODER);
        let before = &mut (&mut all).take(self.start);
        io::copy(before, &mut io::sink()).map_err(damaged)?;
        let mut wasm = Vec::new();
        (all.take(self.length).read_to_end(&mut wasm)).map_err(damaged)?;
        if wasm.len() as u64 != self.length {
            return Err(damaged(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(wasm)
    }

    /// What it may reach with this configuration. A text that begins with `${key}` begins with the value of that key, and
    /// is left out where the configuration has none: an operator who moves a folder lets it be read. `${key}` alone can
    /// be a number, too, and for a list or a mapping it stands for all values in it.
    pub fn grants(&self, config: &Value) -> Value {
        let mut grants = self.grants.clone();
        for (_, grant) in grants.as_object_mut().into_iter().flatten() {
            match grant {
                Value::Array(list) => fill_list(list, config),
                // Lists by kind, as of `net`.
                Value::Object(kinds) => {
                    let lists = kinds.values_mut().filter_map(Value::as_array_mut);
                    lists.for_each(|list| fill_list(list, config));
                }
                _ => {}
            }
        }
        grants
    }
}

fn fill_list(list: &mut Vec<Value>, config: &Value) {
    let filled = list.drain(..).flat_map(|item| fill(item, config));
    *list = filled.collect();
}

fn fill(item: Value, config: &Value) -> Vec<Value> {
    let parts = item
        .as_str()
        .and_then(|text| text.strip_prefix("${"))
        .and_then(|text| text.split_once('}'));
    let Some((key, rest)) = parts else {
        return vec![item];
    };
    let simple = |value: &&Value| value.is_string() || value.is_number();
    match config.get(key) {
        Some(Value::String(value)) => {
            vec![format!("{}{rest}", value.trim_end_matches('/')).into()]
        }
        Some(value @ Value::Number(_)) if rest.is_empty() => vec![value.clone()],
        Some(Value::Array(values)) if rest.is_empty() => {
            values.iter().filter(simple).cloned().collect()
        }
        Some(Value::Object(values)) if rest.is_empty() => {
            values.values().filter(simple).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The place of a component in [`PACKED`], when it is unpacked.
#[derive(Clone, Copy)]
struct Packed {
    sha256: [u8; 32],
    start: u64,
    length: u64,
}

/// All components, one behind the other, as an xz file.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtins.wasm.xz"));

/// Written by the build script from each folder: folder, component, grants as JSON, code, what is known of its events.
const EMBEDDED: &[(&str, &str, &str, Packed, &str)] =
    include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// Components that judge by what the kernel log says; what they read besides only adds to it.
const BY_KERNEL_LOG: [&str; 8] = [
    "block-io",
    "device-loss",
    "ethernet",
    "kernel-stalls",
    "machine-check",
    "memory-edac",
    "pcie-aer",
    "storage-clients",
];

/// Returns those that judge the system by its files, programs and services, ascending by component name: all but the
/// checkers of accelerators and those that judge by the kernel log. A new checker is among them, and so in the tests and
/// benchmarks of a whole system.
pub fn of_system() -> Vec<Builtin> {
    let mut builtins = all();
    builtins.retain(|builtin| {
        let name = builtin.component;
        !name.starts_with("accelerator-") && !BY_KERNEL_LOG.contains(&name)
    });
    builtins
}

/// All of them, ascending by component name.
pub fn all() -> Vec<Builtin> {
    let mut builtins: Vec<Builtin> = EMBEDDED
        .iter()
        .map(|&(folder, component, grants, code, known)| Builtin {
            folder,
            component,
            sha256: code.sha256,
            packed: PACKED,
            start: code.start,
            length: code.length,
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
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn components_are_unpacked_as_they_were() {
        let all = all();
        let different: BTreeSet<[u8; 32]> = all.iter().map(|builtin| builtin.sha256).collect();
        for sha256 in different {
            let builtin = all.iter().find(|builtin| builtin.sha256 == sha256).unwrap();
            let wasm = builtin.unpack().unwrap();
            assert_eq!(
                sha256,
                <[u8; 32]>::from(Sha256::digest(&wasm)),
                "{}",
                builtin.folder
            );
        }
    }

    #[test]
    fn a_damaged_component_is_an_error_that_names_it() {
        let mut builtin = all().remove(0);
        builtin.packed = &builtin.packed[..1000];
        let error = builtin.unpack().unwrap_err().to_string();
        assert!(
            error.starts_with(builtin.folder) && error.contains("install gpud again"),
            "{error}"
        );
    }

    #[test]
    fn every_embedded_checker_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().iter().map(|builtin| builtin.component).collect();
        assert_eq!(names.len(), EMBEDDED.len());
    }

    #[test]
    fn a_checker_that_no_list_names_is_of_the_system() {
        let known: BTreeSet<&str> = all().iter().map(|builtin| builtin.component).collect();
        for name in BY_KERNEL_LOG {
            assert!(known.contains(name), "{name} is not built in");
        }
        let system: BTreeSet<&str> = of_system().iter().map(|one| one.component).collect();
        for name in ["cpu", "disk", "library", "pressure", "systemd-units"] {
            assert!(system.contains(name), "{name}");
        }
        for name in ["accelerator-amd-ecc", "accelerator-nvidia-nccl", "pcie-aer"] {
            assert!(known.contains(name) && !system.contains(name), "{name}");
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "reads the project's own pages")]
    fn every_embedded_checker_has_a_page_and_a_subject_and_is_listed() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let (front, list) = (read("README.md"), read("docs/components/README.md"));
        let subjects = read("host/summary/src/components.rs");
        for builtin in all() {
            let name = builtin.component;
            assert!(front.contains(&format!("`{name}`")), "README.md: {name}");
            assert!(list.contains(&format!("({name}.md)")), "the list: {name}");
            assert!(!read(&format!("docs/components/{name}.md")).is_empty());
            // Checkers of NVIDIA GPUs have theirs by the begin of their names.
            let has_subject = name.starts_with("accelerator-nvidia-")
                || subjects.contains(&format!("\"{name}\","));
            assert!(has_subject, "host/summary/src/components.rs: {name}");
        }
    }

    #[test]
    fn folders_of_the_configuration_are_granted() {
        let builtin = Builtin {
            folder: "a",
            component: "a",
            sha256: [0; 32],
            start: 0,
            length: 0,
            packed: &[],
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

    #[test]
    fn services_of_the_configuration_are_granted() {
        let builtin = Builtin {
            folder: "a",
            component: "a",
            sha256: [0; 32],
            start: 0,
            length: 0,
            packed: &[],
            known: "",
            grants: json!({"net": {"loopback": [10_248, "${port}"], "tcp": ["${endpoints}"]}}),
        };
        let granted = |config| builtin.grants(&config)["net"].clone();
        assert_eq!(granted(json!({})), json!({"loopback": [10_248], "tcp": []}));
        for endpoints in [
            json!(["a:1", "b:2"]),
            json!({"x": "a:1", "y": "b:2", "z": []}),
        ] {
            assert_eq!(
                granted(json!({"port": 9, "endpoints": endpoints})),
                json!({"loopback": [10_248, 9], "tcp": ["a:1", "b:2"]})
            );
        }
    }
}
