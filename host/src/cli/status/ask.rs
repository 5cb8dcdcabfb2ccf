//! What the daemon says of itself.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::{
    cli::client::{Client, reason_of},
    model::Health,
};

/// For one request.
const LIMIT: Duration = Duration::from_secs(30);

/// One component, by the worst of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Its name.
    pub component: String,
    /// `Healthy`, or another word.
    pub health: String,
    /// Why.
    pub reason: String,
    /// What to do, as `REBOOT_SYSTEM`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repair_actions: Vec<String>,
}

#[derive(Deserialize)]
struct Listed {
    component: String,
    states: Option<Vec<State>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
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
    /// That this client asks.
    pub fn new(client: Client) -> Self {
        Self(client.with_limit(LIMIT))
    }

    /// Its components, by name.
    ///
    /// # Errors
    /// It cannot be asked, or its answer makes no sense.
    pub async fn components(&self) -> Result<Vec<Component>, String> {
        Self::states(&self.0, "/v1/states").await
    }

    /// The components of this answer, by name.
    ///
    /// # Errors
    /// As [`Self::components`].
    pub async fn states(client: &Client, target: &str) -> Result<Vec<Component>, String> {
        let answer = client.send(Method::GET, target).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(reason_of(&answer));
        }
        read(&answer.body)
    }
}

/// Whether it is up.
///
/// # Errors
/// It is not.
pub async fn healthz(client: &Client) -> Result<(), String> {
    let answer = client.send(Method::GET, "/healthz").await;
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.status.is_success() {
        true => Ok(()),
        false => Err(reason_of(&answer)),
    }
}

fn read(body: &[u8]) -> Result<Vec<Component>, String> {
    let listed: Option<Vec<Listed>> = serde_json::from_slice(body)
        .map_err(|error| format!("this is not an answer of gpud: {error}"))?;
    let mut components: Vec<Component> = listed
        .unwrap_or_default()
        .into_iter()
        .map(|listed| {
            let states = listed.states.unwrap_or_default().into_iter();
            let worst = states.max_by_key(|state| Health::from(state.health.as_str()).rank());
            let worst = worst.unwrap_or_default();
            let actions = worst.suggested_actions.unwrap_or_default();
            Component {
                component: listed.component,
                health: worst.health,
                reason: worst.reason,
                repair_actions: actions.repair_actions.unwrap_or_default(),
            }
        })
        .collect();
    components.sort_by(|a, b| a.component.cmp(&b.component));
    Ok(components)
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
        let found = read(body.as_bytes()).unwrap();
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
        assert!(
            read(b"{}")
                .unwrap_err()
                .starts_with("this is not an answer of gpud: ")
        );
    }
}
