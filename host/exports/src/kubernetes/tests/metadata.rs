//! Labels, annotations and the taint.

use serde_json::{Value, json};

use super::{
    super::{
        desired_state,
        verdicts::{self, ConditionStatus},
        view::NodeView,
    },
    *,
};
use crate::{GpuIdentity, Inventory};

fn gpus(serials: &[&str], chassis: &str) -> Inventory {
    let gpu = |(index, serial): (usize, &&str)| GpuIdentity {
        index: u32::try_from(index).unwrap(),
        serial: (*serial).to_owned(),
        ..GpuIdentity::default()
    };
    Inventory {
        chassis_serial: chassis.into(),
        gpus: serials.iter().enumerate().map(gpu).collect(),
        ..Inventory::default()
    }
}

#[test]
fn inventory_becomes_labels() {
    for (yaml, inventory, expected) in [
        (
            "{}",
            gpus(&["1", "2"], "C1"),
            json!({"gpuid.github.com/gpu-0": "1", "gpuid.github.com/gpu-1": "2", "gpuid.github.com/chassis": "C1"}),
        ),
        (
            "{}",
            gpus(&["1", "1", "2", "2"], ""),
            json!({"gpuid.github.com/gpu-0": "1", "gpuid.github.com/gpu-1": "2"}),
        ),
        (
            "label_prefix: example.com",
            gpus(&["", "no label", "3"], "not a label"),
            json!({"example.com/gpu-0": "3"}),
        ),
        ("labels: false", gpus(&["1"], "C1"), Value::Null),
        ("{}", Inventory::default(), Value::Null),
    ] {
        let snapshot = Snapshot {
            inventory,
            ..Snapshot::default()
        };
        let view = NodeView::default();
        let metadata = desired_state::metadata(&view, &snapshot, &settings(yaml), None);
        let labels = metadata.map_or(Value::Null, |body| body["metadata"]["labels"].clone());
        assert_eq!(labels, expected, "{yaml}");
    }
}

/// Gives a node labels or annotations of gpud.
fn owning(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> NodeView {
    let pairs = |list: &[(&str, &str)]| {
        let pairs = list
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        pairs.collect::<std::collections::BTreeMap<_, _>>()
    };
    let mut view = NodeView::default();
    view.own.labels = pairs(labels).into_keys().collect();
    view.own.annotations = pairs(annotations).into_keys().collect();
    view.labels = pairs(labels);
    view.annotations = pairs(annotations);
    view
}

#[test]
fn labels_stay_while_the_driver_is_silent_and_old_ones_go() {
    let snapshot = |inventory| Snapshot {
        inventory,
        ..Snapshot::default()
    };
    let metadata = |view: &NodeView, inventory, yaml: &str| {
        let body = desired_state::metadata(view, &snapshot(inventory), &settings(yaml), None);
        body.map(|body| body["metadata"]["labels"].clone())
    };
    let view = owning(
        &[
            ("gpuid.github.com/gpu-0", "1"),
            ("gpuid.github.com/gpu-1", "2"),
        ],
        &[],
    );
    assert_eq!(metadata(&view, Inventory::default(), "{}"), None);
    assert_eq!(metadata(&view, gpus(&["1", "2"], ""), "{}"), None);
    assert_eq!(
        metadata(&view, gpus(&["1"], ""), "{}"),
        Some(json!({"gpuid.github.com/gpu-0": "1"}))
    );
    assert_eq!(
        metadata(&view, Inventory::default(), "label_prefix: a.b"),
        Some(json!({}))
    );
    let mut changed = view.clone();
    changed
        .labels
        .insert("gpuid.github.com/gpu-0".into(), "9".into());
    assert!(metadata(&changed, gpus(&["1", "2"], ""), "{}").is_some());
}

#[test]
fn the_suggested_action_is_an_annotation() {
    let annotations = |view: &NodeView, snapshot: &Snapshot, summary| {
        let body = desired_state::metadata(view, snapshot, &settings("{}"), Some(summary));
        body.map(|body| body["metadata"]["annotations"].clone())
    };
    let bare = NodeView::default();
    let expected = json!({
        "gpud.dev/suggested-action": "REBOOT_SYSTEM",
        "gpud.dev/suggested-action-for": "accelerator-nvidia-error-xid gpu/GPU-1",
    });
    assert_eq!(
        annotations(&bare, &xid(), ConditionStatus::False),
        Some(expected)
    );
    let marked = owning(&[], &[("gpud.dev/suggested-action", "REBOOT_SYSTEM")]);
    assert_eq!(
        annotations(&marked, &xid_gone(), ConditionStatus::True),
        Some(json!({}))
    );
    let waiting = one(XID, Health::Initializing);
    assert_eq!(
        annotations(&marked, &waiting, ConditionStatus::Unknown),
        None
    );
}

#[test]
fn the_strongest_action_of_all_is_suggested() {
    let with = |action: &str| HealthView {
        suggested_actions: vec![action.into()],
        ..state(Health::Degraded, "", None)
    };
    for (first, second, expected) in [
        ("CHECK_USER_APP_AND_GPU", "REBOOT_SYSTEM", Some("b")),
        ("HARDWARE_INSPECTION", "REBOOT_SYSTEM", Some("a")),
        ("REBOOT_SYSTEM", "REBOOT_SYSTEM", Some("a")),
        ("IGNORE_NO_ACTION_REQUIRED", "", None),
        ("NEW_WORD", "CHECK_USER_APP_AND_GPU", Some("a")),
    ] {
        let snapshot = snapshot(&[("a", &[with(first)]), ("b", &[with(second)])]);
        let about = verdicts::action(&snapshot).map(|(_, about)| about);
        assert_eq!(about.as_deref(), expected, "{first} {second}");
    }
}

#[test]
fn the_taint_comes_and_goes_and_others_stay() {
    use ConditionStatus::{False, True, Unknown};
    let own = json!({"key": "gpud.dev/unhealthy", "effect": "NoSchedule"});
    let other = json!({"key": "a", "effect": "NoExecute", "timeAdded": "2026-09-21T14:13:20Z"});
    let stronger = json!({"key": "gpud.dev/unhealthy", "effect": "NoExecute"});
    let key = "taint: gpud.dev/unhealthy";
    for (yaml, marked, there, summary, expected) in [
        (key, false, vec![&other], False, Some(vec![&other, &own])),
        (key, true, vec![&own, &other], False, None),
        (key, true, vec![&own, &other], True, Some(vec![&other])),
        (key, true, vec![&own], Unknown, None),
        (key, false, vec![&other], Unknown, None),
        (key, false, vec![], True, None),
        // Somebody else's, with a stronger effect.
        (key, false, vec![&stronger], True, None),
        ("{}", false, vec![&other], False, None),
        ("{}", false, vec![&own], False, None),
        // The key was taken out of the settings, or changed.
        ("{}", true, vec![&own, &other], False, Some(vec![&other])),
        ("{}", true, vec![&own], Unknown, Some(vec![])),
    ] {
        let mut view = match marked {
            true => owning(&[], &[("gpud.dev/taint", "gpud.dev/unhealthy")]),
            false => NodeView::default(),
        };
        view.taints = there.into_iter().cloned().collect();
        view.resource_version = "120".into();
        let patch = desired_state::taints(&view, &settings(yaml), Some(summary));
        let found = patch.map(|patch| {
            assert_eq!(patch["metadata"]["resourceVersion"], "120");
            patch["spec"]["taints"].clone()
        });
        assert_eq!(
            found,
            expected.map(|taints| json!(taints)),
            "{yaml} {summary:?}"
        );
    }
}
