//! Asks the daemon for its state.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    cli::client::{
        Client,
        ask::{AskError, get},
    },
    model::Health,
};

/// The longest time of one request.
const LIMIT: Duration = Duration::from_secs(30);

/// A state of a component, or the worst of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Its name.
    pub component: String,
    /// `Healthy`, or another word.
    pub health: String,
    /// Why.
    pub reason: String,
    /// Repair actions, such as `REBOOT_SYSTEM`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repair_actions: Vec<String>,
}

#[derive(Deserialize)]
struct ListedStates {
    component: String,
    states: Option<Vec<ComponentState>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ComponentState {
    health: String,
    reason: String,
    suggested_actions: Option<Actions>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Actions {
    repair_actions: Option<Vec<String>>,
}

/// A daemon that answers.
pub struct Daemon(Client);

impl Daemon {
    /// Makes one for the daemon that this client asks.
    pub fn new(client: Client) -> Self {
        Self::with_limit(client, LIMIT)
    }

    /// The same with another limit for each request.
    pub fn with_limit(client: Client, limit: Duration) -> Self {
        Self(client.with_limit(limit))
    }

    /// Returns its components by name, each by the worst of its states.
    ///
    /// # Errors
    /// It cannot be asked, or its answer makes no sense.
    pub async fn components(&self) -> Result<Vec<Component>, AskError> {
        Self::states(&self.0, "/v1/states").await
    }

    /// Returns the components of this answer by name, each by the worst of its states.
    ///
    /// # Errors
    /// As [`Self::components`].
    pub async fn states(client: &Client, target: &str) -> Result<Vec<Component>, AskError> {
        Ok(worst(ask(client, target).await?))
    }

    /// Returns all states of all components. A component without states is there once, with an empty health.
    ///
    /// # Errors
    /// As [`Self::components`].
    pub async fn all_states(&self) -> Result<Vec<Component>, AskError> {
        ask(&self.0, "/v1/states").await
    }
}

async fn ask(client: &Client, target: &str) -> Result<Vec<Component>, AskError> {
    let answer = get(client, target).await?;
    Ok(read(&answer.body)?)
}

/// Whether it is up.
///
/// # Errors
/// It is not.
pub async fn healthz(client: &Client) -> Result<(), AskError> {
    get(client, "/healthz").await.map(drop)
}

fn read(body: &[u8]) -> Result<Vec<Component>, serde_json::Error> {
    let listed: Option<Vec<ListedStates>> = serde_json::from_slice(body)?;
    let mut found = Vec::new();
    for ListedStates { component, states } in listed.unwrap_or_default() {
        let mut states = states.unwrap_or_default();
        if states.is_empty() {
            states.push(ComponentState::default());
        }
        found.extend(states.into_iter().map(|state| {
            Component {
                component: component.clone(),
                health: state.health,
                reason: state.reason,
                repair_actions: state
                    .suggested_actions
                    .unwrap_or_default()
                    .repair_actions
                    .unwrap_or_default(),
            }
        }));
    }
    Ok(found)
}

/// Leaves the worst state of each component; of equally bad ones the last.
fn worst(states: Vec<Component>) -> Vec<Component> {
    let rank = |state: &Component| Health::from(state.health.as_str()).rank();
    let mut worst: BTreeMap<String, Component> = BTreeMap::new();
    for state in states {
        let known = worst.get(&state.component);
        if known.is_none_or(|known| rank(&state) >= rank(known)) {
            worst.insert(state.component.clone(), state);
        }
    }
    worst.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_state_speaks_for_a_component() {
        let body = r#"[
            {"component":"os","states":[{"health":"Healthy","reason":"ok"}]},
            {"component":"disk","states":[{"health":"Degraded","reason":"a"},
                {"health":"Unhealthy","reason":"b","suggested_actions":{"description":"","repair_actions":["REBOOT_SYSTEM"]}}]},
            {"component":"gone","states":null}]"#;
        let states = read(body.as_bytes()).unwrap();
        assert_eq!(states.len(), 4);
        let found = worst(states);
        let short: Vec<_> = found
            .iter()
            .map(|c| (c.component.as_str(), c.health.as_str(), c.reason.as_str()))
            .collect();
        assert_eq!(
            short,
            [
                ("disk", "Unhealthy", "b"),
                ("gone", "", ""),
                ("os", "Healthy", "ok")
            ]
        );
        assert_eq!(found[0].repair_actions, ["REBOOT_SYSTEM"]);
        assert!(read(b"null").unwrap().is_empty());
        let wrong = AskError::from(read(b"{}").unwrap_err()).to_string();
        assert!(
            wrong.starts_with("this is not an answer of gpud: "),
            "{wrong}"
        );
    }
}
