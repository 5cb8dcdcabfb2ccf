//! Loads the built-in components.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::Selection;
use crate::{
    capability::Grants,
    component::{
        Component, ComponentConfig, Registry, WasmChecker,
        builtin::{self, Builtin},
        own_faults,
        scheduler::Scheduler,
    },
    runtime::{Limits, PluginSource, Runtime, Wasm},
};

/// The component that says what is wrong with the site's configuration of components. It is only there while something is.
const CONFIGS: &str = own_faults::COMPONENT_CONFIGS;

/// A built-in component that runs, and where it is shown.
pub type RegisteredBuiltin = (Builtin, Arc<Component>);

/// Registers the built-in components that run. They show that they are being loaded.
pub fn register(registry: &Registry, selection: &Selection) -> Vec<RegisteredBuiltin> {
    let builtins = builtin::all()
        .into_iter()
        .filter(|builtin| (selection.enabled)(builtin.component))
        .filter_map(|builtin| {
            let component = registry.add(Component::loading(builtin.component)).ok()?;
            Some((builtin, component))
        })
        .collect();
    if let Some(problem) = &selection.problem {
        tracing::error!("{problem}");
        let shown = format!("the configuration of components is not used: {problem}");
        // The name is not a built-in component's, and plugins come later.
        let _ = registry.add(Component::of_problem(CONFIGS, shown));
    }
    builtins
}

/// Loads the built-in checkers side by side; each runs as soon as it is there.
pub async fn load_all(
    runtime: &Runtime,
    builtins: &[RegisteredBuiltin],
    components: &Selection,
    scheduler: &Scheduler,
) {
    let mut loading = JoinSet::new();
    for (builtin, component) in builtins {
        let (runtime, builtin, component) =
            (runtime.clone(), builtin.clone(), Arc::clone(component));
        let config = (components.config)(builtin.component);
        loading.spawn(async move {
            load(&runtime, &builtin, &component, &config).await;
            component
        });
    }
    while let Some(loaded) = loading.join_next().await {
        match loaded {
            Ok(component) => scheduler.schedule(component),
            Err(error) => tracing::error!("loading a component failed: {error}"),
        }
    }
}

/// Loads one built-in checker into its component, which shows what went wrong.
pub async fn load(
    runtime: &Runtime,
    builtin: &Builtin,
    component: &Component,
    config: &ComponentConfig,
) {
    let grants = match Grants::parse(&builtin.grants(&config.whole())) {
        Ok(grants) => grants.of_builtin(),
        Err(error) => return component.failed(error.to_string()),
    };
    let unpack = || builtin.unpack();
    let source = PluginSource {
        name: builtin.folder,
        wasm: Wasm::Packed {
            sha256: builtin.sha256,
            unpack: &unpack,
        },
        grants,
        limits: Limits::default(),
    };
    match runtime.load(source).await {
        Ok(plugin) => {
            let plugin = Arc::new(plugin);
            let described = plugin
                .components()
                .iter()
                .find(|d| d.name == component.name());
            match described.cloned() {
                Some(descriptor) => {
                    let (config, problem) = config.resolve(&descriptor);
                    if let Some(problem) = problem {
                        component.runs_without(problem);
                    }
                    let config = config.to_string().into();
                    component.ready(WasmChecker::new(plugin, descriptor, config));
                }
                None => component.failed(format!(
                    "plugin {} does not describe a component `{}`",
                    plugin.name(),
                    component.name()
                )),
            }
        }
        Err(error) => component.failed(error.to_string()),
    }
}
