//! All components, by name.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::Component;

/// A name that is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("component `{0}` is already registered")]
pub struct Duplicate(pub String);

/// All components, ascending by name.
#[derive(Default)]
pub struct Registry {
    components: RwLock<BTreeMap<String, Arc<Component>>>,
}

impl Registry {
    /// Adds a component.
    ///
    /// # Errors
    /// [`Duplicate`] when its name is taken; the one that is there stays.
    pub fn add(&self, component: Component) -> Result<Arc<Component>, Duplicate> {
        let mut components = self
            .components
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if components.contains_key(component.name()) {
            return Err(Duplicate(component.name().to_owned()));
        }
        let component = Arc::new(component);
        components.insert(component.name().to_owned(), Arc::clone(&component));
        Ok(component)
    }

    /// Removes a component without closing it. `None` if another component has its name by now.
    pub fn remove(&self, component: &Arc<Component>) -> Option<Arc<Component>> {
        let mut components = self
            .components
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let present = components.get(component.name())?;
        if !Arc::ptr_eq(present, component) {
            return None;
        }
        components.remove(component.name())
    }

    /// Returns a component by its name.
    pub fn get(&self, name: &str) -> Option<Arc<Component>> {
        self.components
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Returns all of them, ascending by name.
    pub fn all(&self) -> Vec<Arc<Component>> {
        let components = self
            .components
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        components.values().cloned().collect()
    }

    /// Returns all names, ascending.
    pub fn names(&self) -> Vec<String> {
        let components = self
            .components
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        components.keys().cloned().collect()
    }

    /// Those with a tag, ascending by name. Tags are known once a plugin is loaded, so this waits until all are: a group
    /// of which half is missing would be found healthy.
    pub async fn tagged(&self, tag: &str) -> Vec<Arc<Component>> {
        let mut all = self.all();
        futures_util::future::join_all(all.iter().map(|component| component.settled())).await;
        all.retain(|component| {
            component
                .descriptor()
                .is_some_and(|d| d.tags.iter().any(|own| own == tag))
        });
        all
    }
}
