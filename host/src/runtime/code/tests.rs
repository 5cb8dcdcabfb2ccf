use std::{fs, path::Path};

use super::*;
use crate::{
    component::builtin,
    model::{CheckContext, Health, Trigger},
    node::Node,
    runtime::{Asked, Compiler, Effort, Limits, Plugin, PluginSource},
};

async fn start(folder: &Path) -> Runtime {
    let node = Arc::new(Node::live().await.unwrap());
    Runtime::start(folder, Compiler::InProcess(Effort::Quick), node).unwrap()
}

async fn load(runtime: &Runtime) -> Plugin {
    let all = builtin::all();
    let pci = all
        .iter()
        .find(|builtin| builtin.component == "pci")
        .unwrap();
    let source = PluginSource {
        name: "pci",
        wasm: pci.wasm,
        grants: Grants::parse(&pci.grants).unwrap(),
        limits: Limits::default(),
    };
    runtime.load(source).await.unwrap()
}

async fn works(plugin: &Plugin) -> bool {
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
    let report = plugin.check(&asked, &context).await.answer.unwrap();
    report
        .states
        .iter()
        .any(|state| matches!(state.health, Health::Healthy | Health::Degraded))
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
