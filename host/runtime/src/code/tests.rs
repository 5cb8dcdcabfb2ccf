use std::{fs, path::Path};

use tokio::sync::OnceCell;

use gpud_builtins as builtin;

use super::*;
use crate::{
    CallContext, CallError, Compiler, Limits, Plugin, PluginSource, Wasm,
    model::{CheckContext, Health, HealthState, Report, Trigger},
    node::Node,
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

/// A runtime for tests of all built-in checkers, whose code is compiled once for all of them.
async fn shared() -> Runtime {
    static SHARED: OnceCell<(tempfile::TempDir, Runtime)> = OnceCell::const_new();
    let start = || async {
        let home = tempfile::tempdir().unwrap();
        let runtime = start(&home.path().join("cache")).await;
        (home, runtime)
    };
    SHARED.get_or_init(start).await.1.clone()
}

/// A built-in checker with these grants.
async fn builtin_with(runtime: &Runtime, component: &str, grants: &serde_json::Value) -> Plugin {
    let all = builtin::all();
    let found = all.iter().find(|builtin| builtin.component == component);
    let found = found.unwrap();
    let unpack = || found.unpack();
    let source = PluginSource {
        name: found.folder,
        wasm: Wasm::Packed {
            sha256: found.sha256,
            unpack: &unpack,
        },
        grants: Grants::parse(grants).unwrap().of_builtin(),
        limits: Limits::default(),
    };
    runtime.load(source).await.unwrap()
}

#[test]
fn grants_of_every_built_in_checker_parse() {
    for builtin in builtin::all() {
        let grants = builtin.grants(&serde_json::json!({"class_root": "/x"}));
        Grants::parse(&grants).unwrap_or_else(|error| panic!("{}: {error}", builtin.folder));
    }
}

#[test]
fn a_configured_port_that_is_none_is_refused_in_words() {
    let builtins = builtin::all();
    let kubelet = builtins
        .iter()
        .find(|builtin| builtin.component == "kubelet");
    let config = serde_json::json!({"health_port": 70_000});
    let grants = kubelet.unwrap().grants(&config);
    let refused = Grants::parse(&grants).unwrap_err();
    assert!(refused.to_string().starts_with("grants.net: "), "{refused}");
}

#[tokio::test]
async fn every_built_in_checker_is_described_and_called_by_its_name() {
    let runtime = shared().await;
    // Without grants, so that nothing of the machine is asked.
    let nothing = serde_json::json!({});
    let mut loaded = Vec::new();
    for builtin in builtin::all() {
        let component = builtin.component;
        let plugin = builtin_with(&runtime, component, &nothing).await;
        let mut described = plugin.components().iter();
        assert!(described.any(|one| one.name == component), "{component}");
        assert_eq!(plugin.asks_for(), Vec::<String>::new(), "{component}");
        let answer = format!("{:?}", check(&plugin, component, "{}").await);
        assert!(!answer.contains("no component"), "{component}: {answer}");
        loaded.push(plugin);
    }
    let codes = loaded_components(&runtime);
    assert!((2..=8).contains(&codes), "{codes} components");
    assert_eq!(runtime.compiled(), codes as u64);
}

#[tokio::test]
async fn an_interface_that_only_others_of_a_component_need_is_refused() {
    let runtime = shared().await;
    let everything = serde_json::json!({
        "sysfs": ["/**"],
        "exec": "bash",
        "net": {"tcp": ["localhost:1"]},
        "kmsg": true,
        "history": true,
        "state": true,
        "nvml": true,
        "config": true,
    });
    let without = |missing: &str| {
        let mut grants = everything.clone();
        grants.as_object_mut().unwrap().remove(missing).unwrap();
        grants
    };
    let endpoint = r#"{"endpoints": {"nearby": "localhost:1"}}"#;
    // A component, its configuration, and what it is not granted.
    for (component, config, missing) in [
        ("pressure", "{}", "sysfs"),
        ("pressure", "{}", "state"),
        ("time-sync", "{}", "exec"),
        ("network-latency", endpoint, "net"),
        ("storage-clients", "{}", "history"),
        ("accelerator-nvidia-ecc", "{}", "nvml"),
    ] {
        let plugin = builtin_with(&runtime, component, &without(missing)).await;
        assert!(!plugin.asks_for().contains(&missing.to_owned()));
        let answer = format!("{:?}", check(&plugin, component, config).await);
        assert!(
            answer.contains(&format!("{missing}.")) && answer.contains("not granted"),
            "{component} without {missing}: {answer}"
        );
    }

    let blind = builtin_with(&runtime, "network-latency", &without("config")).await;
    let report = check(&blind, "network-latency", endpoint).await.unwrap();
    assert!(report.states[0].reason.contains("no endpoints"));

    let deaf = builtin_with(&runtime, "kernel-stalls", &without("kmsg")).await;
    let (call_context, context) = (
        call_context("kernel-stalls", "{}"),
        context("kernel-stalls"),
    );
    let scanned = deaf.scan(&call_context, &context).await.answer.unwrap();
    assert_eq!(scanned.states[0].reason, "the kernel log cannot be read");
}

#[tokio::test]
async fn a_component_without_the_grant_is_handed_no_kernel_messages() {
    let runtime = shared().await;
    for (grants, watches) in [
        (serde_json::json!({"kmsg": true}), true),
        (serde_json::json!({"kmsg": false}), false),
    ] {
        let plugin = builtin_with(&runtime, "memory-edac", &grants).await;
        assert_eq!(plugin.watches_kmsg(), watches);
    }
    // Its component watches the kernel log for others.
    let grants = serde_json::json!({"kmsg": true});
    let pci = builtin_with(&runtime, "pci", &grants).await;
    let described = pci.components().iter();
    let described: std::collections::BTreeMap<_, _> = described
        .map(|one| {
            (
                one.name.as_str(),
                (one.without_scan, one.without_kmsg_watcher),
            )
        })
        .collect();
    assert_eq!(described["pci"], (true, true));
    assert_eq!(described["ipmi"], (true, false));
    assert_eq!(described["memory-edac"], (false, false));
}
