//! Answers of the Container Runtime Interface, `runtime.v1.RuntimeService`.
//!
//! Source: `api.proto` of Kubernetes' cri-api, v1; numbers of fields stand with the code that reads them.

use gpud_builtin_shared::listing;
use serde::Serialize;

use crate::wire::{self, Malformed};

/// Sandboxes and containers that are taken; the kubelet's own limit is 110 pods by default.
const MAX_ITEMS: usize = 10_000;
/// Containers of one pod in the document.
const MAX_CONTAINERS: usize = 100;
/// Longest name, id or image, bytes.
const MAX_TEXT: usize = 512;

/// A container, in the words of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Its id.
    pub id: String,
    /// Its name within the pod.
    pub name: String,
    /// Its image, as it was asked for.
    pub image: String,
    /// When it was made, nanoseconds since 1970.
    pub created_at: u64,
    /// CRI's name of its state.
    pub state: &'static str,
    #[serde(skip)]
    sandbox: String,
}

/// A pod's sandbox, in the words of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pod {
    /// Its id.
    pub id: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// When it was made, nanoseconds since 1970.
    pub created_at: u64,
    /// CRI's name of its state.
    pub state: &'static str,
    /// Its containers.
    pub containers: Vec<Container>,
}

/// CRI's name of a sandbox that runs.
pub const READY: &str = "SANDBOX_READY";

/// `VersionResponse`: the runtime's version (3), such as `1.7.27`.
///
/// # Errors
/// When the bytes are no message.
pub fn runtime_version(message: &[u8]) -> Result<String, Malformed> {
    let mut version = String::new();
    for field in wire::fields(message) {
        if let (3, value) = field? {
            version = value.text(MAX_TEXT);
        }
    }
    Ok(version)
}

/// `ListPodSandboxResponse` (items: 1) and `ListContainersResponse` (containers: 1), put together: pods by namespace
/// and name, each with its containers in the order of the answer. Containers of other sandboxes are dropped.
///
/// # Errors
/// When the bytes are no messages.
pub fn pods(sandboxes: &[u8], containers: &[u8]) -> Result<Vec<Pod>, Malformed> {
    let mut pods = items(sandboxes, pod)?;
    pods.sort_by(|a, b| (&a.namespace, &a.name, &a.id).cmp(&(&b.namespace, &b.name, &b.id)));
    let mut by_id: std::collections::BTreeMap<String, Vec<Container>> = pods
        .iter()
        .map(|pod| (pod.id.clone(), Vec::new()))
        .collect();
    for container in items(containers, container)? {
        if let Some(own) = by_id.get_mut(&container.sandbox)
            && own.len() < MAX_CONTAINERS
        {
            own.push(container);
        }
    }
    for pod in &mut pods {
        pod.containers = by_id.remove(&pod.id).unwrap_or_default();
    }
    Ok(pods)
}

/// The pods that a document has room for, and how many it has not.
pub fn shown(pods: Vec<Pod>) -> (Vec<Pod>, usize) {
    listing::fitting(pods)
}

fn items<T>(
    message: &[u8],
    read: impl Fn(&[u8]) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    for field in wire::fields(message) {
        if let (1, value) = field?
            && items.len() < MAX_ITEMS
        {
            items.push(read(value.bytes())?);
        }
    }
    Ok(items)
}

fn pod(message: &[u8]) -> Result<Pod, Malformed> {
    let mut pod = Pod {
        id: String::new(),
        namespace: String::new(),
        name: String::new(),
        created_at: 0,
        // The enumeration's 0, which is not sent.
        state: READY,
        containers: Vec::new(),
    };
    for field in wire::fields(message) {
        match field? {
            (1, value) => pod.id = value.text(MAX_TEXT),
            (2, metadata) => {
                for field in wire::fields(metadata.bytes()) {
                    match field? {
                        (1, value) => pod.name = value.text(MAX_TEXT),
                        (3, value) => pod.namespace = value.text(MAX_TEXT),
                        _ => {}
                    }
                }
            }
            (3, value) if value.number() != 0 => pod.state = "SANDBOX_NOTREADY",
            (4, value) => pod.created_at = value.number(),
            _ => {}
        }
    }
    Ok(pod)
}

fn container(message: &[u8]) -> Result<Container, Malformed> {
    let mut container = Container {
        id: String::new(),
        name: String::new(),
        image: String::new(),
        created_at: 0,
        state: "CONTAINER_CREATED",
        sandbox: String::new(),
    };
    for field in wire::fields(message) {
        match field? {
            (1, value) => container.id = value.text(MAX_TEXT),
            (2, value) => container.sandbox = value.text(MAX_TEXT),
            (3, metadata) => container.name = first_text(metadata.bytes())?,
            (4, image) => container.image = first_text(image.bytes())?,
            (6, value) => {
                container.state = match value.number() {
                    0 => "CONTAINER_CREATED",
                    1 => "CONTAINER_RUNNING",
                    2 => "CONTAINER_EXITED",
                    _ => "CONTAINER_UNKNOWN",
                }
            }
            (7, value) => container.created_at = value.number(),
            _ => {}
        }
    }
    Ok(container)
}

/// The text in field 1 of a message.
fn first_text(message: &[u8]) -> Result<String, Malformed> {
    let mut text = String::new();
    for field in wire::fields(message) {
        if let (1, value) = field? {
            text = value.text(MAX_TEXT);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of a containerd 1.6.20 (Debian's) with two sandboxes, one stopped, and one container.
    const VERSION: &[u8] = include_bytes!("captured/cri-version.bin");
    const SANDBOXES: &[u8] = include_bytes!("captured/cri-sandboxes.bin");
    const CONTAINERS: &[u8] = include_bytes!("captured/cri-containers.bin");

    #[test]
    fn real_answers() {
        assert_eq!(runtime_version(VERSION), Ok("1.6.20~ds1".to_owned()));
        let pods = pods(SANDBOXES, CONTAINERS).unwrap();
        let document = serde_json::to_string(&pods).unwrap();
        let expected = concat!(
            r#"[{"id":"d5eba66a241f2cb75827506700c9592ba1671e4ed315a4f6ca162a4bb53942fa","#,
            r#""namespace":"gpu-operator","name":"nvidia-container-toolkit-daemonset-x7k2p","#,
            r#""created_at":1795344648360261940,"state":"SANDBOX_READY","containers":["#,
            r#"{"id":"de1e3be05fb52bb803efc0a744bf2e31cf414df8f559dc87fff1dd96e43b7247","#,
            r#""name":"ctr-main","image":"docker.io/local/pause:1","created_at":1795344651149136912,"#,
            r#""state":"CONTAINER_RUNNING"}]},"#,
            r#"{"id":"aaf90970a5f171d401f2602645e41b9409aa2ff9b785f8341c4296c41656d509","#,
            r#""namespace":"kube-system","name":"coredns-0","created_at":1795344649442487740,"#,
            r#""state":"SANDBOX_NOTREADY","containers":[]}]"#
        );
        assert_eq!(document, expected);
    }

    #[test]
    fn nonsense() {
        assert_eq!(pods(b"", b""), Ok(Vec::new()));
        assert_eq!(pods(b"<html></html>", b""), Err(Malformed));
        assert_eq!(pods(SANDBOXES, b"{}"), Err(Malformed));
        assert_eq!(runtime_version(b"\x1a\x05abc"), Err(Malformed));
        // A sandbox that is a number, and one whose name is.
        assert_eq!(pods(b"\x08\x05", b"").unwrap().len(), 1);
        assert_eq!(pods(b"\x0a\x04\x12\x02\x08\x05", b"").unwrap()[0].name, "");
        // A container of no sandbox.
        assert!(pods(b"", CONTAINERS).unwrap().is_empty());
    }

    #[test]
    fn many_are_bounded() {
        let answer = SANDBOXES.repeat(300);
        let pods = pods(&answer, CONTAINERS).unwrap();
        assert_eq!(pods.len(), 600);
        let (shown, left_out) = shown(pods);
        assert_eq!(shown.len() + left_out, 600);
        assert!(serde_json::to_string(&shown).unwrap().len() < 60_000);
        assert!(super::pods(&b"\x0a\x00".repeat(20_000), b"").unwrap().len() <= MAX_ITEMS);
    }

    proptest! {
        #[test]
        fn changed_answers_are_survived(at in 0..SANDBOXES.len(), with in any::<u8>(), cut in 0..SANDBOXES.len()) {
            let mut answer = SANDBOXES.to_vec();
            answer[at] = with;
            let _ = pods(&answer, CONTAINERS);
            let _ = pods(CONTAINERS, &answer);
            let _ = pods(&answer[..cut], &answer);
            let _ = runtime_version(&answer);
        }
    }
}
