//! Labels, annotations and the taint of a node.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    settings::{Settings, is_label_value},
    verdicts::{self, ConditionStatus},
    view::NodeView,
};
use crate::{Inventory, Snapshot};

/// The most important suggested action.
const ACTION: &str = "gpud.dev/suggested-action";
/// The component and the part that it is for.
const ACTION_FOR: &str = "gpud.dev/suggested-action-for";
/// The key of the taint that gpud has set.
const TAINT: &str = "gpud.dev/taint";
/// The only effect that gpud uses: running pods go on.
const EFFECT: &str = "NoSchedule";

/// Returns labels and annotations to apply, if the server has others.
pub fn metadata(
    view: &NodeView,
    snapshot: &Snapshot,
    settings: &Settings,
    summary: Option<ConditionStatus>,
) -> Option<Value> {
    let labels = labels(view, &snapshot.inventory, settings);
    let mut annotations = BTreeMap::new();
    match verdicts::action(snapshot) {
        Some((action, about)) => {
            annotations.insert(ACTION.to_owned(), action);
            annotations.insert(ACTION_FOR.to_owned(), about);
        }
        // The verdict is not known yet: the present taint stays.
        None if summary == Some(ConditionStatus::Unknown) => {
            annotations.extend(own_annotations(view, &[ACTION, ACTION_FOR]));
        }
        None => {}
    }
    match (&settings.taint, summary) {
        (Some(key), Some(ConditionStatus::False)) => {
            annotations.insert(TAINT.to_owned(), key.clone());
        }
        (Some(_), Some(ConditionStatus::Unknown)) => {
            annotations.extend(own_annotations(view, &[TAINT]));
        }
        _ => {}
    }
    let is_there = |own: &BTreeSet<String>,
                    known: &BTreeMap<String, String>,
                    wanted: &BTreeMap<String, String>| {
        own.iter().eq(wanted.keys())
            && wanted
                .iter()
                .all(|(key, value)| known.get(key) == Some(value))
    };
    if is_there(&view.own.labels, &view.labels, &labels)
        && is_there(&view.own.annotations, &view.annotations, &annotations)
    {
        return None;
    }
    Some(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": view.name, "uid": view.uid, "labels": labels, "annotations": annotations},
    }))
}

fn own_annotations(view: &NodeView, keys: &[&str]) -> BTreeMap<String, String> {
    let own = keys
        .iter()
        .filter(|key| view.own.annotations.contains(**key));
    own.filter_map(|key| Some(((*key).to_owned(), view.annotations.get(*key)?.clone())))
        .collect()
}

/// Returns the inventory as labels. One that is not known leaves those that are there.
fn labels(view: &NodeView, inventory: &Inventory, settings: &Settings) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    if !settings.labels {
        return labels;
    }
    let prefix = &settings.label_prefix;
    if inventory.gpus.is_empty() {
        let is_ours = |key: &&String| {
            key.strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let own = view.own.labels.iter().filter(is_ours);
        labels.extend(own.filter_map(|key| Some((key.clone(), view.labels.get(key)?.clone()))));
        return labels;
    }
    // The dies of a module share its serial number, which is shown once.
    let mut seen = BTreeSet::new();
    let serials = inventory.gpus.iter().map(|gpu| gpu.serial.as_str());
    let serials = serials.filter(|serial| is_label_value(serial) && seen.insert(*serial));
    for (number, serial) in serials.enumerate() {
        labels.insert(format!("{prefix}/gpu-{number}"), serial.to_owned());
    }
    if is_label_value(&inventory.chassis_serial) {
        let chassis = inventory.chassis_serial.clone();
        labels.insert(format!("{prefix}/chassis"), chassis);
    }
    labels
}

/// Returns the merge patch of the taints, if the server has others than wanted. A node whose health is not known keeps
/// what it has.
///
/// The list of taints has no keys for server-side apply, so it is replaced as a whole, under the version that was read.
pub fn taints(
    view: &NodeView,
    settings: &Settings,
    summary: Option<ConditionStatus>,
) -> Option<Value> {
    let key = settings.taint.as_deref();
    let marked = view
        .annotations
        .get(TAINT)
        .filter(|_| view.own.annotations.contains(TAINT))
        .map(String::as_str);
    let is_wanted = match summary {
        Some(ConditionStatus::False) => true,
        Some(ConditionStatus::True) => false,
        _ if key.is_some() => return None,
        _ => false,
    };
    let wanted = key.filter(|_| is_wanted);
    let of = |taint: &Value, wanted: Option<&str>| {
        wanted.is_some()
            && taint.get("key").and_then(Value::as_str) == wanted
            && taint.get("effect").and_then(Value::as_str) == Some(EFFECT)
    };
    let is_there = view.taints.iter().any(|taint| of(taint, wanted));
    let is_old = |taint: &Value| !of(taint, wanted) && (of(taint, key) || of(taint, marked));
    if is_there == wanted.is_some() && !view.taints.iter().any(is_old) {
        return None;
    }
    let mut taints: Vec<Value> = view
        .taints
        .iter()
        .filter(|taint| !is_old(taint))
        .cloned()
        .collect();
    if let (Some(key), false) = (wanted, is_there) {
        taints.push(json!({"key": key, "effect": EFFECT}));
    }
    Some(json!({
        "metadata": {"uid": view.uid, "resourceVersion": view.resource_version},
        "spec": {"taints": taints},
    }))
}
