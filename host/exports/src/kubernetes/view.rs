//! The node as the API server has it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::UnixMillis;

/// The name under which gpud owns fields.
pub const FIELD_MANAGER: &str = "gpud";

/// The parts of a node that matter here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeView {
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// All taints, each as it is there.
    pub taints: Vec<Value>,
    /// All conditions, by type.
    pub conditions: BTreeMap<String, ConditionView>,
    /// The fields that gpud has applied.
    pub own: OwnFields,
}

/// The fields of a node that belong to [`FIELD_MANAGER`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnFields {
    /// Types of conditions.
    pub conditions: BTreeSet<String>,
    /// Keys of labels.
    pub labels: BTreeSet<String>,
    /// Keys of annotations.
    pub annotations: BTreeSet<String>,
}

/// A condition as it is there.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionView {
    #[serde(rename = "type")]
    kind: String,
    pub status: String,
    pub reason: String,
    pub message: String,
    pub last_heartbeat_time: Option<String>,
    pub last_transition_time: Option<String>,
}

impl ConditionView {
    /// Returns when it was written last.
    pub fn heartbeat(&self) -> Option<UnixMillis> {
        let time: jiff::Timestamp = self.last_heartbeat_time.as_deref()?.parse().ok()?;
        u64::try_from(time.as_millisecond()).ok()
    }
}

#[derive(Deserialize)]
struct NodeObject {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    uid: String,
    resource_version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    managed_fields: Vec<ManagedFields>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFields {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    fields_v1: Value,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    taints: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    conditions: Vec<ConditionView>,
}

impl NodeView {
    /// Reads a node as the API gives it.
    ///
    /// # Errors
    /// It is no node.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let node: NodeObject = serde_json::from_slice(json)?;
        let conditions = node.status.conditions.into_iter();
        Ok(Self {
            name: node.metadata.name,
            uid: node.metadata.uid,
            resource_version: node.metadata.resource_version,
            labels: node.metadata.labels,
            annotations: node.metadata.annotations,
            taints: node.spec.taints,
            conditions: conditions.map(|one| (one.kind.clone(), one)).collect(),
            own: OwnFields::of(&node.metadata.managed_fields),
        })
    }
}

impl OwnFields {
    fn of(entries: &[ManagedFields]) -> Self {
        let mut own = Self::default();
        let applied = entries
            .iter()
            .filter(|entry| entry.manager == FIELD_MANAGER && entry.operation == "Apply");
        for entry in applied {
            let keys = |pointer: &str| {
                let object = entry.fields_v1.pointer(pointer).and_then(Value::as_object);
                object.into_iter().flat_map(|object| object.keys())
            };
            let field = |key: &String| key.strip_prefix("f:").map(str::to_owned);
            own.labels
                .extend(keys("/f:metadata/f:labels").filter_map(field));
            own.annotations
                .extend(keys("/f:metadata/f:annotations").filter_map(field));
            // An item of the list is `k:{"type":"…"}`.
            own.conditions
                .extend(keys("/f:status/f:conditions").filter_map(|key| {
                    let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
                    key.get("type")?.as_str().map(str::to_owned)
                }));
        }
        own
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A node with conditions of gpud and of others, as API server 1.34 gives it.
    pub const NODE: &str = r#"{
      "kind": "Node", "apiVersion": "v1",
      "metadata": {
        "name": "node-7", "uid": "4f1e", "resourceVersion": "120",
        "labels": {"kubernetes.io/hostname": "node-7", "gpuid.github.com/gpu-0": "1"},
        "annotations": {"gpud.dev/suggested-action": "REBOOT_SYSTEM"},
        "managedFields": [
          {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
           "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {"f:status": {}}}}}, "subresource": "status"},
          {"manager": "gpud", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
           "fieldsV1": {"f:metadata": {"f:annotations": {"f:gpud.dev/suggested-action": {}}, "f:labels": {"f:gpuid.github.com/gpu-0": {}}}}},
          {"manager": "gpud", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
           "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"GpudHealthy\"}": {".": {}, "f:status": {}, "f:type": {}}}}}, "subresource": "status"}
        ]
      },
      "spec": {"taints": [{"key": "other", "effect": "NoExecute", "timeAdded": "2026-09-21T14:13:20Z"}]},
      "status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "KubeletReady"},
        {"type": "GpudHealthy", "status": "False", "reason": "Unhealthy", "message": "xid: gone",
         "lastHeartbeatTime": "2026-09-21T14:13:20Z", "lastTransitionTime": "2026-09-21T14:00:00Z"}
      ]}
    }"#;

    #[test]
    fn a_node_is_read_with_what_belongs_to_gpud() {
        let view = NodeView::parse(NODE.as_bytes()).unwrap();
        assert_eq!(view.uid, "4f1e");
        assert_eq!(view.own.conditions, BTreeSet::from(["GpudHealthy".into()]));
        assert_eq!(
            view.own.labels,
            BTreeSet::from(["gpuid.github.com/gpu-0".into()])
        );
        assert_eq!(
            view.own.annotations,
            BTreeSet::from(["gpud.dev/suggested-action".into()])
        );
        assert_eq!(view.conditions.len(), 2);
        let healthy = &view.conditions["GpudHealthy"];
        assert_eq!(healthy.heartbeat(), Some(1_790_000_000_000));
        assert_eq!(view.taints[0]["timeAdded"], "2026-09-21T14:13:20Z");
    }

    #[test]
    fn a_bare_node_is_read_and_garbage_is_refused() {
        let bare = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}"#;
        assert_eq!(
            NodeView::parse(bare.as_bytes()).unwrap().own,
            OwnFields::default()
        );
        for bad in ["", "{}", "<html>", "[1]", r#"{"metadata":{}}"#] {
            assert!(NodeView::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
