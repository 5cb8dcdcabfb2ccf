//! The file of plugins, from YAML bytes to checked plugins.
//!
//! It is read as GPUd reads it, leniently where GPUd is lenient, so that today's files load unchanged; a complaint,
//! though, names the line and the key, one bad entry does not stop the others, and all of them are reported.
//!
//! `build` reads the YAML, `decode` and `entry` give every key the type it asks for, `expand` writes component lists out,
//! `validate` checks what is left. Nothing here touches the machine: the caller hands in the bytes and reads list files.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_script::{self as script, base64};
use gpud_wire as wire;

mod build;
mod configs;
mod decode;
mod entry;
mod expand;
mod json;
mod list_entry;
mod names;
mod path;
mod problem;
mod reader;
mod scalar;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod validate;
mod wasm;

use std::{
    collections::HashMap,
    path::{Path as FilePath, PathBuf},
};

pub use build::{FREE_NODES, MAX_DEPTH, MAX_GROWTH, MAX_NODES};
pub use configs::{Configs, parse_configs};
pub use decode::MAX_DECODED_BYTES;
pub use json::MAX_JSON_BYTES;
pub use list_entry::{ListEntry, ListEntryError};
pub use names::{MAX_PLUGIN_NAME_BYTES, component_name};
pub use problem::{Position, Problem, ProblemKind};
pub use validate::{DEFAULT_TIMEOUT, MIN_INTERVAL};
pub use wasm::WasmEntry;

use self::{
    path::Path,
    problem::{Finding, Problems},
    reader::Reader,
    source::Source,
};
use crate::wire::PluginSpec;

/// Largest spec file, bytes.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// The tag that every script and Wasm plugin of a spec file has.
const COMMON_TAG: &str = "custom-plugin";

/// The content of a spec file.
#[derive(Debug)]
pub struct PluginFile {
    /// In file order, lists written out, defaults filled in. Only what has no problem.
    pub plugins: Vec<Plugin>,
    /// The problems, what GPUd would report at the front: the file as a whole, then values of the wrong shape, then
    /// component lists, then what plugins must have; each in file order. At most a thousand and one that counts the rest.
    pub problems: Vec<Problem>,
    /// Mistakes that GPUd ignores silently: unknown keys, keys given twice, further documents.
    pub warnings: Vec<Problem>,
    /// Component list files that were asked for, readable or not, sorted.
    pub list_files: Vec<PathBuf>,
    source: Source,
}

/// A plugin that was read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Plugin {
    /// Component name.
    pub component: String,
    /// Its specification.
    pub spec: PluginSpec,
    /// The position of its entry, or of its item in a component list.
    pub place: Position,
    /// Only for an entry of type `wasm`: the positions of its values. The values are in `spec.wasm`.
    pub wasm: Option<WasmEntry>,
    /// Key in the file.
    path: String,
    /// For a line of a list file.
    origin: Option<String>,
}

impl Plugin {
    /// Returns the tags that trigger it: the common tag, its component name, its own tags in order.
    pub fn tags(&self) -> Vec<String> {
        [COMMON_TAG, &self.component]
            .into_iter()
            .map(str::to_owned)
            .chain(self.spec.tags.iter().cloned())
            .collect()
    }

    /// Whether it runs once while the daemon starts.
    pub fn is_init(&self) -> bool {
        self.spec.plugin_type == "init"
    }

    /// Whether it runs only when triggered. Any other `run_mode` behaves as auto.
    pub fn is_manual(&self) -> bool {
        self.spec.run_mode == "manual"
    }
}

impl PluginFile {
    /// Plugins whose component name an earlier one has, whatever their types, each naming the place of the first.
    pub fn duplicates(&self) -> Vec<Problem> {
        let mut first: HashMap<&str, &Plugin> = HashMap::new();
        let mut problems = Problems::default();
        for plugin in &self.plugins {
            let earlier = *first.entry(&plugin.component).or_insert(plugin);
            if std::ptr::eq(earlier, plugin) {
                continue;
            }
            let origin = |plugin: &Plugin| {
                let origin = plugin.origin.as_ref();
                origin.map_or(String::new(), |origin| format!(" ({origin})"))
            };
            problems.push(|| {
                let finding = Finding::new(
                    ProblemKind::DuplicateComponentName,
                    format!("duplicate component name: {}", plugin.component),
                    Path::default(),
                )
                .note(format!(
                    "the first one is {} at {}:{}:{}{}; this one is {}{}",
                    earlier.path,
                    self.source.name(),
                    earlier.place.line,
                    earlier.place.column,
                    origin(earlier),
                    plugin.path,
                    origin(plugin),
                ));
                let name = Some(plugin.spec.plugin_name.as_str());
                let mut problem = Problem::new(&self.source, Some(plugin.place), name, finding);
                problem.path.clone_from(&plugin.path);
                problem
            });
        }
        problems.then([], &self.source)
    }
}

/// Reads and checks a spec file. `source` names it in messages. `read_list` reads a `component_list_file`, at most as
/// much as the caller sees fit, or says why not in the operating system's words.
pub fn parse(
    bytes: &[u8],
    source: &str,
    read_list: &dyn Fn(&FilePath) -> Result<String, String>,
) -> PluginFile {
    let refused = |kind, message: String, text: &str, place| {
        let source = Source::new(source, text);
        let finding = Finding::new(kind, message, Path::default());
        PluginFile {
            plugins: Vec::new(),
            problems: vec![Problem::new(&source, place, None, finding)],
            warnings: Vec::new(),
            list_files: Vec::new(),
            source,
        }
    };
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!(
            "the file has {} bytes; at most {MAX_FILE_BYTES} are read",
            bytes.len()
        );
        return refused(ProblemKind::FileTooLarge, message, "", None);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            let message =
                format!("error converting YAML to JSON: yaml: line {line}: the text is not UTF-8");
            return refused(ProblemKind::YamlSyntax, message, "", None);
        }
    };
    let source = Source::new(source, text);
    let document = match build::read(source.text()) {
        Ok(document) => document,
        Err(error) => {
            let place = Some(error.place);
            return refused(error.kind, error.message, text, place);
        }
    };
    let mut reader = Reader::new(&source, read_list);
    if let Some(root) = &document.root {
        reader.top(root);
    }
    if let Some(place) = document.next {
        reader.further_document(place);
    }
    let Reader {
        decoder,
        plugins,
        expansion,
        validation,
        list_files,
        ..
    } = reader;
    let mut problems = decoder.problems.then([expansion, validation], &source);
    // GPUd converts the whole file before it looks at any shape, and knows no Wasm entries.
    problems.sort_by_key(|problem| match problem.kind {
        ProblemKind::YamlSyntax => 0,
        ProblemKind::SchemaMismatch => 1,
        _ => 2,
    });
    let warnings = decoder.warnings.then([], &source);
    PluginFile {
        plugins,
        problems,
        warnings,
        list_files: list_files.into_iter().collect(),
        source,
    }
}
