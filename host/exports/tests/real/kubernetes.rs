//! The export to Kubernetes against a real API server, which `tests/kubernetes/server.py` starts.

use std::{path::PathBuf, time::Duration};

use gpud_exports::{
    ComponentHealth, GpuIdentity, Health, HealthView, Inventory, Snapshot,
    http::{Http, Tls, send_for},
};
use serde_json::Value;

use crate::server::{Bench, any_peer, node};

const XID: &str = "accelerator-nvidia-error-xid";
const TAINT: &str = "gpud.dev/unhealthy";

fn snapshot(health: Health) -> Snapshot {
    let is_bad = health.is_bad();
    let state = HealthView {
        name: "error_xid".into(),
        health,
        reason: if is_bad {
            "XID 79 GPU has fallen off the bus"
        } else {
            ""
        }
        .into(),
        suggested_actions: is_bad
            .then(|| "REBOOT_SYSTEM".to_owned())
            .into_iter()
            .collect(),
        subject: None,
        since: 0,
    };
    let gpu = |index| GpuIdentity {
        index,
        serial: format!("16509230002{:02}", index / 2),
        ..GpuIdentity::default()
    };
    Snapshot {
        node: node(),
        components: vec![ComponentHealth {
            component: XID.into(),
            states: vec![state],
        }],
        inventory: Inventory {
            chassis_serial: "C-1".into(),
            gpus: (0..4).map(gpu).collect(),
            ..Inventory::default()
        },
    }
}

/// The API server, as its administrator sees it.
struct Admin {
    client: reqwest::Client,
    folder: PathBuf,
}

impl Admin {
    fn new() -> Self {
        let folder = std::env::var_os("GPUD_TEST_KUBERNETES");
        let folder =
            PathBuf::from(folder.expect("the folder that tests/kubernetes/server.py made"));
        let roots = std::fs::read(folder.join("pki/ca.crt")).unwrap();
        let tls = Tls {
            roots: Some(&roots),
            only_those: true,
            identity: None,
        };
        let client = Http::new("test").client_with(tls, &any_peer()).unwrap();
        Self { client, folder }
    }

    async fn get(&self, path: &str) -> Value {
        let read = |name| std::fs::read_to_string(self.folder.join(name)).unwrap();
        let request = self
            .client
            .get(read("url") + path)
            .bearer_auth(read("admin"));
        let answer = send_for(request, "GET", 4 << 20).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    async fn node(&self) -> Value {
        self.get("/api/v1/nodes/node-7").await
    }

    /// Waits until a condition has a status. Returns the node.
    async fn condition(&self, kind: &str, status: &str) -> Value {
        for _ in 0..1000 {
            let node = self.node().await;
            let conditions = node["status"]["conditions"].as_array().unwrap();
            let mut fitting = conditions.iter();
            if fitting.any(|one| one["type"] == kind && one["status"] == status) {
                return node;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{kind} did not become {status}: {}", self.node().await);
    }
}

/// Shows a fault and its repair, and returns after which time the condition had the fault.
async fn fault_and_repair(admin: &Admin, bench: &Bench) -> Duration {
    let began = std::time::Instant::now();
    bench.exports.show(snapshot(Health::Unhealthy));
    admin.condition("GpudXidError", "True").await;
    let took = began.elapsed();
    bench.says("cluster", "delivered").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let node = admin.condition("GpudHealthy", "False").await;
    let annotations = &node["metadata"]["annotations"];
    assert_eq!(
        annotations["gpud.dev/suggested-action"], "REBOOT_SYSTEM",
        "{node}"
    );
    let taints = node["spec"]["taints"].to_string();
    assert!(
        taints.contains(TAINT) && taints.contains("of-others"),
        "{taints}"
    );
    bench.exports.show(snapshot(Health::Healthy));
    admin.condition("GpudHealthy", "True").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let node = admin.condition("GpudGpuLost", "False").await;
    let taints = node["spec"]["taints"].to_string();
    assert!(
        !taints.contains(TAINT) && taints.contains("of-others"),
        "{taints}"
    );
    assert_eq!(
        node["metadata"]["annotations"]["gpud.dev/suggested-action"],
        Value::Null
    );
    took
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it needs an API server: tests/kubernetes/server.py"]
async fn the_node_shows_a_fault_and_its_repair() {
    let admin = Admin::new();
    let folder = admin.folder.display();
    let yaml = format!(
        "exports:\n  - {{name: cluster, kind: kubernetes, node: node-7, kubeconfig: '{folder}/kubeconfig', taint: {TAINT}, \
         longest_pause: 500ms}}\n"
    );
    let bench = Bench::new(None);
    bench.apply(&yaml).await;
    bench.exports.show(snapshot(Health::Healthy));
    let node = admin.condition("GpudXidError", "False").await;
    assert_eq!(node["metadata"]["labels"]["of"], "others");
    bench.says("cluster", "delivered").await;
    let labels = admin.node().await["metadata"]["labels"].clone();
    assert_eq!(
        labels["gpuid.github.com/gpu-1"], "1650923000201",
        "{labels}"
    );
    assert_eq!(
        labels["gpuid.github.com/gpu-2"],
        Value::Null,
        "two dies of a module"
    );
    assert_eq!(labels["gpuid.github.com/chassis"], "C-1");

    let mut took = Vec::new();
    for _ in 0..20 {
        took.push(fault_and_repair(&admin, &bench).await);
    }
    took.sort();
    eprintln!(
        "from a snapshot to the condition: median {:?}, longest {:?}",
        took[10], took[19]
    );
    assert!(took[19] < Duration::from_secs(1), "{took:?}");

    let events = admin.get("/api/v1/namespaces/default/events").await;
    let events = events["items"].as_array().unwrap();
    let of_xid: Vec<&Value> = events
        .iter()
        .filter(|one| one["reason"] == "GpudXidError")
        .collect();
    assert_eq!(of_xid.len(), 1, "{events:?}");
    assert_eq!(of_xid[0]["type"], "Warning");

    // The same again after a restart writes nothing.
    let version = admin.node().await["metadata"]["resourceVersion"].clone();
    bench.exports.stop().await;
    bench.apply(&yaml).await;
    bench.says("cluster", "delivered").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(admin.node().await["metadata"]["resourceVersion"], version);
    // A condition that the settings no longer have goes.
    bench
        .apply(&yaml.replace("taint:", "default_conditions: false, taint:"))
        .await;
    for _ in 0..500 {
        let conditions = admin.node().await["status"]["conditions"].clone();
        if conditions.as_array().unwrap().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let conditions = admin.node().await["status"]["conditions"].to_string();
    assert!(
        conditions.contains("Ready") && conditions.contains("GpudHealthy"),
        "{conditions}"
    );
    assert!(!conditions.contains("GpudXidError"), "{conditions}");
    bench.exports.stop().await;
}
