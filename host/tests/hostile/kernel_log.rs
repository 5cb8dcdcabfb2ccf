//! A plugin that fails on kernel messages: seen in its state and in the metrics, and its messages are given up after
//! some tries.

use std::{sync::Arc, time::Duration};

use gpud::{
    component::{Registry, kernel_log::Watchers},
    model::{Health, Trigger},
    node::kmsg::{self, KernelLog},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    as_component::{component, services, store},
    lab,
};

#[tokio::test]
async fn messages_that_a_plugin_fails_on_are_given_up_and_counted() {
    let lab = lab::shared().await;
    let services = services(&lab, store()).await;
    let plugin = Arc::new(lab.guest("panics_on_messages", lab::limits()).await);
    let registry = Arc::new(Registry::default());
    let watcher = registry
        .add(component(&plugin, "panics-on-messages"))
        .unwrap();
    // This one has no usable patterns, and must not keep the other from its messages.
    let refused = registry
        .add(component(&plugin, "panics-on-messages/patterns"))
        .unwrap();

    let log = Arc::new(KernelLog::start(services.node.kmsg_config()).unwrap());
    let shutdown = CancellationToken::new();
    let tasks = TaskTracker::new();
    let watchers = Watchers::new(
        Arc::clone(&registry),
        Arc::clone(&services),
        Arc::clone(&log),
        tasks.clone(),
        shutdown.clone(),
    );
    watchers.sync().await;
    kmsg::inject(
        kmsg::severity("kern.err"),
        "gpud-hostile: something happened",
    )
    .unwrap();

    let given_up = "gpud_kmsg_undelivered_total{checker=\"panics-on-messages\"} ";
    let waited = async {
        while !services.metrics.exposition().contains(given_up) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waited)
        .await
        .expect("never given up");
    let state = &watcher.states(0)[0];
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "the checker itself failed: it trapped: unreachable code reached (a panic; its message is in the log)"
    );
    let states = watcher.check(&services, Trigger::Scheduled).await;
    assert_eq!(states[0].reason, "all well", "a good check clears it");
    let states = refused.check(&services, Trigger::Scheduled).await;
    let error = states[0].error.as_deref().unwrap_or_default();
    assert!(
        error.contains("it gets no kernel messages") && error.contains("10000 patterns"),
        "{error}"
    );
    shutdown.cancel();
    tasks.close();
    tasks.wait().await;
    tokio::task::spawn_blocking(move || log.shutdown())
        .await
        .unwrap();
}
