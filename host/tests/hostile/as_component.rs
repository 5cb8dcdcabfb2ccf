//! A hostile plugin as the daemon sees it: its state, its back-off, its bill, and a neighbour with a schedule.

use std::sync::Arc;

use gpud::{
    component::{Component, Registry, Services, WasmChecker},
    metrics,
    model::{Health, Trigger},
    runtime::{Limits, Plugin},
    store::{Location, Store, StoreOptions},
};

use crate::lab::{self, Lab};

/// A store that is removed with the test.
pub fn store() -> Store {
    Store::open(StoreOptions::new(Location::Memory))
        .unwrap()
        .store
}

pub async fn services<Turn>(lab: &Lab<Turn>, store: Store) -> Arc<Services> {
    let metrics = Arc::new(metrics::Registry::new());
    Arc::new(Services::new(Arc::clone(lab.runtime.node()), Some(store), metrics).await)
}

/// One of the plugin's components, ready to be checked.
pub fn component(plugin: &Arc<Plugin>, name: &str) -> Component {
    let component = Component::loading(name);
    let descriptor = plugin
        .components()
        .iter()
        .find(|one| one.name == name)
        .unwrap()
        .clone();
    component.ready(WasmChecker::new(
        Arc::clone(plugin),
        descriptor,
        Arc::from("{}"),
    ));
    component
}

pub async fn guest<Turn>(lab: &Lab<Turn>, guest: &str, name: &str, limits: Limits) -> Component {
    component(&Arc::new(lab.guest(guest, limits).await), name)
}

#[tokio::test]
async fn a_trap_is_a_state_with_back_off_and_a_good_check_clears_it() {
    let lab = lab::shared().await;
    let services = services(&lab, store()).await;
    let trap = guest(&lab, "trap", "trap", lab::limits()).await;
    let neighbour = guest(&lab, "well_behaved", "well-behaved", lab::limits()).await;
    let failed = "the checker itself failed: it trapped: unreachable code reached (a panic; its message is in the log)";
    for suffix in [
        "",
        " (2 failures in a row, next try in 120 s)",
        " (3 failures in a row, next try in 240 s)",
    ] {
        let states = lab
            .beside_neighbour(trap.check(&services, Trigger::Manual))
            .await;
        assert_eq!(states, trap.states(0));
        assert_eq!(states.len(), 1);
        assert_eq!(states[0].name.as_deref(), Some("trap"));
        assert_eq!(states[0].health, Health::Unhealthy);
        assert_eq!(states[0].reason, format!("{failed}{suffix}"));
        assert!(states[0].error.is_some() && states[0].suggested_actions.is_none());
        assert!(
            !trap.check_if_idle(&services, Trigger::Scheduled).await,
            "it is left alone"
        );
        assert!(neighbour.check_if_idle(&services, Trigger::Scheduled).await);
        assert_eq!(neighbour.states(0)[0].reason, "all well");
    }
    let shown = services.metrics.exposition();
    for line in [
        "gpud_checker_traps_total{checker=\"trap\"} 3\n",
        "gpud_checker_timeouts_total{checker=\"trap\"} 0\n",
        "gpud_checker_traps_total{checker=\"well-behaved\"} 0\n",
        "well_behaved{gpud_component=\"well-behaved\"} 1\n",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }

    let states = trap.check(&services, Trigger::Startup).await;
    assert_eq!(
        (states[0].health.clone(), states[0].reason.as_str()),
        (Health::Healthy, "all well")
    );
    assert_eq!(states[0].error, None);
    assert!(
        trap.check_if_idle(&services, Trigger::Scheduled).await,
        "the back-off is over"
    );
    let states = trap.check(&services, Trigger::Manual).await;
    assert_eq!(
        states[0].reason, failed,
        "failures are counted from the start"
    );
}

#[tokio::test]
async fn a_check_that_never_ends_is_a_state_while_others_keep_their_schedule() {
    let lab = lab::shared().await;
    let services = services(&lab, store()).await;
    let endless = guest(&lab, "loop_forever", "loop-forever", lab::short()).await;
    let hoarder = guest(&lab, "allocate_forever", "allocate-forever", lab::limits()).await;
    let (late, full) = lab
        .beside_neighbour(async {
            tokio::join!(
                endless.check(&services, Trigger::Scheduled),
                hoarder.check(&services, Trigger::Scheduled)
            )
        })
        .await;
    assert_eq!(
        late[0].reason,
        "the checker itself failed: it did not finish within 300 ms"
    );
    assert!(
        full[0]
            .reason
            .starts_with("the checker itself failed: it wanted "),
        "{full:?}"
    );
    let shown = services.metrics.exposition();
    for line in [
        "gpud_checker_timeouts_total{checker=\"loop-forever\"} 1\n",
        "gpud_checker_traps_total{checker=\"loop-forever\"} 0\n",
        "gpud_checker_traps_total{checker=\"allocate-forever\"} 1\n",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}

#[tokio::test]
async fn a_check_under_way_is_not_started_twice() {
    let lab = lab::shared().await;
    let services = services(&lab, store()).await;
    let endless = guest(&lab, "loop_forever", "loop-forever", lab::short()).await;
    let (_, started) = tokio::join!(
        biased;
        endless.check(&services, Trigger::Scheduled),
        endless.check_if_idle(&services, Trigger::Scheduled)
    );
    assert!(!started);
    assert!(
        services
            .metrics
            .exposition()
            .contains("gpud_checker_timeouts_total{checker=\"loop-forever\"} 1\n")
    );
}

#[tokio::test]
async fn a_plugin_that_does_not_load_is_a_state_of_its_component() {
    let lab = lab::shared().await;
    let registry = Registry::default();
    let component = registry.add(Component::loading("imports-exec")).unwrap();
    let refusal = lab
        .refusal(
            "imports_exec",
            lab::guest("imports_exec"),
            &serde_json::json!({}),
            lab::limits(),
        )
        .await;
    component.failed(refusal);
    let services = services(&lab, store()).await;
    let states = component.check(&services, Trigger::Manual).await;
    assert_eq!(states[0].health, Health::Unhealthy);
    assert_eq!(
        states[0].reason,
        "the plugin could not be loaded: imports_exec: imports `exec` and `sysfs` without a grant; add under \
         `grants:` `exec: [\"/path/of/program\"]   # or: exec: bash`, `sysfs: [\"/sys/class/…/**\"]`"
    );
}
