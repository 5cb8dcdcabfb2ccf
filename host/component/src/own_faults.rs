//! Components that report faults of gpud's own files. Each is registered only while there is a fault. A request that
//! names one at another time gets a healthy state, so that a client that watches it sees the trouble end.

use crate::{
    model::{Health, HealthState, UnixMillis},
    wire::Origin,
};

/// The component of the spec file.
pub const PLUGIN_SPECS: &str = "plugin-specs";
/// The component of installed packs.
pub const PLUGIN_PACKS: &str = "plugin-packs";
/// The component of the file of exports.
pub const EXPORTS_FILE: &str = "exports-file";
/// The component of the site's configuration of components.
pub const COMPONENT_CONFIGS: &str = "component-configs";

const ALL: [&str; 4] = [PLUGIN_SPECS, PLUGIN_PACKS, EXPORTS_FILE, COMPONENT_CONFIGS];

/// Whether a name is reserved for such a component.
pub fn is_one(name: &str) -> bool {
    ALL.contains(&name)
}

/// Returns the healthy state of such a component while it is not registered; `None` for any other name.
pub fn healthy(name: &str, now: UnixMillis) -> Option<(Origin, Vec<HealthState>)> {
    is_one(name).then(|| {
        let state = HealthState {
            name: Some(name.to_owned()),
            time: Some(now),
            health: Health::Healthy,
            reason: "ok".to_owned(),
            ..HealthState::default()
        };
        (Origin::default(), vec![state])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_names_are_healthy_without_a_component() {
        for name in ALL {
            let (_, states) = healthy(name, 7).unwrap();
            assert_eq!(states.len(), 1);
            assert_eq!(
                (&states[0].health, states[0].reason.as_str()),
                (&Health::Healthy, "ok")
            );
            assert_eq!(states[0].time, Some(7));
        }
        assert!(healthy("disk", 7).is_none());
    }
}
