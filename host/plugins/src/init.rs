//! Init plugins: run once, one after another, before anything else is checked.

use std::io::Write as _;

use crate::{
    component::{Component, Services},
    model::{Health, Trigger},
    spec::Plugin,
    wire::go_quote,
};

/// An init plugin that did not end well; the daemon does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to start init plugin {component}: {reason}")]
pub struct InitFailed {
    component: String,
    reason: String,
}

/// Runs the init plugins among these in order of component name, whatever their run mode, and prints what they print.
///
/// # Errors
/// [`InitFailed`] for the first that is not healthy; those after it do not run.
pub async fn run(plugins: &[Plugin], services: &Services) -> Result<(), InitFailed> {
    let mut init: Vec<&Plugin> = plugins.iter().filter(|plugin| plugin.is_init()).collect();
    init.sort_by(|a, b| a.component.cmp(&b.component));
    for plugin in init {
        let component = Component::of_script(plugin);
        let (states, output) = component
            .check_with_output(services, Trigger::Startup)
            .await;
        if let Some(state) = states.iter().find(|state| state.health != Health::Healthy) {
            let error = state.error.as_deref().unwrap_or_default();
            tracing::error!(component = plugin.component, error, "init plugin failed");
            return Err(InitFailed {
                component: plugin.component.clone(),
                reason: state.reason.clone(),
            });
        }
        // A daemon whose standard output is closed still starts.
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(
            stdout,
            "init plugin debug output {}:",
            go_quote(&plugin.component)
        );
        let _ = stdout.write_all(&output);
        let _ = writeln!(stdout);
    }
    Ok(())
}
