//! Wasm entries of a spec: from the file of a component to checkers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use crate::{
    capability::Grants,
    component::{WasmChecker, config},
    model::{ComponentDescriptor, RunMode},
    node::trusted::Opener,
    pack::hex,
    runtime::{Limits, Plugin as Loadable, PluginSource, Runtime, Wasm},
    spec::{Plugin, Position},
    wire::{LimitOverrides, ShadowSpec, WasmSpec},
};

/// Largest component file, bytes. An interpreter with its library is about 20 MB.
pub const MAX_COMPONENT_BYTES: usize = 128 << 20;

/// A Wasm entry that can run.
pub struct LoadedWasm {
    /// The grants that it asks for, as words of a spec.
    pub asks_for: Vec<String>,
    /// Its components, named as they are registered.
    pub components: Vec<WasmChecker>,
}

/// Why a Wasm entry cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The problem.
    pub message: String,
    /// Where in the spec file.
    pub place: Option<Position>,
    /// What to do.
    pub note: Option<String>,
}

impl Problem {
    fn new(message: impl Into<String>, place: Position) -> Self {
        Self {
            message: message.into(),
            place: Some(place),
            note: None,
        }
    }
}

/// The file of an entry.
pub(crate) fn path(wasm: &WasmSpec, folder: &Path) -> PathBuf {
    folder.join(&wasm.path)
}

/// The files of an entry: that of its component, and of the one beside it.
pub(crate) fn paths(wasm: &WasmSpec, folder: &Path) -> Vec<PathBuf> {
    let shadow = wasm.shadow.as_ref();
    let shadow = shadow.map(|shadow| folder.join(&shadow.path));
    [path(wasm, folder)].into_iter().chain(shadow).collect()
}

/// Loads an entry: reads its file, holds its imports against its grants, lets it describe itself, holds its
/// configuration against the schema that it declares. Relative paths start from `folder`. For commands.
///
/// # Errors
/// [`Problem`], with its place in the spec.
pub async fn load(
    runtime: &Runtime,
    plugin: &Plugin,
    folder: &Path,
) -> Result<LoadedWasm, Problem> {
    let bytes = read_component(plugin, folder, Opener::of_command()).await?;
    of_bytes(runtime, plugin, folder, &bytes).await
}

/// Reads the file of an entry.
///
/// # Errors
/// It cannot be read, or is not trusted.
pub(crate) async fn read_component(
    plugin: &Plugin,
    folder: &Path,
    opener: Opener,
) -> Result<Vec<u8>, Problem> {
    let Some(wasm) = &plugin.spec.wasm else {
        return Err(Problem::new("not a Wasm entry", plugin.place));
    };
    read(path(wasm, folder), opener)
        .await
        .map_err(|message| Problem::new(message, plugin.place))
}

/// The same as [`load`] with what was read.
///
/// # Errors
/// [`Problem`], with its place in the spec.
pub(crate) async fn of_bytes(
    runtime: &Runtime,
    plugin: &Plugin,
    folder: &Path,
    bytes: &[u8],
) -> Result<LoadedWasm, Problem> {
    let (Some(wasm), Some(places)) = (&plugin.spec.wasm, &plugin.wasm) else {
        return Err(Problem::new("not a Wasm entry", plugin.place));
    };
    let grants = Grants::parse(&wasm.grants)
        .map_err(|error| Problem::new(error.to_string(), places.grants_place("")))?;
    let file = path(wasm, folder);
    let source = PluginSource {
        name: &plugin.spec.plugin_name,
        wasm: Wasm::Bytes(bytes),
        grants,
        limits: limits(&wasm.limits, plugin),
    };
    let loaded = runtime
        .load(source)
        .await
        .map_err(|error| Problem::new(error.to_string(), places.grants_place("")))?;
    for described in loaded.components() {
        let checked = config::check(described, &wasm.config, runtime.program()).await;
        checked.map_err(|mismatch| Problem {
            note: Some(format!(
                "component `{}` of {} declares this in its schema",
                described.name,
                file.display()
            )),
            ..Problem::new(mismatch.message, places.config_place(&mismatch.pointer))
        })?;
    }
    Ok(components(plugin, wasm, loaded))
}

/// The second version of an entry, if it names one that can run. Nothing of the running version depends on it.
///
/// # Errors
/// [`Problem`], with its place in the spec: it cannot be read or loaded, or was granted more than the entry.
pub async fn load_shadow(
    runtime: &Runtime,
    plugin: &Plugin,
    folder: &Path,
    opener: Opener,
) -> Option<(String, Result<LoadedWasm, Problem>)> {
    let (entry, places) = (plugin.spec.wasm.as_ref()?, plugin.wasm.as_ref()?);
    let shadow = entry.shadow.as_ref()?;
    let place = places.shadow_place();
    let at_shadow = |problem: Problem| Problem {
        place: Some(place),
        message: format!("shadow: {}", problem.message),
        ..problem
    };
    let mut second = plugin.clone();
    second.spec.plugin_name.push_str(" (shadow)");
    if let Some(wasm) = &mut second.spec.wasm {
        wasm.path.clone_from(&shadow.path);
        if let Some(grants) = &shadow.grants {
            wasm.grants.clone_from(grants);
        }
        if let Some(config) = &shadow.config {
            wasm.config.clone_from(config);
        }
    }
    if let Err(problem) = no_wider(entry, shadow, place) {
        return Some((String::new(), Err(problem)));
    }
    let bytes = match read_component(&second, folder, opener).await {
        Ok(bytes) => bytes,
        Err(problem) => return Some((String::new(), Err(at_shadow(problem)))),
    };
    let digest = format!("sha256:{}", hex(&bytes));
    let loaded = of_bytes(runtime, &second, folder, &bytes).await;
    Some((digest, loaded.map_err(at_shadow)))
}

/// A second version reaches nothing that the entry does not.
fn no_wider(entry: &WasmSpec, shadow: &ShadowSpec, place: Position) -> Result<(), Problem> {
    let Some(own) = &shadow.grants else {
        return Ok(());
    };
    let parse = |grants: &Value| {
        Grants::parse(grants).map_err(|error| Problem::new(format!("shadow: {error}"), place))
    };
    match parse(&entry.grants)?.exceeded_by(&parse(own)?) {
        None => Ok(()),
        Some(word) => Err(Problem {
            note: Some(format!(
                "add it under `grants:` of the entry, or take it out of `shadow: grants: {word}:`"
            )),
            ..Problem::new(
                format!("shadow: grants.{word} goes beyond that of the entry"),
                place,
            )
        }),
    }
}

async fn read(file: PathBuf, opener: Opener) -> Result<Vec<u8>, String> {
    let reading = tokio::task::spawn_blocking(move || {
        let read = opener.read(&file, MAX_COMPONENT_BYTES);
        read.map_err(|error| error.to_string())
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

fn components(plugin: &Plugin, wasm: &WasmSpec, loaded: Loadable) -> LoadedWasm {
    let config: Arc<str> = wasm.config.to_string().into();
    let loaded = Arc::new(loaded);
    let alone = loaded.components().len() == 1;
    let components = loaded.components().iter().map(|described| {
        let descriptor = registered(plugin, described, alone);
        WasmChecker::new(Arc::clone(&loaded), descriptor, Arc::clone(&config))
    });
    LoadedWasm {
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
