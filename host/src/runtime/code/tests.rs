use std::{fs, path::Path};

use super::*;
use crate::{
    component::builtin,
    model::{CheckContext, Health, HealthState, Trigger},
    node::Node,
    runtime::{Asked, Compiler, Effort, Limits, Plugin, PluginSource},
};

async fn start(folder: &Path) -> Runtime {
    let node = Arc::new(Node::live().await.unwrap());
    Runtime::start(folder, Compiler::InProcess(Effort::Quick), node).unwrap()
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
async fn quick_code_runs_at_once_and_gets_better_in_the_background() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let runtime = start(&folder).await;
    let plugin = load(&runtime).await;
    assert!(works(&plugin).await);
    assert_eq!(kinds(&folder), ["quick.cwasm", "quick.sha256", "wasm"]);
    // A start before it got better goes on from there.
    let second = start(&folder).await;
    assert!(works(&load(&second).await).await);
    assert_eq!(second.compiled(), 0);

    let quick = runtime.code_in_use();
    assert_eq!(quick.len(), 1, "{}", quick.len());
    let better = async {
        while runtime.code_in_use()[0].addresses() == quick[0].addresses() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = runtime.improve_code(Duration::from_millis(1)) => unreachable!("it goes on for ever"),
        () = better => {}
    }
    assert!(works(&plugin).await);
    assert_eq!(kinds(&folder), ["cwasm", "sha256"]);
    assert_eq!(runtime.compiled(), 2);
    drop(plugin);
    assert!(runtime.code_in_use().is_empty());

    let third = start(&folder).await;
    assert!(works(&load(&third).await).await);
    assert_eq!(third.compiled(), 0);
}

#[tokio::test]
async fn without_its_source_quick_code_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    drop(load(&start(&folder).await).await);
    let source = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|it| it == "wasm"));
    fs::remove_file(source.unwrap()).unwrap();
    let runtime = start(&folder).await;
    load(&runtime).await;
    assert_eq!(runtime.compiled(), 1, "it could never get better");
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
    assert_eq!(runtime.code_in_use().len(), 1);
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

    let quick = runtime.code_in_use();
    let better = async {
        while runtime.code_in_use() == quick {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Until none has the quick code any more.
        while runtime.code_in_use().len() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = runtime.improve_code(Duration::from_millis(1)) => unreachable!("it goes on for ever"),
        () = better => {}
    }
    assert!(works(&first).await);
    assert_eq!(runtime.compiled(), 2, "quickly and thoroughly, once each");
    drop(first);
    assert_eq!(runtime.code_in_use().len(), 1);
    drop(second);
    assert!(runtime.code_in_use().is_empty());
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
    assert_eq!(runtime.code_in_use().len(), 1);
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
