//! A plugin of type `component_list` becomes one plugin for each of its entries.

use super::{
    decode::{Decoder, PLUGIN_COST},
    list_entry::{ListEntry, ListEntryError},
    names::component_name,
    path::{Path, Step as Down},
    problem::{Finding, ProblemKind},
    tree::Node,
};
use crate::wire::{PluginSpec, Step};

/// The `plugin_type` of a list.
pub(super) const LIST: &str = "component_list";

/// Stands in a script for the entry's name.
const NAME: &str = "${NAME}";
/// Stands in a script for what follows the entry's colon.
const PARAM: &str = "${PAR}";

/// One plugin with the position of its name.
#[derive(Debug)]
pub(super) struct Member {
    pub spec: PluginSpec,
    /// Key of the name.
    pub name: Path,
    /// For a line of a list file.
    pub origin: Option<String>,
}

/// The entries of a list with their positions.
#[derive(Debug)]
pub(super) struct Entries<'e> {
    texts: Vec<(&'e str, Path, Option<String>)>,
}

impl<'e> Entries<'e> {
    /// Entries that the spec itself contains.
    pub fn inline(spec: &'e PluginSpec, entry: &Path) -> Self {
        let list = entry.key("component_list");
        let texts = spec.component_list.iter().enumerate();
        Self {
            texts: texts
                .map(|(at, text)| (text.as_str(), list.join(Down::Item(at)), None))
                .collect(),
        }
    }

    /// Entries of a list file: one a line, trimmed, without empty lines and comments.
    pub fn of_file(spec: &PluginSpec, text: &'e str, entry: &Path) -> Self {
        let key = entry.key("component_list_file");
        let texts = text
            .split('\n')
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Self {
            texts: texts
                .map(|(at, line)| {
                    let origin = format!("line {} of {}", at + 1, spec.component_list_file);
                    (line, key.clone(), Some(origin))
                })
                .collect(),
        }
    }
}

/// The problem with a list before its entries are looked at; the first thing only.
pub(super) fn check_source(spec: &PluginSpec, entry: &Path) -> Result<(), Finding> {
    let file = &spec.component_list_file;
    if !file.is_empty() && !spec.component_list.is_empty() {
        return Err(Finding::new(
            ProblemKind::ComponentListConflict,
            "component list must be empty when using component_list_file",
            entry.key("component_list_file"),
        ));
    }
    if file.is_empty() && spec.component_list.is_empty() {
        return Err(Finding::new(
            ProblemKind::ComponentListEmpty,
            "component list is empty",
            entry.key("component_list"),
        ));
    }
    Ok(())
}

/// The problem with the template itself.
pub(super) fn check_template(
    spec: &PluginSpec,
    entries: &Entries<'_>,
    entry: &Path,
) -> Result<(), Finding> {
    if entries.texts.is_empty() {
        return Err(Finding::new(
            ProblemKind::ComponentListFileEmpty,
            format!("component list file {} is empty", spec.component_list_file),
            entry.key("component_list_file"),
        ));
    }
    if component_name(&spec.plugin_name).is_empty() {
        let key = entry.key("plugin_name");
        let kind = ProblemKind::ComponentNameRequired;
        return Err(Finding::new(kind, "component name is required", key));
    }
    if spec.health_state_plugin.is_none() {
        let key = entry.key("health_state_plugin");
        let kind = ProblemKind::MissingStatePlugin;
        return Err(Finding::new(kind, "state plugin is required", key));
    }
    Ok(())
}

/// The plugins of a list in order, each one good or refused. Stops where the file's budget ends.
pub(super) fn members(
    template: &PluginSpec,
    entries: Entries<'_>,
    decoder: &mut Decoder<'_>,
    node: &Node<'_>,
) -> Vec<Result<Member, Finding>> {
    // What every member has in common is copied into each.
    let shared = PluginSpec {
        plugin_type: "component".to_owned(),
        component_list: Vec::new(),
        component_list_file: String::new(),
        ..template.clone()
    };
    let cost = PLUGIN_COST + size(&shared);
    let variables = Variables::of(&shared);
    let mut members = Vec::new();
    for (text, name, origin) in entries.texts {
        let entry = match ListEntry::parse(text) {
            Ok(entry) => entry,
            Err(error) => {
                if !decoder.charge(node, text.len()) {
                    break;
                }
                let kind = match error {
                    ListEntryError::EmptyName => ProblemKind::ComponentListEntryEmptyName,
                    ListEntryError::InvalidTags(_) => ProblemKind::ComponentListEntryInvalidTags,
                };
                let mut finding = Finding::new(kind, error.to_string(), name);
                finding.note = origin
                    .or_else(|| Some("an entry is written name#mode[tag, tag]:param".to_owned()));
                members.push(Err(finding));
                continue;
            }
        };
        let bytes = variables.growth(&entry).saturating_add(cost + text.len());
        if !decoder.charge(node, bytes) {
            break;
        }
        members.push(Ok(Member {
            spec: member(&shared, entry),
            name,
            origin,
        }));
    }
    members
}

fn member(shared: &PluginSpec, entry: ListEntry) -> PluginSpec {
    let mut spec = shared.clone();
    for step in steps_mut(&mut spec) {
        match &mut step.run_bash_script {
            Some(bash) => {
                for (variable, value) in [(NAME, &entry.name), (PARAM, &entry.param)] {
                    if bash.script.contains(variable) {
                        bash.script = bash.script.replace(variable, value);
                    }
                }
            }
            // As in GPUd, whose copy has no name then.
            None => step.name.clear(),
        }
    }
    spec.plugin_name = entry.name;
    if let Some(mode) = entry.mode {
        spec.run_mode = mode;
    }
    if let Some(tags) = entry.tags {
        spec.tags = tags;
    }
    spec
}

fn steps_mut(spec: &mut PluginSpec) -> impl Iterator<Item = &mut Step> {
    spec.health_state_plugin
        .iter_mut()
        .flat_map(|plugin| plugin.steps.iter_mut())
}

/// Bytes of what each member copies, roughly.
fn size(spec: &PluginSpec) -> usize {
    let Some(plugin) = &spec.health_state_plugin else {
        return 0;
    };
    let scripts = plugin.steps.iter().map(|step| {
        let script = step.run_bash_script.as_ref();
        64 + step.name.len() + script.map_or(0, |bash| bash.script.len() + bash.content_type.len())
    });
    let paths = plugin.parser.iter().flat_map(|parser| &parser.json_paths);
    let paths = paths.map(|path| {
        let expect = path.expect.iter();
        let rules = expect.chain(path.suggested_actions.iter().map(|(_, rule)| rule));
        let rules = rules.map(|rule| 64 + rule.regex.as_ref().map_or(0, String::len));
        let names = path.suggested_actions.iter().map(|(name, _)| name.len());
        64 + path.query.len() + path.field.len() + rules.sum::<usize>() + names.sum::<usize>()
    });
    let tags = spec.tags.iter().map(|tag| 64 + tag.len());
    scripts.sum::<usize>() + paths.sum::<usize>() + tags.sum::<usize>()
}

/// How often the two variables occur in the scripts of a template.
struct Variables {
    names: usize,
    params: usize,
}

impl Variables {
    fn of(spec: &PluginSpec) -> Self {
        let count = |variable: &str| {
            let steps = spec
                .health_state_plugin
                .iter()
                .flat_map(|plugin| &plugin.steps);
            steps
                .filter_map(|step| step.run_bash_script.as_ref())
                .map(|bash| bash.script.matches(variable).count())
                .sum()
        };
        Self {
            names: count(NAME),
            params: count(PARAM),
        }
    }

    /// Bytes that putting in an entry adds at most. A name can bring in further params.
    fn growth(&self, entry: &ListEntry) -> usize {
        let in_name = entry.name.matches(PARAM).count();
        let params = self
            .names
            .saturating_mul(in_name)
            .saturating_add(self.params);
        let names = self.names.saturating_mul(entry.name.len());
        names.saturating_add(params.saturating_mul(entry.param.len()))
    }
}
