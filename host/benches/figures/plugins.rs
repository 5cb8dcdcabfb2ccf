//! Measures the cost of a thousand loaded plugins in an idle daemon: the example in Rust under a thousand names, each checked once a
//! minute, against a daemon without any.

use std::{fs, path::Path, time::Duration};

use crate::{
    daemon::{Daemon, cpu_seconds, status},
    table::{Table, Target},
};

const PLUGINS: usize = 1_000;
/// Until every plugin was checked three times: then its version has worked, and is stored.
const SETTLED: Duration = Duration::from_secs(150);
const WATCHED: Duration = Duration::from_secs(120);

pub async fn measure(table: &mut Table, components: &Path) {
    let component = components.join("rust-board-temperature.wasm");
    if !component.exists() {
        eprintln!(
            "  {} is not there: examples/test.sh makes it",
            component.display()
        );
        return;
    }
    eprintln!(
        "{PLUGINS} plugins for {} s, and none …",
        (SETTLED + WATCHED).as_secs()
    );
    let component = fs::canonicalize(component).unwrap();
    let (with, without) = tokio::join!(watch(&component, PLUGINS), watch(&component, 0));
    table.add(
        &format!("{PLUGINS} plugins in Rust every minute: CPU"),
        with.cpu - without.cpu,
        "% of a core",
        Target::AtMost(2.0),
    );
    table.add(
        "  resident memory of each",
        (with.memory_kib - without.memory_kib) / PLUGINS as f64,
        "KiB",
        Target::AtMost(150.0),
    );
    table.note(
        "  of the daemon without",
        without.memory_kib / 1024.0,
        "MiB",
    );
}

struct Watched {
    /// Per cent of a core.
    cpu: f64,
    /// Resident.
    memory_kib: f64,
}

/// A daemon with so many plugins and no built-in components.
async fn watch(component: &Path, plugins: usize) -> Watched {
    let folder = tempfile::tempdir().unwrap();
    let specs = folder.path().join("specs.yaml");
    let entries = (0..plugins).map(|n| entry(n, component));
    fs::write(&specs, entries.collect::<String>()).unwrap();
    let specs = specs.to_str().unwrap();
    let daemon = Daemon::start(
        folder.path(),
        &["--components", "none", "--plugin-specs-file", specs],
    );
    daemon.client().await;
    tokio::time::sleep(SETTLED).await;
    let (_, body) = daemon.client().await.get("/v1/states").await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let judged =
        |component: &&serde_json::Value| component["states"][0]["health"] != "Initializing";
    let checked = body
        .as_array()
        .map_or(0, |all| all.iter().filter(judged).count());
    assert!(checked >= plugins, "{checked} of {plugins} were checked");
    let before = cpu_seconds(daemon.pid());
    tokio::time::sleep(WATCHED).await;
    Watched {
        cpu: (cpu_seconds(daemon.pid()) - before) / WATCHED.as_secs_f64() * 100.0,
        memory_kib: status(daemon.pid(), "VmRSS:"),
    }
}

/// Asks for a sensor that no machine has: without any sensor at all, a component has nothing to watch and is not shown.
fn entry(n: usize, component: &Path) -> String {
    format!(
        "- plugin_name: plugin-{n}\n  plugin_type: wasm\n  run_mode: auto\n  path: {}\n  interval: 1m\n  grants:\n    sysfs: [\"/sys/class/hwmon/**\"]\n    state: true\n    config: true\n  config:\n    sensors: {{\"bench/none\": {{warn: 90, critical: 95}}}}\n",
        component.display()
    )
}
