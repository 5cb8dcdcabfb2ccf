//! The answer of `GET /containers/json` of the Docker Engine's API.

use std::collections::BTreeMap;

use gpud_builtin_shared::listing::{self, List};
use gpud_sdk::incidents::clip;
use serde::{Deserialize, Serialize};

/// Containers that are taken; the rest is counted.
const MAX_CONTAINERS: usize = 10_000;
/// Names of one container that are taken.
const MAX_NAMES: usize = 16;
/// The states that the API knows.
const STATES: [&str; 7] = [
    "created",
    "running",
    "paused",
    "restarting",
    "removing",
    "exited",
    "dead",
];

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    names: List<String, MAX_NAMES>,
    #[serde(default)]
    image: String,
    #[serde(default)]
    created: i64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    labels: Option<Labels>,
}

/// Set by the kubelet's shim for Docker. All others are skipped.
#[derive(Deserialize)]
struct Labels {
    #[serde(default, rename = "io.kubernetes.pod.name")]
    pod_name: String,
    #[serde(default, rename = "io.kubernetes.pod.namespace")]
    pod_namespace: String,
}

/// A container, in the words of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    image: String,
    #[serde(skip_serializing_if = "is_zero")]
    created_at: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pod_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pod_namespace: String,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// All containers of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Containers {
    /// How many there are in each state.
    pub by_state: BTreeMap<&'static str, u64>,
    /// Those that a document has room for.
    pub shown: Vec<Container>,
    /// How many it has no room for.
    pub left_out: usize,
}

impl Containers {
    /// Reads the body.
    ///
    /// # Errors
    /// In words, when it is not what the API answers.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let list: List<Listed, MAX_CONTAINERS> =
            serde_json::from_slice(body).map_err(|error| format!("/containers/json: {error}"))?;
        let mut by_state: BTreeMap<&str, u64> = STATES.map(|state| (state, 0)).into();
        let mut containers = Vec::with_capacity(list.items.len());
        for listed in list.items {
            let known = STATES.into_iter().find(|state| *state == listed.state);
            *by_state.entry(known.unwrap_or("other")).or_default() += 1;
            containers.push(Container::of(listed));
        }
        let (shown, left_out) = listing::fitting(containers);
        Ok(Self {
            by_state,
            shown,
            left_out: left_out + list.more,
        })
    }
}

impl Container {
    fn of(listed: Listed) -> Self {
        let labels = listed.labels;
        let (pod_name, pod_namespace) = labels
            .map(|labels| (labels.pod_name, labels.pod_namespace))
            .unwrap_or_default();
        let short = |text: &str| clip(text).to_owned();
        Self {
            id: short(&listed.id),
            name: short(&listed.names.items.join(",")),
            image: short(&listed.image),
            created_at: listed.created,
            state: short(&listed.state),
            pod_name: short(&pod_name),
            pod_namespace: short(&pod_namespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of a Docker 20.10.24 (Debian's) with one running and one created container.
    const CAPTURED: &str = include_str!("captured/containers.json");

    #[test]
    fn a_real_answer() {
        let found = Containers::parse(CAPTURED.as_bytes()).unwrap();
        assert_eq!(
            (found.by_state["running"], found.by_state["created"]),
            (1, 1)
        );
        assert_eq!(found.by_state["exited"], 0);
        let document = serde_json::to_string(&found.shown).unwrap();
        let expected = concat!(
            r#"[{"id":"a40fb92f32f414c747c3b245265bd2db3cd412b01a0434ed12ea67807f679bd2","name":"/idle","#,
            r#""image":"local/pause:1","created_at":1795344586,"state":"created"},"#,
            r#"{"id":"b0e48d2ac1e4977e7bd893f3888a09372ae0e7a3bce98ce8ad4e6e4e5f09085d","name":"/web","#,
            r#""image":"local/pause:1","created_at":1795344577,"state":"running","#,
            r#""pod_name":"web-0","pod_namespace":"prod"}]"#
        );
        assert_eq!(document, expected);
    }

    #[test]
    fn shapes() {
        for (body, count) in [
            ("[]", Some(0)),
            ("null", Some(0)),
            (r#"[{"Id":"a","Names":null,"Labels":null}]"#, Some(1)),
            (
                r#"[{"Id":"a","State":"levitating","More":[1,{}]}]"#,
                Some(1),
            ),
            (r#"[{"Names":[]}]"#, None),
            (r#"[{"Id":5}]"#, None),
            (r#"[{"Id":"a","Names":"b"}]"#, None),
            (r#"[{"Id":"a","Created":"now"}]"#, None),
            (r#"{"message":"page not found"}"#, None),
            ("[{\"Id\":\"a\"},", None),
            ("<html></html>", None),
            ("", None),
        ] {
            let found = Containers::parse(body.as_bytes());
            assert_eq!(
                found.as_ref().ok().map(|found| found.shown.len()),
                count,
                "{body}"
            );
        }
        let odd = Containers::parse(br#"[{"Id":"a","State":"levitating"}]"#).unwrap();
        assert_eq!(odd.by_state["other"], 1);
    }

    #[test]
    fn many_and_long_ones_are_bounded() {
        let one = format!(
            r#"{{"Id":"{}","Image":"{}"}}"#,
            "a".repeat(64),
            "é".repeat(5_000)
        );
        let body = format!("[{}]", vec![one; 300].join(","));
        let found = Containers::parse(body.as_bytes()).unwrap();
        assert_eq!(found.shown.len() + found.left_out, 300);
        assert!(serde_json::to_string(&found.shown).unwrap().len() < 60_000);
        let body = format!("[{}]", vec![r#"{"Id":"a"}"#; MAX_CONTAINERS + 5].join(","));
        let found = Containers::parse(body.as_bytes()).unwrap();
        assert_eq!(found.shown.len() + found.left_out, MAX_CONTAINERS + 5);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(at in 0..CAPTURED.len(), with in any::<u8>(), cut in 0..CAPTURED.trim_end().len()) {
            let mut body = CAPTURED.as_bytes().to_vec();
            body[at] = with;
            let _ = Containers::parse(&body);
            prop_assert!(Containers::parse(&CAPTURED.as_bytes()[..cut]).is_err());
        }
    }
}
