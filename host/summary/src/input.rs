//! What a summary is made from.

use std::collections::BTreeMap;

use super::{Gpus, MachineView};
use crate::model::{Event, Health, HealthState, Subject, UnixMillis};

/// Everything that a summary is made from.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// All components, in the order in which they are listed.
    pub components: Vec<ComponentInput>,
    /// The machine.
    pub machine: MachineView,
    /// Its GPUs.
    pub gpus: Gpus,
    /// When states became what they are.
    pub since: Since,
}

/// What one component says now.
#[derive(Debug, Clone, Default)]
pub struct ComponentInput {
    /// Its name.
    pub component: String,
    /// Whether it has something to watch on this machine.
    pub supported: bool,
    /// Its latest states; of one that is not supported, the reason why.
    pub states: Vec<HealthState>,
    /// Events that a scan found together with the states; empty in a daemon, whose states name their subjects.
    pub events: Vec<Event>,
}

/// Names a state within all components: the component, the state's name, and what it is about.
pub type StateKey = (String, String, Option<Subject>);

/// When states became what they are, as far as it is recorded.
#[derive(Debug, Clone, Default)]
pub struct Since {
    /// Of states that are not healthy.
    pub states: BTreeMap<StateKey, UnixMillis>,
    /// When the last trouble ended, or the record begins.
    pub healthy: Option<UnixMillis>,
}

impl ComponentInput {
    /// The keys of states whose beginning the summary shows, with their health.
    pub fn keys(&self) -> impl Iterator<Item = (StateKey, Health)> + '_ {
        let shown = self.states.iter().filter(|state| is_trouble(&state.health));
        shown
            .filter(move |_| self.supported)
            .map(move |state| (key(&self.component, state), state.health.clone()))
    }
}

/// The key of a state.
pub(super) fn key(component: &str, state: &HealthState) -> StateKey {
    (
        component.to_owned(),
        state.name.clone().unwrap_or_default(),
        state.subject.clone(),
    )
}

/// Whether a state of this health is a trouble.
pub(super) fn is_trouble(health: &Health) -> bool {
    health.rank() >= Health::Degraded.rank()
}
