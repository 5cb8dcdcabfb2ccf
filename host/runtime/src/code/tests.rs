use std::{fs, path::Path};

use tokio::sync::OnceCell;

use gpud_builtins as builtin;

use super::*;
use crate::{
    CallContext, CallError, Compiler, Limits, Plugin, PluginSource, Wasm,
    model::{CheckContext, Health, HealthState, Report, Trigger},
    node::Node,
};

mod builtin_checkers;

async fn start(folder: &Path) -> Runtime {
    let node = Arc::new(Node::live().await.unwrap());
    Runtime::start(folder, Compiler::InProcess, node).unwrap()
}

async fn load(runtime: &Runtime) -> Plugin {
    load_with(runtime, "pci", |_| ()).await.unwrap()
}

/// The component `pci` under another name and with other grants.
async fn load_with(
    runtime: &Runtime,
    name: &str,
    change: impl FnOnce(&mut serde_json::Value),
) -> Result<Plugin, LoadError> {
    let all = builtin::all();
    let mut pci = all
        .into_iter()
        .find(|builtin| builtin.component == "pci")
        .unwrap();
    change(&mut pci.grants);
    let wasm = pci.unpack().unwrap();
    let source = PluginSource {
        name,
        wasm: Wasm::Bytes(&wasm),
        grants: Grants::parse(&pci.grants).unwrap().of_builtin(),
        limits: Limits::default(),
    };
    runtime.load(source).await
}

async fn works(plugin: &Plugin) -> bool {
    let states = states(plugin).await;
    states
        .iter()
        .any(|state| matches!(state.health, Health::Healthy | Health::Degraded))
}

/// Its reason and error.
async fn reasons(plugin: &Plugin) -> String {
    let states = states(plugin).await;
    let reasons = states
        .iter()
        .map(|state| format!("{} {:?}", state.reason, state.error));
    reasons.collect()
}

async fn states(plugin: &Plugin) -> Vec<HealthState> {
    check(plugin, "pci", "{}").await.unwrap().states
}

async fn check(plugin: &Plugin, component: &str, config: &str) -> Result<Report, CallError> {
    let (call_context, context) = (call_context(component, config), context(component));
    plugin.check(&call_context, &context).await.answer
}

fn call_context<'a>(component: &'a str, config: &str) -> CallContext<'a> {
    CallContext {
        component,
        store: None,
        config: Arc::from(config),
        values: None,
    }
}

fn context(component: &str) -> CheckContext {
    CheckContext {
        component: component.into(),
        now: 1_700_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
    }
}

/// How many components' code is loaded.
fn loaded_components(runtime: &Runtime) -> usize {
    let codes = runtime.codes();
    let guests = codes.components.values();
    guests.filter(|guest| guest.strong_count() > 0).count()
}

/// Names of the cache's files without the part that depends on their contents.
fn kinds(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().flatten();
    let names = files.map(|file| file.file_name().into_string().unwrap());
    let mut kinds: Vec<String> = names
        .map(|name| name.split_once('.').unwrap().1.to_owned())
        .collect();
    kinds.sort();
    kinds
}

#[tokio::test]
async fn code_is_compiled_once_and_found_by_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let runtime = start(&folder).await;
    assert!(works(&load(&runtime).await).await);
    assert_eq!(kinds(&folder), ["cwasm", "sha256"]);
    assert_eq!(runtime.compiled(), 1);
    let second = start(&folder).await;
    assert!(works(&load(&second).await).await);
    assert_eq!(second.compiled(), 0);
}

#[tokio::test]
async fn plugins_with_the_same_component_share_its_code_and_not_their_grants() {
    let home = tempfile::tempdir().unwrap();
    let runtime = start(&home.path().join("cache")).await;
    let first = load(&runtime).await;
    let second = load_with(&runtime, "second", |grants| {
        grants["exec"] = serde_json::json!(["another-program"])
    });
    let second = second.await.unwrap();
    assert_eq!(loaded_components(&runtime), 1);
    assert_eq!((first.name(), second.name()), ("pci", "second"));
    assert!(works(&first).await);
    let (of_first, of_second) = (reasons(&first).await, reasons(&second).await);
    assert_ne!(
        of_first, of_second,
        "the second may not run the first one's program"
    );
    // A plugin of an operator imports nothing that it was not granted.
    let all = builtin::all();
    let pci = all.iter().find(|builtin| builtin.component == "pci");
    let wasm = pci.unwrap().unpack().unwrap();
    let third = PluginSource {
        name: "third",
        wasm: Wasm::Bytes(&wasm),
        grants: Grants::default(),
        limits: Limits::default(),
    };
    match runtime.load(third).await {
        Err(LoadError::NotGranted { name, .. }) => assert_eq!(name, "third"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("loaded without its grants"),
    }

    assert_eq!(runtime.compiled(), 1);
    drop(first);
    assert_eq!(loaded_components(&runtime), 1);
    drop(second);
    assert_eq!(loaded_components(&runtime), 0);
}

#[tokio::test]
async fn plugins_that_are_loaded_at_once_compile_their_component_once() {
    let home = tempfile::tempdir().unwrap();
    let runtime = start(&home.path().join("cache")).await;
    let names = ["first", "second", "third"];
    let loading = names.map(|name| load_with(&runtime, name, |_| ()));
    let loaded = futures_util::future::join_all(loading).await;
    let plugins: Vec<Plugin> = loaded.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(runtime.compiled(), 1);
    assert_eq!(loaded_components(&runtime), 1);
    for (plugin, name) in plugins.iter().zip(names) {
        assert_eq!(plugin.name(), name);
        assert!(plugin.components().iter().any(|one| one.name == "pci"));
        assert!(works(plugin).await);
    }
}
