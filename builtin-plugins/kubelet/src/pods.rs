//! The answer of `GET /pods` of the kubelet's read-only port: a `PodList` of Kubernetes' API, v1.

use std::collections::BTreeMap;

use gpud_builtin_shared::listing::{self, List};
use gpud_sdk::incidents::clip;
use serde::{Deserialize, Serialize};

/// Pods that are taken; the kubelet's own limit is 110 by default.
const MAX_PODS: usize = 5_000;
/// Phases that the API knows.
const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

#[derive(Deserialize)]
struct PodList {
    kind: String,
    #[serde(default)]
    items: List<Item, MAX_PODS>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    uid: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Pod {
    namespace: String,
    name: String,
    id: String,
    phase: String,
}

/// All pods of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pods {
    /// How many there are in each phase.
    pub by_phase: BTreeMap<&'static str, u64>,
    /// Those that a document has room for, by namespace and name.
    pub shown: Vec<Pod>,
    /// How many it has no room for.
    pub left_out: usize,
}

impl Pods {
    /// Reads the body.
    ///
    /// # Errors
    /// In words, when it is no list of pods.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let list: PodList =
            serde_json::from_slice(body).map_err(|error| format!("/pods: {error}"))?;
        if list.kind != "PodList" {
            return Err(format!(
                "/pods: a list of pods was expected, not {:?}",
                clip(&list.kind)
            ));
        }
        let mut by_phase: BTreeMap<&str, u64> = PHASES.map(|phase| (phase, 0)).into();
        let mut pods = Vec::with_capacity(list.items.items.len());
        for Item { metadata, status } in list.items.items {
            let known = PHASES.into_iter().find(|phase| *phase == status.phase);
            *by_phase.entry(known.unwrap_or("Unknown")).or_default() += 1;
            let short = |text: &str| clip(text).to_owned();
            pods.push(Pod {
                namespace: short(&metadata.namespace),
                name: short(&metadata.name),
                id: short(&metadata.uid),
                phase: short(&status.phase),
            });
        }
        pods.sort();
        let (shown, left_out) = listing::fitting(pods);
        Ok(Self {
            by_phase,
            shown,
            left_out: left_out + list.items.more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// After the documented shape of the API; not captured.
    const LIST: &str = include_str!("fixtures/pods.json");

    #[test]
    fn a_list() {
        let pods = Pods::parse(LIST.as_bytes()).unwrap();
        assert_eq!((pods.by_phase["Running"], pods.by_phase["Pending"]), (2, 1));
        assert_eq!((pods.by_phase["Failed"], pods.left_out), (0, 0));
        let document = serde_json::to_string(&pods.shown[..2]).unwrap();
        let expected = concat!(
            r#"[{"namespace":"default","name":"train-0","#,
            r#""id":"0c5b5b0e-7a55-4c7f-9d0b-2f6c0f1f1a02","phase":"Pending"},"#,
            r#"{"namespace":"gpu-operator","name":"nvidia-device-plugin-daemonset-4tq8z","#,
            r#""id":"5f1f6f9e-46a2-4f4c-8d53-70dc0d0d8c11","phase":"Running"}]"#
        );
        assert_eq!(document, expected);
    }

    #[test]
    fn shapes() {
        for (body, count) in [
            (r#"{"kind":"PodList","items":null}"#, Some(0)),
            (r#"{"kind":"PodList"}"#, Some(0)),
            (
                r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}}]}"#,
                Some(1),
            ),
            (
                r#"{"kind":"PodList","items":[{"metadata":{"name":5}}]}"#,
                None,
            ),
            (r#"{"kind":"PodList","items":[{}]}"#, None),
            (r#"{"kind":"PodList","items":{}}"#, None),
            (r#"{"kind":"Status","status":"Failure"}"#, None),
            ("{}", None),
            ("[]", None),
            ("<html>", None),
            ("", None),
        ] {
            let pods = Pods::parse(body.as_bytes());
            assert_eq!(pods.ok().map(|pods| pods.shown.len()), count, "{body}");
        }
    }

    #[test]
    fn many_are_bounded() {
        let one = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "a".repeat(3_000));
        let body = format!(
            r#"{{"kind":"PodList","items":[{}]}}"#,
            vec![one; 500].join(",")
        );
        let pods = Pods::parse(body.as_bytes()).unwrap();
        assert_eq!(pods.shown.len() + pods.left_out, 500);
        assert!(serde_json::to_string(&pods.shown).unwrap().len() < 60_000);
    }

    proptest! {
        #[test]
        fn changed_answers_are_survived(at in 0..LIST.len(), with in any::<u8>(), cut in 0..LIST.trim_end().len()) {
            let mut body = LIST.as_bytes().to_vec();
            body[at] = with;
            let _ = Pods::parse(&body);
            prop_assert!(Pods::parse(&LIST.as_bytes()[..cut]).is_err());
        }
    }
}
