//! The built-in checkers, each called by its name.

use super::*;

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
