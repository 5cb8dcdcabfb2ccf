//! Wasm entries of a spec file, from YAML to checked components.

use std::path::Path;

use gpud::{
    component::{Component, Schedule, WasmChecker},
    model::Trigger,
    plugins::{file, wasm},
};

use crate::{
    as_component::{services, store},
    lab,
};

/// Loads the entry of a guest; `rest` are further lines of it.
async fn load(guest: &str, rest: &str) -> Result<wasm::LoadedWasm, wasm::Problem> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guest.wasm"), lab::guest(guest)).unwrap();
    let text = format!(
        "- plugin_name: My Plugin\n  plugin_type: wasm\n  path: guest.wasm\n  tags: [mine]\n{rest}"
    );
    let read = file::parse(text.as_bytes(), "test.yaml");
    assert_eq!(read.problems, [], "{text}");
    let lab = lab::shared().await;
    wasm::load(&lab.runtime, &read.plugins[0], folder.path()).await
}

fn named(loaded: &wasm::LoadedWasm) -> Vec<&str> {
    let components = loaded.components.iter();
    components
        .map(|checker| checker.descriptor().name.as_str())
        .collect()
}

fn schedule(checker: WasmChecker) -> Schedule {
    gpud::component::Checker::Wasm(checker.into()).schedule()
}

#[tokio::test]
async fn a_plugin_of_one_component_takes_the_name_of_its_entry() {
    let loaded = load("well_behaved", "  run_mode: manual\n").await.unwrap();
    assert_eq!(named(&loaded), ["my-plugin"]);
    let checker = loaded.components.into_iter().next().unwrap();
    let tags = &checker.descriptor().tags;
    assert_eq!(tags[..3], ["custom-plugin", "my-plugin", "mine"]);
    assert_eq!(schedule(checker), Schedule::Manual);
}

#[tokio::test]
async fn several_components_keep_their_names_and_share_a_tag() {
    let loaded = load(
        "panics_on_messages",
        "  interval: 2m\n  grants: { kmsg: true }\n",
    )
    .await
    .unwrap();
    assert_eq!(
        named(&loaded),
        [
            "panics-on-messages",
            "panics-on-messages/flood",
            "panics-on-messages/patterns"
        ]
    );
    for checker in loaded.components {
        let tags = checker.descriptor().tags.clone();
        assert!(tags.contains(&"my-plugin".to_owned()), "{tags:?}");
        assert!(tags.contains(&checker.descriptor().name), "{tags:?}");
        let every = std::time::Duration::from_secs(120);
        assert_eq!(schedule(checker), Schedule::Every(every));
    }
}

#[tokio::test]
async fn configuration_reaches_the_guest_and_is_validated_against_its_schema() {
    let grants = "  grants: { config: yes }\n";
    let loaded = load(
        "takes_config",
        &format!("{grants}  config: {{ warn: 5 }}\n"),
    )
    .await
    .unwrap();
    assert_eq!(loaded.asks_for, ["config"]);
    let checker = loaded.components.into_iter().next().unwrap();
    let read = file::parse(
        b"- plugin_name: x\n  plugin_type: wasm\n  path: y\n",
        "test.yaml",
    );
    let component = Component::of_loaded_wasm(&read.plugins[0], checker);
    let states = {
        let lab = lab::shared().await;
        let services = services(&lab, store()).await;
        component.check(&services, Trigger::Manual).await
    };
    assert_eq!(states[0].reason, r#"{"warn":5}"#);

    for (config, line, column, part) in [
        ("{ warn: -1 }", 6, 19, "/warn"),
        ("{ warn: lots }", 6, 19, "/warn"),
        ("{ wern: 1 }", 6, 11, "wern"),
    ] {
        let problem = load("takes_config", &format!("{grants}  config: {config}\n"))
            .await
            .err()
            .unwrap();
        assert!(problem.message.contains(part), "{}", problem.message);
        let place = problem.place.unwrap();
        assert_eq!((place.line, place.column), (line, column), "{config}");
        assert!(problem.note.unwrap().contains("takes-config"));
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let problem = load("takes_config", "").await.err().unwrap();
    assert!(problem.message.contains("`config`"), "{}", problem.message);
    assert!(
        problem.message.contains("config: true"),
        "{}",
        problem.message
    );
    let problem = load("takes_config", "  grants: { cofnig: true }\n")
        .await
        .err()
        .unwrap();
    assert!(problem.message.contains("cofnig"), "{}", problem.message);
    let read = file::parse(
        b"- plugin_name: x\n  plugin_type: wasm\n  path: /nowhere/x.wasm\n",
        "test.yaml",
    );
    let lab = lab::shared().await;
    let missing = wasm::load(&lab.runtime, &read.plugins[0], Path::new("/")).await;
    let problem = missing.err().unwrap();
    assert_eq!(
        problem.message,
        "open /nowhere/x.wasm: no such file or directory"
    );
}
