//! The component that says what is wrong with the spec file. It is only there while something is.

use std::sync::Arc;

use crate::component::{Component, Registry, own_faults};

/// Its name.
const COMPONENT: &str = own_faults::PLUGIN_SPECS;
/// Most problems that are reported; the log has all.
const MOST_LISTED: usize = 10;

/// The one that says what is wrong with installed packs.
pub(crate) const OF_PACKS: &str = own_faults::PLUGIN_PACKS;

/// Shows these problems of the spec file, or that there are none.
pub(crate) fn show(registry: &Registry, what: &str, problems: &[String]) {
    show_as(COMPONENT, registry, what, problems);
}

/// The same under another name.
pub(crate) fn show_as(name: &str, registry: &Registry, what: &str, problems: &[String]) {
    let present = registry.get(name).filter(|c| !c.is_plugin());
    if let Some(component) = present {
        registry.remove(&component);
    }
    if problems.is_empty() {
        return;
    }
    let mut listed: Vec<String> = problems.iter().take(MOST_LISTED).cloned().collect();
    if problems.len() > MOST_LISTED {
        listed.push(format!(
            "and {} more, see the log",
            problems.len() - MOST_LISTED
        ));
    }
    let component = Component::of_problem(name, format!("{what}: {}", listed.join("; ")));
    if registry.add(component).is_err() {
        tracing::error!("a plugin has the name {name}, so no component shows the problem");
    }
}

/// Whether the component is shown.
pub(crate) fn is_shown(registry: &Registry) -> bool {
    let component: Option<Arc<Component>> = registry.get(COMPONENT);
    component.is_some_and(|component| !component.is_plugin())
}
