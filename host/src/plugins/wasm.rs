//! Wasm entries of a spec: from the file of a component to checkers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    capability::Grants,
    component::{WasmChecker, config},
    model::{ComponentDescriptor, RunMode},
    node::local_file,
    runtime::{Limits, Plugin as Loadable, PluginSource, Runtime},
    spec::{Place, Plugin},
    wire::{LimitOverrides, WasmSpec},
};

/// Largest component file, bytes. An interpreter with its library is about 20 MB.
pub(crate) const MAX_COMPONENT_BYTES: usize = 128 << 20;

/// A Wasm entry that can run.
pub struct Loaded {
    /// The grants that it asks for, as words of a spec.
    pub asks_for: Vec<String>,
    /// Its components, named as they are registered.
    pub components: Vec<WasmChecker>,
}

/// Why a Wasm entry cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// Where in the spec file.
    pub place: Option<Place>,
    /// What to do.
    pub note: Option<String>,
}

impl Problem {
    fn new(message: impl Into<String>, place: Place) -> Self {
        Self {
            message: message.into(),
            place: Some(place),
            note: None,
        }
    }
}

/// The file of an entry.
pub fn path(wasm: &WasmSpec, folder: &Path) -> PathBuf {
    folder.join(&wasm.path)
}

/// Loads an entry: reads its file, holds its imports against its grants, lets it describe itself, holds its
/// configuration against the schema that it declares. Relative paths start from `folder`.
///
/// # Errors
/// [`Problem`], with its place in the spec.
pub async fn load(runtime: &Runtime, plugin: &Plugin, folder: &Path) -> Result<Loaded, Problem> {
    let (Some(wasm), Some(places)) = (&plugin.spec.wasm, &plugin.wasm) else {
        return Err(Problem::new("not a Wasm entry", plugin.place));
    };
    let grants = Grants::parse(&wasm.grants)
        .map_err(|error| Problem::new(error.to_string(), places.grants_place("")))?;
    let file = path(wasm, folder);
    let bytes = read(file.clone())
        .await
        .map_err(|message| Problem::new(message, plugin.place))?;
    let source = PluginSource {
        name: &plugin.spec.plugin_name,
        wasm: &bytes,
        grants,
        limits: limits(&wasm.limits, plugin),
    };
    let loaded = runtime
        .load(source)
        .await
        .map_err(|error| Problem::new(error.to_string(), places.grants_place("")))?;
    for described in loaded.components() {
        config::check(described, &wasm.config).map_err(|misfit| Problem {
            note: Some(format!(
                "component `{}` of {} declares this in its schema",
                described.name,
                file.display()
            )),
            ..Problem::new(misfit.message, places.config_place(&misfit.pointer))
        })?;
    }
    Ok(components(plugin, wasm, loaded))
}

async fn read(file: PathBuf) -> Result<Vec<u8>, String> {
    let reading = tokio::task::spawn_blocking(move || {
        local_file::read(&file, MAX_COMPONENT_BYTES)
            .map_err(|error| local_file::open_error(&file, &error))
    });
    reading.await.map_err(|error| error.to_string())?
}

/// The defaults, with what the entry says instead.
fn limits(overrides: &LimitOverrides, plugin: &Plugin) -> Limits {
    let defaults = Limits::default();
    let timeout = u64::try_from(plugin.spec.timeout.0).unwrap_or(0);
    Limits {
        memory_bytes: overrides.memory_bytes.unwrap_or(defaults.memory_bytes),
        table_elements: overrides.table_elements.unwrap_or(defaults.table_elements),
        deadline: Duration::from_nanos(timeout),
        host_calls: overrides.host_calls.unwrap_or(defaults.host_calls),
        host_bytes: overrides.host_bytes.unwrap_or(defaults.host_bytes),
        log_lines: overrides.log_lines.unwrap_or(defaults.log_lines),
        states: overrides.states.unwrap_or(defaults.states),
        events: overrides.events.unwrap_or(defaults.events),
        metrics: overrides.metrics.unwrap_or(defaults.metrics),
        ..defaults
    }
}

fn components(plugin: &Plugin, wasm: &WasmSpec, loaded: Loadable) -> Loaded {
    let config: Arc<str> = wasm.config.to_string().into();
    let loaded = Arc::new(loaded);
    let alone = loaded.components().len() == 1;
    let components = loaded.components().iter().map(|described| {
        let descriptor = registered(plugin, described, alone);
        WasmChecker::new(Arc::clone(&loaded), descriptor, Arc::clone(&config))
    });
    Loaded {
        asks_for: loaded.asks_for(),
        components: components.collect(),
    }
}

/// What a component is registered as. The operator's name wins where there is one component for it; several keep the
/// names that their plugin gives them, and all can be triggered by the name of the entry.
fn registered(
    plugin: &Plugin,
    described: &ComponentDescriptor,
    alone: bool,
) -> ComponentDescriptor {
    let mut descriptor = described.clone();
    if alone {
        descriptor.name.clone_from(&plugin.component);
    }
    let mut tags = plugin.tags();
    tags.push(descriptor.name.clone());
    tags.append(&mut descriptor.tags);
    let mut seen = std::collections::BTreeSet::new();
    tags.retain(|tag| seen.insert(tag.clone()));
    descriptor.tags = tags;
    if plugin.is_manual() {
        descriptor.run_mode = RunMode::Manual;
    } else if !plugin.spec.run_mode.is_empty() {
        descriptor.run_mode = RunMode::Auto;
    }
    if let Some(interval) = u64::try_from(plugin.spec.interval.0)
        .ok()
        .filter(|n| *n > 0)
    {
        descriptor.interval = Some(Duration::from_nanos(interval));
    }
    descriptor
}
