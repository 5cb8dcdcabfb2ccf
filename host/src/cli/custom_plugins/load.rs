//! Reads a file of plugins and loads the Wasm components that it names, without running anything of it.

use std::{path::Path, sync::Arc};

use serde::Serialize;

use super::{complaint::Complaint, example};
use crate::{
    cli::scan::cache_folder,
    component::Component,
    node::{Node, trusted::Opener},
    plugins::{file, wasm},
    runtime::{Compiler, Runtime},
    spec::{Plugin, PluginFile, Problem},
    wire::GoDuration,
};

/// A file of plugins, ready to be shown and to be run.
pub struct LoadedFile {
    /// `init` plugins first, else in file order.
    entries: Vec<LoadedEntry>,
    /// Errors that GPUd reports instead of a table: the file cannot be read, or one of its plugins cannot be loaded.
    pub problems: Vec<Complaint>,
    /// Errors that are reported after the table: names that occur twice, Wasm components that cannot be used.
    pub late: Vec<Complaint>,
    /// Warnings, which GPUd does not have.
    pub warnings: Vec<Complaint>,
}

/// A plugin of the file.
struct LoadedEntry {
    plugin: Plugin,
    /// `None` for a script.
    wasm: Option<Wasm>,
}

/// The outcome of loading a Wasm entry.
enum Wasm {
    /// It is ready.
    Loaded {
        node: Arc<Node>,
        asks_for: Vec<String>,
        components: Vec<Component>,
    },
    /// It is not, as a complaint says.
    Failed,
}

/// One thing to check.
pub enum Check<'a> {
    /// A script.
    Script(&'a Plugin),
    /// A component of a Wasm entry.
    Wasm {
        /// The entry.
        plugin: &'a Plugin,
        /// The component.
        component: &'a Component,
        /// The machine that it looks at.
        node: &'a Arc<Node>,
    },
}

/// A plugin as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginRow {
    /// Component name.
    pub component: String,
    /// As written.
    pub plugin_name: String,
    /// `component`, `init` or `wasm`; a list is shown as its members.
    pub plugin_type: String,
    /// As written.
    pub run_mode: String,
    /// With the default filled in.
    pub timeout: GoDuration,
    /// Zero is once.
    pub interval: GoDuration,
    /// Its own, without those that every plugin has.
    pub tags: Vec<String>,
    /// False for a Wasm entry that cannot be loaded.
    pub valid: bool,
    /// Grants that a Wasm component has use for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks_for: Option<Vec<String>>,
    /// Components of a Wasm entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<String>>,
}

/// Reads and loads `path`, or the built-in example.
pub async fn load(path: Option<&Path>) -> LoadedFile {
    let Some(path) = path else {
        let file = file::parse(example::SPECS.as_bytes(), example::NAME);
        return of_file(file, example::NAME, Path::new("")).await;
    };
    let name = path.display().to_string();
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || file::read(&owned, Opener::of_command())).await;
    match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(read) => of_file(read, &name, &file::folder(path)).await,
        Err(message) => LoadedFile {
            entries: Vec::new(),
            problems: vec![Complaint::unreadable(&name, message)],
            late: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

async fn of_file(file: PluginFile, name: &str, folder: &Path) -> LoadedFile {
    let complaints = |problems: Vec<Problem>| {
        problems
            .into_iter()
            .map(Complaint::from)
            .collect::<Vec<_>>()
    };
    let mut late = complaints(file.duplicates());
    let mut entries = Vec::new();
    let mut machine = None;
    for plugin in init_first(file.plugins) {
        let wasm = match &plugin.wasm {
            None => None,
            Some(_) => match load_wasm(&mut machine, &plugin, folder).await {
                Ok(loaded) => Some(loaded),
                Err(problem) => {
                    late.push(Complaint::of_wasm(problem, &plugin, name));
                    Some(Wasm::Failed)
                }
            },
        };
        entries.push(LoadedEntry { plugin, wasm });
    }
    LoadedFile {
        entries,
        problems: complaints(file.problems),
        late,
        warnings: complaints(file.warnings),
    }
}

/// `init` plugins first; GPUd scrambles the order of more than twelve.
fn init_first(mut plugins: Vec<Plugin>) -> Vec<Plugin> {
    plugins.sort_by_key(|plugin| !plugin.is_init());
    plugins
}

type MachineSource = Result<(Arc<Node>, Runtime), String>;

/// Starts the services that Wasm components need, and scripts do not.
async fn start() -> MachineSource {
    let node = Node::live().await.map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let compiler = Compiler::of_this_program();
    let runtime = Runtime::start(&cache_folder(), compiler, Arc::clone(&node))
        .map_err(|error| error.to_string())?;
    Ok((node, runtime))
}

async fn load_wasm(
    machine: &mut Option<MachineSource>,
    plugin: &Plugin,
    folder: &Path,
) -> Result<Wasm, wasm::Problem> {
    let started = match machine.take() {
        Some(started) => started,
        None => start().await,
    };
    let started = machine.insert(started).as_ref();
    let (node, runtime) = started.map_err(|error| wasm::Problem {
        message: error.clone(),
        place: None,
        note: None,
    })?;
    let loaded = wasm::load(runtime, plugin, folder).await?;
    if let Some((_, shadow)) =
        wasm::load_shadow(runtime, plugin, folder, Opener::of_command()).await
    {
        shadow?;
    }
    let components = loaded.components.into_iter();
    Ok(Wasm::Loaded {
        node: Arc::clone(node),
        asks_for: loaded.asks_for,
        components: components
            .map(|checker| Component::of_loaded_wasm(plugin, checker))
            .collect(),
    })
}

impl LoadedFile {
    /// Whether there is nothing wrong.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty() && self.late.is_empty()
    }

    /// Its plugins as they are shown.
    pub fn rows(&self) -> Vec<PluginRow> {
        self.entries.iter().map(LoadedEntry::row).collect()
    }

    /// Everything that can be checked, in order.
    pub fn checks(&self) -> impl Iterator<Item = Check<'_>> {
        self.entries.iter().flat_map(LoadedEntry::checks)
    }
}

impl LoadedEntry {
    fn row(&self) -> PluginRow {
        let spec = &self.plugin.spec;
        let (asks_for, components) = match &self.wasm {
            Some(Wasm::Loaded {
                asks_for,
                components,
                ..
            }) => {
                let names = components.iter().map(|c| c.name().to_owned());
                (Some(asks_for.clone()), Some(names.collect()))
            }
            Some(Wasm::Failed) | None => (None, None),
        };
        PluginRow {
            component: self.plugin.component.clone(),
            plugin_name: spec.plugin_name.clone(),
            plugin_type: spec.plugin_type.clone(),
            run_mode: spec.run_mode.clone(),
            timeout: spec.timeout,
            interval: spec.interval,
            tags: spec.tags.clone(),
            valid: !matches!(self.wasm, Some(Wasm::Failed)),
            asks_for,
            components,
        }
    }

    fn checks(&self) -> Vec<Check<'_>> {
        let plugin = &self.plugin;
        match &self.wasm {
            None => vec![Check::Script(plugin)],
            Some(Wasm::Loaded {
                node, components, ..
            }) => components
                .iter()
                .map(|component| Check::Wasm {
                    plugin,
                    component,
                    node,
                })
                .collect(),
            Some(Wasm::Failed) => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
