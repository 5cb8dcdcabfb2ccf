//! Health states as clients read them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{MetaTime, is_zero};
use crate::model;

/// The states of one component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentHealthStates {
    /// The component's name.
    pub component: String,
    /// Its states; `null` for a component that was removed.
    pub states: Option<Vec<HealthState>>,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HealthState {
    /// When it was judged; `null` for states drawn from stored events.
    pub time: MetaTime,
    /// The component's name; absent where the state has no time and a name of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub component: String,
    /// `custom-plugin` for script plugins, else absent.
    #[serde(skip_serializing_if = "is_zero")]
    pub component_type: String,
    /// Usually the component's name; `check` for script plugins.
    #[serde(skip_serializing_if = "is_zero")]
    pub name: String,
    /// The script plugin's run mode as its spec spells it.
    #[serde(skip_serializing_if = "is_zero")]
    pub run_mode: String,
    /// `Healthy`, `Degraded`, `Unhealthy`, `Initializing`, or a plugin's own word.
    #[serde(skip_serializing_if = "is_zero")]
    pub health: String,
    /// One line for a person.
    #[serde(skip_serializing_if = "is_zero")]
    pub reason: String,
    /// The technical error behind the verdict.
    #[serde(skip_serializing_if = "is_zero")]
    pub error: String,
    /// The suggested actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_actions: Option<SuggestedActions>,
    /// Facts; built-in checks give one key `data` that holds a JSON document.
    #[serde(skip_serializing_if = "is_zero")]
    pub extra_info: BTreeMap<String, String>,
    /// The output of a script plugin.
    #[serde(skip_serializing_if = "is_zero")]
    pub raw_output: String,
}

/// The suggested actions of a state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SuggestedActions {
    /// For a person; always present.
    pub description: String,
    /// Words such as `REBOOT_SYSTEM`, most important first.
    pub repair_actions: Vec<String>,
}

/// Facts about the component behind a state. All empty for a built-in check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// `custom-plugin` for script plugins.
    pub component_type: String,
    /// As the script plugin's spec spells it.
    pub run_mode: String,
    /// The output of the script plugin's last run, cut to 4096 bytes.
    pub raw_output: String,
}

impl HealthState {
    /// The wire form of `state` of the component `component`.
    pub fn from_model(component: &str, origin: &Origin, state: model::HealthState) -> Self {
        // Xid and sxid states, drawn from events, never named their component; clients of theirs look at the list
        // entry instead.
        let nameless =
            state.time.is_none() && state.name.as_deref().is_some_and(|name| name != component);
        Self {
            time: MetaTime(state.time),
            component: if nameless {
                String::new()
            } else {
                component.to_owned()
            },
            component_type: origin.component_type.clone(),
            name: state.name.unwrap_or_default(),
            run_mode: origin.run_mode.clone(),
            health: state.health.as_str().to_owned(),
            reason: state.reason,
            error: state.error.unwrap_or_default(),
            suggested_actions: state.suggested_actions.map(Into::into),
            extra_info: state.extra_info.into_iter().collect(),
            raw_output: origin.raw_output.clone(),
        }
    }
}

impl From<model::SuggestedActions> for SuggestedActions {
    fn from(actions: model::SuggestedActions) -> Self {
        Self {
            description: actions.description,
            repair_actions: actions
                .repair_actions
                .iter()
                .map(|action| action.as_str().to_owned())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
