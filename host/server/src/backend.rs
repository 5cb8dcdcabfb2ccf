//! The interface of the server to the layer that owns the components.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use gpud_summary::{Since, StateKey};

use crate::{
    component::feed::{ChangeId, Subscription},
    model,
    node::error::SourceError,
    store::{Entry, Page, StoreError, TimelineRead},
    wire::{self, MachineInfo, Origin, PluginSpec, Render, ShadowView},
};

/// An answer that takes its time.
///
/// The server drops it when the client goes away or the daemon stops; work that must not be left half done belongs
/// into a task of the backend's own.
pub type Reply<'a, T> = BoxFuture<'a, T>;

/// States of one component.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComponentStates {
    /// The component's name.
    pub component: String,
    /// The fields that the API has for script plugins.
    pub origin: Origin,
    /// Its verdicts.
    pub states: Vec<model::HealthState>,
}

impl ComponentStates {
    /// Whether every verdict is healthy.
    pub(super) fn all_healthy(&self) -> bool {
        self.states
            .iter()
            .all(|state| state.health == model::Health::Healthy)
    }

    /// The wire form of the states.
    pub(super) fn into_wire(self) -> Vec<wire::HealthState> {
        let Self {
            component,
            origin,
            states,
        } = self;
        states
            .into_iter()
            .map(|state| wire::HealthState::from_model(&component, &origin, state))
            .collect()
    }
}

/// One stored metric sample. Those of one series share its names: there may be half a million.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The component that gave it.
    pub component: Arc<str>,
    /// Full Prometheus name.
    pub name: Arc<str>,
    /// Labels besides the component's.
    pub labels: Arc<BTreeMap<String, String>>,
    /// When, in milliseconds since the Unix epoch.
    pub unix_millis: i64,
    /// The value.
    pub value: f64,
}

/// Why a component was not set healthy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetHealthyError {
    /// The component has nothing to set.
    #[error("component does not support setting healthy state")]
    Unsupported,
    /// It was tried.
    #[error("failed to set healthy: {0}")]
    Failed(String),
}

/// Why a component was not deregistered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeregisterError {
    /// There is none of that name.
    #[error("component not found")]
    Unknown,
    /// Built-in checks stay.
    #[error("component is not deregisterable")]
    BuiltIn,
    /// It was tried.
    #[error("failed to deregister component: {0}")]
    Failed(String),
}

/// Why plugins were not registered; nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The specs are wrong: every problem, with its place.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// A name is taken.
    #[error("{0}")]
    Taken(String),
}

/// The registry, the stores and the machine, as the server sees them.
///
/// Methods without a [`Reply`] answer from memory at once.
pub trait Backend: Send + Sync + 'static {
    /// Names of all registered components, built-in and plugins, ascending; those not supported here included.
    fn component_names(&self) -> Vec<String>;

    /// Whether a component of this name is registered.
    fn is_known(&self, name: &str) -> bool;

    /// Whether the component has something to watch on this machine.
    fn is_supported(&self, name: &str) -> bool;

    /// Why it has nothing to watch on this machine, in words; `None` if it has.
    fn not_applicable(&self, name: &str) -> Option<String>;

    /// The component's latest states; before the first check one with the reason `no data yet`. `None` if it was
    /// removed.
    fn states(&self, name: &str) -> Option<ComponentStates>;

    /// Events of these components whose time in whole seconds is greater than `after` (Unix seconds), newest first.
    /// A component that is missing or empty in the answer is served as having none.
    fn events(
        &self,
        names: Vec<String>,
        after: i64,
    ) -> Reply<'_, BTreeMap<String, Vec<model::Event>>>;

    /// A part of the history: events and changes of health.
    fn timeline(&self, read: TimelineRead) -> Reply<'_, Result<Page, StoreError>>;

    /// One event of the history by its row; `None` if it is not stored, or no longer.
    fn timeline_event(&self, row: i64) -> Reply<'_, Result<Option<Entry>, StoreError>>;

    /// Since when states have the health that they have, as far as it is recorded.
    fn beginnings(
        &self,
        states: Vec<(StateKey, model::Health)>,
    ) -> Reply<'_, Result<Since, StoreError>>;

    /// Samples of these components (`None`: of all) at or after `since` (Unix milliseconds), in any order.
    fn samples(
        &self,
        names: Option<Vec<String>>,
        since: i64,
    ) -> Reply<'_, Result<Vec<Sample>, StoreError>>;

    /// Follows what changes after `seen`; from now on if nothing was seen.
    fn changes(&self, seen: Option<ChangeId>) -> Subscription;

    /// Checks one component now and gives the states of this check. `None` if there is no such component.
    fn trigger(&self, name: String) -> Reply<'_, Option<ComponentStates>>;

    /// Checks every component with this tag, one after another in order of name.
    fn trigger_tag(&self, tag: String) -> Reply<'_, Vec<ComponentStates>>;

    /// Clears what is recorded against a component.
    fn set_healthy(&self, name: String) -> Reply<'_, Result<(), SetHealthyError>>;

    /// Closes and removes a plugin until the next start.
    fn deregister(&self, name: String) -> Reply<'_, Result<(), DeregisterError>>;

    /// Registers plugins from specs in YAML or JSON, all or none, until the daemon stops; with `replace` also in place of
    /// plugins that run. Gives their component names.
    fn register(
        &self,
        specs: Bytes,
        replace: bool,
    ) -> Reply<'_, Result<Vec<String>, RegisterError>>;

    /// Specs of the registered plugins, by component name, without init plugins.
    fn plugin_specs(&self) -> Vec<PluginSpec>;

    /// How the version beside a component compares with it, if there is one.
    fn shadow(&self, component: &str) -> Option<ShadowView>;

    /// Takes the machine's inventory. The server asks once at a time and keeps the answer for some seconds.
    fn machine_info(&self) -> Reply<'_, Result<MachineInfo, SourceError>>;

    /// Writes a line into the kernel log. `priority` is a word such as `KERN_ERR` or `kern.warn`; a word that means
    /// nothing counts as info.
    fn inject(&self, priority: String, message: String) -> Reply<'_, Result<(), SourceError>>;

    /// Every metric in the Prometheus text format, version 0.0.4.
    fn prometheus(&self) -> Reply<'_, String>;

    /// The effective configuration, without secrets.
    fn config(&self) -> Box<dyn Render>;
}
