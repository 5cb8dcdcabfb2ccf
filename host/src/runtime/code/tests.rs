use std::{fs, path::Path};

use super::*;
use crate::{
    component::builtin,
    model::{CheckContext, Health, HealthState, Trigger},
    node::Node,
    runtime::{Asked, Compiler, Limits, Plugin, PluginSource},
};

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
    let source = PluginSource {
        name,
        wasm: pci.wasm,
        grants: Grants::parse(&pci.grants).unwrap(),
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
async fn told(plugin: &Plugin) -> String {
    let states = states(plugin).await;
    let told = states
        .iter()
        .map(|state| format!("{} {:?}", state.reason, state.error));
    told.collect()
}

async fn states(plugin: &Plugin) -> Vec<HealthState> {
    let asked = Asked {
        component: "pci",
        store: None,
        config: Arc::from("{}"),
        values: None,
    };
    let context = CheckContext {
        component: "pci".into(),
        now: 1_700_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
    };
    plugin.check(&asked, &context).await.answer.unwrap().states
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
    let (of_first, of_second) = (told(&first).await, told(&second).await);
    assert_ne!(
        of_first, of_second,
        "the second may not run the first one's program"
    );
    let nothing = |grants: &mut serde_json::Value| *grants = serde_json::json!({});
    match load_with(&runtime, "third", nothing).await {
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
        assert_eq!(plugin.components()[0].name, "pci");
        assert!(works(plugin).await);
    }
}

#[test]
fn an_interface_that_only_others_of_a_component_need_reaches_nothing() {
    let all = builtin::all();
    let find = |name: &str| all.iter().find(|it| it.component == name).unwrap();
    let temperature = find("accelerator-nvidia-temperature");
    let memory = find("accelerator-nvidia-memory");
    assert_eq!(temperature.wasm, memory.wasm);
    let may_read = |builtin: &builtin::Builtin| {
        let grants = Grants::parse(&builtin.grants(&serde_json::json!({}))).unwrap();
        grants.sysfs.unwrap().allows("/proc/meminfo")
    };
    assert!(may_read(memory));
    assert!(!may_read(temperature));
}
