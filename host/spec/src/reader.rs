//! Takes a file through its stages.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path as FilePath, PathBuf},
    rc::Rc,
};

use super::{
    Plugin,
    decode::Decoder,
    entry,
    expand::{self, Entries, Member},
    names::component_name,
    path::{Path, Step},
    problem::{Finding, Position, Problem, ProblemKind, Problems},
    source::Source,
    tree::{Node, Value},
    validate::{self, DEFAULT_TIMEOUT},
    wasm::WasmEntry,
};
use crate::wire::PluginSpec;

/// Goes through a file once; problems of the later stages are kept apart, for GPUd finishes a stage before the next.
pub(super) struct Reader<'s> {
    source: &'s Source,
    read_list: &'s dyn Fn(&FilePath) -> Result<String, String>,
    pub decoder: Decoder<'s>,
    pub plugins: Vec<Plugin>,
    pub expansion: Problems,
    pub validation: Problems,
    pub list_files: BTreeSet<PathBuf>,
}

impl<'s> Reader<'s> {
    pub fn new(
        source: &'s Source,
        read_list: &'s dyn Fn(&FilePath) -> Result<String, String>,
    ) -> Self {
        Self {
            source,
            read_list,
            decoder: Decoder::new(source),
            plugins: Vec::new(),
            expansion: Problems::default(),
            validation: Problems::default(),
            list_files: BTreeSet::new(),
        }
    }

    pub fn top(&mut self, root: &Node<'_>) {
        let Value::List(entries) = &root.value else {
            if !root.is_null() {
                let (wanted, people) = ("customplugins.Specs", "a list of plugins");
                self.decoder.mismatch(root, wanted, people);
            }
            return;
        };
        for (index, node) in entries.iter().enumerate() {
            if self.decoder.exhausted() {
                return;
            }
            self.entry(index, node);
        }
    }

    pub fn further_document(&mut self, place: Position) {
        let finding = Finding::new(
            ProblemKind::MoreDocuments,
            "only the first YAML document of the file is read",
            Path::default(),
        )
        .note("what follows is ignored; put all plugins into one list");
        let source = self.source;
        let warning = || Problem::new(source, Some(place), None, finding);
        self.decoder.warnings.push(warning);
    }

    fn entry(&mut self, index: usize, node: &Rc<Node<'_>>) {
        let path = Path::entry(index);
        if entry::is_wasm(node) {
            let entry = self.decoder.entry(index, node, Decoder::wasm_entry);
            if let Some((spec, places)) = entry {
                self.checked(node, &path, vec![whole(spec, &path)], Some(places));
            }
            return;
        }
        let Some(spec) = self.decoder.entry(index, node, Decoder::script_entry) else {
            return;
        };
        if spec.plugin_type == expand::LIST {
            match self.expand(&spec, node, &path) {
                Ok(members) => self.checked(node, &path, members, None),
                Err(finding) => self.report_expansion(node, &spec.plugin_name, finding),
            }
        } else {
            self.checked(node, &path, vec![whole(spec, &path)], None);
        }
    }

    /// The good members of a list; bad ones are reported.
    fn expand(
        &mut self,
        spec: &PluginSpec,
        node: &Rc<Node<'_>>,
        path: &Path,
    ) -> Result<Vec<Member>, Finding> {
        expand::check_source(spec, path)?;
        let text;
        let entries = if spec.component_list_file.is_empty() {
            Entries::inline(spec, path)
        } else {
            text = self.list_file(&spec.component_list_file, path)?;
            if !self.decoder.charge(node, text.len()) {
                return Ok(Vec::new());
            }
            Entries::of_file(spec, &text, path)
        };
        expand::check_template(spec, &entries, path)?;
        let mut good = Vec::new();
        for member in expand::members(spec, entries, &mut self.decoder, node) {
            match member {
                Ok(member) => good.push(member),
                Err(finding) => self.report_expansion(node, &spec.plugin_name, finding),
            }
        }
        Ok(good)
    }

    fn list_file(&mut self, file: &str, path: &Path) -> Result<String, Finding> {
        let file = PathBuf::from(file);
        let text = (self.read_list)(&file).map_err(|error| {
            Finding::new(
                ProblemKind::ComponentListFileUnreadable,
                format!(
                    "failed to read component list file {}: {error}",
                    file.display()
                ),
                path.key("component_list_file"),
            )
        });
        self.list_files.insert(file);
        text
    }

    fn report_expansion(&mut self, node: &Node<'_>, name: &str, finding: Finding) {
        let source = self.source;
        let place = locate(node, &finding.path);
        self.expansion
            .push(|| Problem::new(source, Some(place), Some(name), finding));
    }

    /// Validates the plugins of one entry and adds the valid ones.
    fn checked(
        &mut self,
        node: &Node<'_>,
        path: &Path,
        members: Vec<Member>,
        wasm: Option<WasmEntry>,
    ) {
        // What is wrong with the template of a list is wrong with each member; once is enough.
        let mut reported = HashSet::new();
        for member in members {
            let Member {
                mut spec,
                name,
                origin,
            } = member;
            let findings = validate::check(&spec, path, &name);
            if findings.is_empty() {
                if spec.timeout.0 == 0 {
                    spec.timeout = DEFAULT_TIMEOUT;
                }
                let at = if origin.is_some() || is_item(&name) {
                    &name
                } else {
                    path
                };
                self.plugins.push(Plugin {
                    component: component_name(&spec.plugin_name),
                    spec,
                    place: locate(node, at),
                    wasm: wasm.clone(),
                    path: at.to_string(),
                    origin,
                });
                continue;
            }
            for mut finding in findings {
                let of_member = finding.path == name;
                if !of_member && !reported.insert((finding.kind, finding.path.to_string())) {
                    continue;
                }
                if of_member && let Some(origin) = &origin {
                    finding.note = Some(origin.clone());
                }
                let place = locate(node, &finding.path);
                let (source, plugin) = (self.source, Some(spec.plugin_name.as_str()));
                self.validation
                    .push(|| Problem::new(source, Some(place), plugin, finding));
            }
        }
    }
}

/// A plugin that is an entry by itself.
fn whole(spec: PluginSpec, path: &Path) -> Member {
    Member {
        spec,
        name: path.key("plugin_name"),
        origin: None,
    }
}

fn is_item(path: &Path) -> bool {
    matches!(path.0.last(), Some(Step::Item(_)))
}

/// The place of a key of an entry, or of the nearest value around it.
fn locate(entry: &Node<'_>, path: &Path) -> Position {
    let mut here = entry;
    for step in path.0.iter().skip(1) {
        let next = match (step, &here.value) {
            (Step::Key(key), _) => here.get(key),
            (Step::Item(at), Value::List(items)) => items.get(*at),
            _ => None,
        };
        match next {
            Some(next) => here = next,
            None => break,
        }
    }
    here.place
}
