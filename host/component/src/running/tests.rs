use super::*;
use crate::{
    metrics,
    node::Node,
    store::{Location, Store, StoreOptions},
};

#[tokio::test]
async fn set_healthy_is_recorded_while_the_plugin_is_loaded() {
    let store = Store::open(StoreOptions::new(Location::Memory))
        .unwrap()
        .store;
    let node = Arc::new(Node::of_log(1_000).unwrap());
    let metrics = Arc::new(metrics::Registry::new());
    let services = Arc::new(Services::new(node, Some(store.clone()), metrics).await);
    let component = Arc::new(Component::loading("disk"));
    // It does not wait: nothing loads this plugin.
    component.set_healthy_or_record(&services).await.unwrap();
    assert_eq!(store.marks("disk", 0).await.unwrap(), [1_000]);
    component.failed("a test".to_owned());
    let refused = component.set_healthy_or_record(&services).await;
    assert_eq!(refused, Err(SetHealthyProblem::Unsupported));
}

#[tokio::test]
async fn a_component_that_does_not_apply_says_why() {
    let node = Arc::new(Node::of_log(1_000).unwrap());
    let services = Services::new(node, None, Arc::new(metrics::Registry::new())).await;
    let component = Component::of_daemon("fan-check");
    assert_eq!(component.not_applicable(), None);
    for (reason, expected) in [
        ("no fans", "not applicable here: no fans"),
        ("", "not applicable here"),
    ] {
        let judged = Latest {
            supported: false,
            states: vec![HealthState {
                reason: reason.to_owned(),
                ..HealthState::default()
            }],
            raw_output: String::new(),
        };
        component.keep(&services, judged, 1_000).await;
        assert_eq!(component.not_applicable().as_deref(), Some(expected));
    }
}
