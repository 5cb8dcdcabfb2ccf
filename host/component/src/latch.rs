//! Verdicts that stay until something clears them, also across restarts.
//!
//! A checker asks for it by `latch` in a state; from then on the host shows the state whatever later checks say, until
//! one of its ways of recovery comes true or an operator sets the component healthy.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    model::{Health, HealthState, Recovery, UnixMillis},
    store::Store,
};

/// A latched verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LatchedState {
    state: HealthState,
    boot_id: String,
}

type Key = String;
type ByComponent = BTreeMap<String, BTreeMap<Key, LatchedState>>;

/// All latched verdicts.
#[derive(Debug, Default)]
pub(super) struct Latches {
    held: Mutex<ByComponent>,
    /// The latches whose rows in the database are outdated, by component.
    unsaved: Mutex<BTreeMap<String, BTreeSet<Key>>>,
}

/// The writes that [`merge`] asks for.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    save: Vec<(Key, LatchedState)>,
    delete: Vec<Key>,
}

impl Latches {
    /// Reads the stored latches. One that cannot be parsed is dropped with a log line.
    pub(super) async fn load(store: Option<&Store>) -> Self {
        let latches = Self::default();
        let Some(store) = store else { return latches };
        let rows = store.latches().await.unwrap_or_else(|error| {
            tracing::error!("latched states could not be read: {error}");
            Vec::new()
        });
        let mut held = latches.held.lock().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            match serde_json::from_str::<LatchedState>(&row.json) {
                Ok(value) => {
                    held.entry(row.component)
                        .or_default()
                        .insert(row.key, value);
                }
                Err(error) => {
                    tracing::error!(
                        component = row.component,
                        key = row.key,
                        "latched state: {error}"
                    );
                }
            }
        }
        drop(held);
        latches
    }

    /// Whether a state of this component is latched.
    pub(super) fn holds(&self, component: &str) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(component).is_some_and(|states| !states.is_empty())
    }

    /// Returns the states of a check together with the latched ones.
    pub(super) async fn apply(
        &self,
        component: &str,
        reported: Vec<HealthState>,
        now: UnixMillis,
        boot_id: &str,
        store: Option<&Store>,
    ) -> Vec<HealthState> {
        let (states, changes) = {
            let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let empty = all.get(component).is_none_or(BTreeMap::is_empty);
            let saved = !self.lock_unsaved().contains_key(component);
            if empty && saved && !reported.iter().any(|state| state.latch) {
                return reported;
            }
            merge(
                all.entry(component.to_owned()).or_default(),
                reported,
                now,
                boot_id,
            )
        };
        let keys = changes.save.into_iter().map(|(key, _)| key);
        self.write_down(component, keys.chain(changes.delete), store)
            .await;
        states
    }

    /// Updates rows of the database: these, and those that could not be written earlier.
    async fn write_down(
        &self,
        component: &str,
        keys: impl Iterator<Item = Key>,
        store: Option<&Store>,
    ) {
        let Some(store) = store else { return };
        let mut wanted = self.lock_unsaved().remove(component).unwrap_or_default();
        wanted.extend(keys);
        if !wanted.is_empty() && store.has_waiting(component) {
            // A write would wait as the component's kernel messages do, and the verdict with it.
            self.lock_unsaved().insert(component.to_owned(), wanted);
            return;
        }
        let mut left = BTreeSet::new();
        for key in wanted {
            let held = {
                let all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                let held = all.get(component).and_then(|held| held.get(&key));
                held.map(|held| serde_json::to_string(held).unwrap_or_default())
            };
            let written = match held {
                Some(json) => store.save_latch(component, &key, &json).await,
                None => store.delete_latch(component, &key).await.map(drop),
            };
            if let Err(error) = written {
                if !error.is_outage() {
                    tracing::error!(component, "a latched state could not be stored: {error}");
                }
                left.insert(key);
            }
        }
        if !left.is_empty() {
            let mut unsaved = self.lock_unsaved();
            unsaved
                .entry(component.to_owned())
                .or_default()
                .extend(left);
        }
    }

    fn lock_unsaved(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<Key>>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the latches of a component that an operator set healthy.
    pub(super) async fn clear(&self, component: &str, store: Option<&Store>) {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(component);
        let keys = held.unwrap_or_default().into_keys();
        self.write_down(component, keys, store).await;
    }
}

/// Returns the key of a state among those of its component: name and subject.
fn key(state: &HealthState) -> Key {
    let subject = serde_json::to_string(&state.subject).unwrap_or_default();
    format!("{} {subject}", state.name.as_deref().unwrap_or_default())
}

fn merge(
    held: &mut BTreeMap<Key, LatchedState>,
    reported: Vec<HealthState>,
    now: UnixMillis,
    boot_id: &str,
) -> (Vec<HealthState>, Changes) {
    let mut changes = Changes::default();
    let good: Vec<Key> = reported
        .iter()
        .filter(|state| state.health == Health::Healthy)
        .map(key)
        .collect();
    held.retain(|key, entry| {
        let stays = !cleared(entry, good.contains(key), now, boot_id);
        if !stays {
            changes.delete.push(key.clone());
        }
        stays
    });
    let mut states = Vec::with_capacity(reported.len());
    let mut shown = Vec::new();
    for state in reported {
        let key = key(&state);
        if state.latch && state.health != Health::Healthy {
            let entry = LatchedState {
                state: state.clone(),
                boot_id: boot_id.to_owned(),
            };
            // The same verdict at a later time is not worth a write.
            let known = held.get(&key).is_some_and(|old| {
                old.boot_id == entry.boot_id
                    && HealthState {
                        time: None,
                        ..old.state.clone()
                    } == HealthState {
                        time: None,
                        ..entry.state.clone()
                    }
            });
            if !known {
                held.insert(key.clone(), entry.clone());
                changes.save.push((key.clone(), entry));
            }
            shown.push(key);
            states.push(state);
        } else {
            match held.get(&key) {
                Some(entry) if entry.state.health.rank() >= state.health.rank() => {
                    states.push(entry.state.clone());
                }
                _ => states.push(state),
            }
            shown.push(key);
        }
    }
    let missing = held.iter().filter(|(key, _)| !shown.contains(key));
    states.extend(missing.map(|(_, entry)| entry.state.clone()));
    (states, changes)
}

fn cleared(entry: &LatchedState, good: bool, now: UnixMillis, boot_id: &str) -> bool {
    let ways = &entry.state.recovery;
    if ways.is_empty() {
        return good;
    }
    ways.iter().any(|way| match way {
        Recovery::NextGoodReading => good,
        Recovery::Reboot => entry.boot_id != boot_id && !boot_id.is_empty(),
        Recovery::At(time) => *time <= now,
        Recovery::SetHealthy | Recovery::Other(_) => false,
    })
}

#[cfg(test)]
mod tests;
