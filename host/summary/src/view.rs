//! A summary as the API serves it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SubjectView;
use crate::{
    model::{Evidence, Health, HealthState},
    wire::MetaTime,
};

/// What all components' latest states amount to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// `Healthy`, `Degraded`, `Unhealthy`, or `Initializing` while nothing is wrong and not all were checked.
    #[serde(serialize_with = "word", deserialize_with = "health")]
    pub verdict: Health,
    /// The verdict for everybody: what is wrong, and what to do.
    pub sentence: String,
    /// Since when the verdict is this one, as far as it is recorded.
    pub since: MetaTime,
    /// Which machine.
    pub machine: MachineView,
    /// How many components are in which health.
    pub counts: Counts,
    /// What is wrong, worst first.
    pub troubles: Vec<Trouble>,
    /// Components in which nothing is wrong.
    pub healthy: Vec<Line>,
    /// Components that were not checked yet.
    pub initializing: Vec<Line>,
    /// Components that have nothing to watch on this machine, and why.
    pub absent: Vec<Line>,
}

/// The machine, in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineView {
    /// Its name.
    pub hostname: String,
    /// The operating system's machine id.
    pub machine_id: String,
    /// Product of the first NVIDIA GPU; empty without one.
    pub gpu_product: String,
    /// How many NVIDIA GPUs there are.
    pub gpu_count: usize,
    /// NVIDIA driver; empty without one.
    pub driver_version: String,
    /// Seconds since it booted; `null` if not known.
    pub uptime_seconds: Option<u64>,
    /// Version of gpud.
    pub gpud_version: String,
}

/// How many components are in which health, each by its worst state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Nothing is wrong.
    pub healthy: usize,
    /// Something needs attention.
    pub degraded: usize,
    /// Something does not work.
    pub unhealthy: usize,
    /// Not checked yet.
    pub initializing: usize,
    /// Nothing to watch on this machine.
    pub absent: usize,
}

impl Counts {
    /// Components that have something to watch here.
    pub fn present(&self) -> usize {
        self.healthy + self.degraded + self.unhealthy + self.initializing
    }
}

/// A component and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The component.
    pub component: String,
    /// Its reason, in words for a person.
    pub reason: String,
}

/// One thing that is wrong, whatever number of components complain about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// Stable while the trouble lasts, such as `gpu:GPU-…`.
    pub id: String,
    /// The subject of the trouble.
    pub subject: SubjectView,
    /// The worst of its states.
    #[serde(serialize_with = "word", deserialize_with = "health")]
    pub health: Health,
    /// When the first of its states began, as far as it is recorded.
    pub since: MetaTime,
    /// What is wrong with the subject, such as `fell off the bus: Xid 79`.
    pub sentence: String,
    /// The same with the subject: `GPU 3 fell off the bus: Xid 79`.
    pub headline: String,
    /// One thing to do; empty if nothing is suggested.
    pub action: String,
    /// What the states suggest, as words of the API, most important first.
    pub repair_actions: Vec<String>,
    /// The states, the one that says most first.
    pub states: Vec<TroubleState>,
}

/// A state that is part of a trouble.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TroubleState {
    /// The component of the state.
    pub component: String,
    /// The state's name.
    pub name: String,
    /// How bad it is.
    #[serde(serialize_with = "word", deserialize_with = "health")]
    pub health: Health,
    /// Why, as the component says it.
    pub reason: String,
    /// The same in words for a person, where the component's are not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub means: String,
    /// The technical error behind it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// What the component advises, in its own words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// When it was judged; `null` for states drawn from stored events.
    pub time: MetaTime,
    /// What it was drawn from.
    pub evidence: Vec<EvidenceView>,
}

/// The evidence of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EvidenceView {
    /// `kmsg` (sequence number of a kernel log record), `file`, `nvml` (a reading) or `other`.
    pub kind: String,
    /// Which one.
    pub text: String,
}

impl TroubleState {
    /// The part of a state that is shown.
    pub(super) fn new(component: &str, state: HealthState, reason: String, means: String) -> Self {
        let advice = state.suggested_actions.unwrap_or_default().description;
        Self {
            component: component.to_owned(),
            name: state.name.unwrap_or_default(),
            health: state.health,
            means: if means == reason {
                String::new()
            } else {
                means
            },
            reason,
            error: state.error.unwrap_or_default(),
            advice,
            time: MetaTime(state.time),
            evidence: state.evidence.into_iter().map(EvidenceView::from).collect(),
        }
    }
}

impl From<Evidence> for EvidenceView {
    fn from(evidence: Evidence) -> Self {
        let (kind, text) = match evidence {
            Evidence::Kmsg(sequence) => ("kmsg", sequence.to_string()),
            Evidence::File(path) => ("file", path),
            Evidence::Nvml(reading) => ("nvml", reading),
            Evidence::Other(text) => ("other", text),
        };
        Self {
            kind: kind.to_owned(),
            text,
        }
    }
}

fn word<S: Serializer>(health: &Health, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(health.as_str())
}

fn health<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Health, D::Error> {
    Ok(Health::from(String::deserialize(deserializer)?.as_str()))
}
