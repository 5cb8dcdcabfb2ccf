//! Which version of an entry: the file of its component, and what the entry says.

use serde::{Deserialize, Serialize};

use crate::{pack::hex, wire::PluginSpec};

/// Two SHA-256 sums in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Version {
    /// Of the component's file.
    pub(crate) file: String,
    /// Of the entry, without the name of that file.
    pub(crate) entry: String,
}

impl Version {
    /// The version that an entry with this file is.
    pub(crate) fn of(wasm: &[u8], spec: &PluginSpec) -> Self {
        Self {
            file: hex(wasm),
            entry: hex(entry_text(spec, "").as_bytes()),
        }
    }

    /// For people, and as OCI writes it: `sha256:…`.
    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", self.file)
    }

    /// The two differ in nothing but the entry.
    pub(crate) fn same_file(&self, other: &Self) -> bool {
        self.file == other.file
    }

    /// Names of files are made from it, and it may come from a file.
    pub(super) fn is_well_formed(&self) -> bool {
        let sum = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        sum(&self.file) && sum(&self.entry)
    }
}

/// An entry as a spec file of one entry that names `path`; without what is only said of it or runs beside it.
pub(crate) fn entry_text(spec: &PluginSpec, path: &str) -> String {
    let mut spec = spec.clone();
    if let Some(wasm) = &mut spec.wasm {
        path.clone_into(&mut wasm.path);
        wasm.shadow = None;
        wasm.running_version = None;
    }
    // Text, numbers, lists and maps with text for keys: there is nothing that could not be written.
    serde_json::to_string(&[spec]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{file, spec::Plugin};

    fn plugin(rest: &str) -> Plugin {
        let text = format!(
            "- plugin_name: My Probe\n  plugin_type: wasm\n  path: x.wasm\n  interval: 2m\n{rest}"
        );
        let read = file::parse(text.as_bytes(), "test");
        assert_eq!(read.problems, [], "{text}");
        read.plugins.into_iter().next().unwrap()
    }

    #[test]
    fn an_entry_comes_back_as_it_was() {
        for rest in [
            "",
            "  tags: [a, \"b: c\"]\n  run_mode: manual\n  timeout: 90s\n",
            "  grants: { sysfs: [\"/proc/**\"], kmsg: yes }\n  config: { a: [1, 2.5, null, \"x\\ny\"] }\n",
            "  limits: { memory: 64MiB, states: 7 }\n",
        ] {
            let before = plugin(rest);
            let text = entry_text(&before.spec, "/elsewhere/y.wasm");
            let read = file::parse(text.as_bytes(), "kept");
            assert_eq!(read.problems, [], "{text}");
            let after = read.plugins.into_iter().next().unwrap();
            assert_eq!(after.component, before.component);
            let mut spec = before.spec.clone();
            spec.wasm.as_mut().unwrap().path = "/elsewhere/y.wasm".to_owned();
            assert_eq!(after.spec, spec);
        }
    }

    #[test]
    fn a_version_is_its_file_and_what_its_entry_says() {
        let one = Version::of(b"1", &plugin("").spec);
        assert!(one.is_well_formed());
        assert_eq!(one, Version::of(b"1", &plugin("").spec));
        assert!(!one.same_file(&Version::of(b"2", &plugin("").spec)));
        let config = Version::of(b"1", &plugin("  config: { a: 1 }\n").spec);
        assert!(one.same_file(&config) && one != config);
        let mut moved = plugin("").spec;
        moved.wasm.as_mut().unwrap().path = "y.wasm".to_owned();
        assert_eq!(one, Version::of(b"1", &moved), "a file may be moved");
        let evil = json!({"file": "../../etc/passwd", "entry": "x"});
        let evil: Version = serde_json::from_value(evil).unwrap();
        assert!(!evil.is_well_formed());
    }
}
