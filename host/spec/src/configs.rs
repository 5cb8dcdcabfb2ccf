//! Files of an operator that map names to configuration keys, read as `config` of a spec entry is: `on` means the same in
//! all of them, and aliases are bounded.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{
    build,
    decode::Decoder,
    json::MAX_JSON_BYTES,
    path::{Path, Step as Down},
    problem::{Finding, Problem, ProblemKind},
    source::Source,
    tree::{Node, Value},
};

/// Configuration keys by the name of what they configure.
pub type Configs = BTreeMap<String, Map<String, Json>>;

/// Reads such a file, which may be empty. `source` names it in the error.
///
/// # Errors
/// The first thing that is wrong, with file, line, column and key. That includes a key that is given twice.
pub fn parse_configs(text: &str, source: &str) -> Result<Configs, String> {
    let source = Source::new(source, text);
    let document = build::read(source.text()).map_err(|error| {
        let finding = Finding::new(error.kind, error.message, Path::default());
        Problem::new(&source, Some(error.place), None, finding).to_string()
    })?;
    let mut decoder = Decoder::new(&source);
    let configs = match &document.root {
        Some(root) => decoder.configs(root),
        None => Configs::new(),
    };
    if let Some(place) = document.next {
        let message = "there is more than one YAML document";
        decoder.problem(place, ProblemKind::MoreDocuments, message, None);
    }
    let problems = decoder.problems.then([decoder.warnings], &source);
    match problems.first() {
        Some(problem) => Err(problem.to_string()),
        None => Ok(configs),
    }
}

impl Decoder<'_> {
    fn configs(&mut self, root: &Node<'_>) -> Configs {
        let mut configs = Configs::new();
        if !root.is_null() && !matches!(root.value, Value::Mapping(_)) {
            let message = "the file has to be a mapping from names to configuration keys";
            self.problem(root.place, ProblemKind::WasmValue, message, None);
        }
        self.members(root, &mut |this, name, value| {
            let step = Down::Name(name.clone());
            let keys = this.down(step, |this| this.keys(value));
            configs.insert(name, keys);
        });
        configs
    }

    fn keys(&mut self, node: &Node<'_>) -> Map<String, Json> {
        if node.is_null() {
            return Map::new();
        }
        let mut left = MAX_JSON_BYTES;
        let (json, _) = self.json(node, &mut left);
        if left == 0 {
            let message = format!("it is larger than {} KiB as JSON", MAX_JSON_BYTES >> 10);
            self.problem(node.place, ProblemKind::WasmConfigTooLarge, message, None);
        }
        let Json::Object(keys) = json else {
            let message = "it has to be a mapping of configuration keys";
            self.problem(node.place, ProblemKind::WasmValue, message, None);
            return Map::new();
        };
        keys
    }
}

#[cfg(test)]
mod tests;
