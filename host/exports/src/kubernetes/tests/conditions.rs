//! Conditions, over time.

use std::time::Duration;

use super::{
    super::{
        SETTLING, STARTING,
        plan::{Change, Judgements, Plan, PlanContext, plan, timestamp},
        rules,
        view::{ConditionView, NodeView},
    },
    *,
};

/// A server that does what server-side apply does with the conditions of one manager.
pub(super) struct Server {
    pub(super) view: NodeView,
    settings: Settings,
    judgements: Judgements,
    pub(super) age: Duration,
}

impl Server {
    pub(super) fn new(yaml: &str) -> Self {
        Self {
            view: NodeView {
                name: "node-7".into(),
                uid: "4f1e".into(),
                resource_version: "120".into(),
                ..NodeView::default()
            },
            settings: settings(yaml),
            judgements: Judgements::default(),
            age: SETTLING,
        }
    }

    fn plan(&self, snapshot: &Snapshot, now: UnixMillis) -> Plan {
        let rules = rules::all(&self.settings.conditions, self.settings.default_conditions);
        let moment = PlanContext {
            now,
            is_settling: self.age < SETTLING,
            is_starting: self.age < STARTING,
            heartbeat_ms: 300_000,
        };
        let before = &self.judgements;
        plan(&self.view, snapshot, &self.settings, &rules, before, moment)
    }

    /// Applies what is planned. Returns whether conditions were written, and the changes.
    pub(super) fn apply(&mut self, snapshot: &Snapshot, now: UnixMillis) -> (bool, Vec<Change>) {
        let plan = self.plan(snapshot, now);
        self.judgements = plan.judgements;
        let Some(status) = plan.status else {
            return (false, plan.changes);
        };
        let conditions: Vec<ConditionView> =
            serde_json::from_value(status["status"]["conditions"].clone()).unwrap();
        let types = status["status"]["conditions"].as_array().unwrap().iter();
        let types: Vec<String> = types
            .map(|one| one["type"].as_str().unwrap().to_owned())
            .collect();
        let own = std::mem::take(&mut self.view.own.conditions);
        self.view.conditions.retain(|kind, _| !own.contains(kind));
        self.view.own.conditions = types.iter().cloned().collect();
        self.view
            .conditions
            .extend(types.into_iter().zip(conditions));
        (true, plan.changes)
    }

    pub(super) fn restart(&mut self) {
        self.judgements = Judgements::default();
        self.age = Duration::ZERO;
    }

    /// The conditions as `Type=Status(Reason)`, without those where nothing is wrong but the summary.
    pub(super) fn shown(&self) -> String {
        let shown = self.view.conditions.iter().filter(|(kind, condition)| {
            kind.as_str() == rules::SUMMARY || condition.status != "False"
        });
        let shown = shown.map(|(kind, c)| format!("{kind}={}({})", c.status, c.reason));
        shown.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn states_become_conditions() {
    for (component, health, expected) in [
        (XID, Health::Healthy, "GpudHealthy=True(Healthy)"),
        (
            XID,
            Health::Unhealthy,
            "GpudHealthy=False(Unhealthy) GpudXidError=True(GpudXidError)",
        ),
        (
            "accelerator-nvidia-remapped-rows",
            Health::Degraded,
            "GpudHealthy=True(Degraded) GpudMemoryError=True(GpudMemoryError)",
        ),
        (
            "accelerator-nvidia-infiniband",
            Health::Unhealthy,
            "GpudHealthy=False(Unhealthy) GpudInfinibandError=True(GpudInfinibandError)",
        ),
        (
            "kernel-stalls",
            Health::Other("Lost".into()),
            "GpudHealthy=False(Unhealthy) GpudKernelError=True(GpudKernelError)",
        ),
        (
            "disk",
            Health::Initializing,
            "GpudDiskError=Unknown(Initializing) GpudHealthy=Unknown(Initializing)",
        ),
        (
            "export-fleet",
            Health::Degraded,
            "GpudHealthy=Unknown(Initializing)",
        ),
    ] {
        let mut server = Server::new("{}");
        server.apply(&one(component, health), T);
        assert_eq!(server.shown(), expected, "{component}");
    }
    let mut server = Server::new("unhealthy_from: degraded");
    server.apply(&one("disk", Health::Degraded), T);
    assert_eq!(
        server.shown(),
        "GpudDiskError=True(GpudDiskError) GpudHealthy=False(Degraded)"
    );
}

#[test]
fn an_operators_rules_pick_component_event_and_severity() {
    let yaml = "default_conditions: false\nconditions:\n- {type: FellOff, reason: Xid79, components: [accelerator-*], event: Xid 79, severity: unhealthy}\n";
    let mut server = Server::new(yaml);
    server.apply(&xid(), T);
    assert_eq!(
        server.shown(),
        "FellOff=True(Xid79) GpudHealthy=False(Unhealthy)"
    );
    server.apply(&xid_gone(), T + 1000);
    assert_eq!(server.shown(), "GpudHealthy=True(Healthy)");
    assert_eq!(server.view.conditions["FellOff"].reason, "NoXid79");
}

#[test]
fn a_condition_appears_and_clears_at_once_and_is_reported_once() {
    let mut server = Server::new("{}");
    let (written, changes) = server.apply(&xid_gone(), T);
    assert!(
        written && changes.is_empty(),
        "a new node is no news: {changes:?}"
    );
    let (written, changes) = server.apply(&xid(), T + 1000);
    assert!(written);
    let reported: Vec<_> = changes
        .iter()
        .map(|c| (c.condition.as_str(), c.is_fault))
        .collect();
    assert_eq!(
        reported,
        [
            ("GpudHealthy", true),
            ("GpudXidError", true),
            ("GpudGpuLost", true)
        ]
    );
    assert_eq!(
        changes[1].message,
        "accelerator-nvidia-error-xid (gpu/GPU-1): XID 79 GPU has fallen off the bus"
    );
    assert_eq!(server.apply(&xid(), T + 2000), (false, Vec::new()));
    let since = &server.view.conditions["GpudXidError"].last_transition_time;
    assert_eq!(since.as_deref(), Some(timestamp(T + 1000).as_str()));
    // A second GPU: the condition holds since when it did, and it is reported.
    let mut two = xid();
    let second = state(Health::Unhealthy, "XID 48", Some("GPU-2"));
    two.components[0].states.push(second);
    let (written, changes) = server.apply(&two, T + 5000);
    assert!(written && changes.iter().any(|c| c.message.contains("GPU-2")));
    let since = &server.view.conditions["GpudXidError"].last_transition_time;
    assert_eq!(since.as_deref(), Some(timestamp(T + 1000).as_str()));
    let (written, changes) = server.apply(&xid_gone(), T + 9000);
    assert!(written && changes.iter().all(|c| !c.is_fault) && changes.len() == 3);
    assert_eq!(server.shown(), "GpudHealthy=True(Healthy)");
}

#[test]
fn nothing_is_written_while_nothing_changes_but_a_heartbeat() {
    let mut server = Server::new("{}");
    let disk = |reason: &str| snapshot(&[("disk", &[state(Health::Degraded, reason, None)])]);
    assert!(server.apply(&disk("91.1 % used"), T).0);
    let mut writes = 0;
    for second in 1..=600 {
        let text = format!("91.{second} % used");
        writes += u32::from(server.apply(&disk(&text), T + second * 1000).0);
    }
    assert_eq!(writes, 2);
    assert!(
        server.view.conditions["GpudDiskError"]
            .message
            .ends_with("91.600 % used")
    );
    // The clock was set back by a day: one write, and then as before.
    let day_before = T - 86_400_000;
    assert!(server.apply(&disk("x"), day_before).0);
    assert!(!server.apply(&disk("y"), day_before + 1000).0);
}

#[test]
fn a_condition_that_was_renamed_is_removed_at_once() {
    let mut server = Server::new("conditions: [{type: Old, components: [accelerator-*]}]");
    server
        .view
        .conditions
        .insert("Ready".into(), ConditionView::default());
    server.apply(&xid(), T);
    assert!(server.view.conditions.contains_key("Old"));
    server.settings = settings("conditions: [{type: New, components: [accelerator-*]}]");
    server.restart();
    server.apply(&xid(), T + 1000);
    assert!(!server.view.conditions.contains_key("Old"));
    assert_eq!(server.view.conditions["New"].status, "True");
    assert!(server.view.conditions.contains_key("Ready"), "others' stay");
}

#[test]
fn a_condition_that_another_client_changed_is_restored() {
    let mut server = Server::new("{}");
    server.apply(&xid(), T);
    server.view.own.conditions.remove("GpudXidError");
    assert!(server.apply(&xid(), T + 1000).0);
}

#[test]
fn the_request_names_the_node_by_its_uid() {
    let server = Server::new("default_conditions: false");
    let status = server.plan(&xid(), T).status.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&status).unwrap(), @r#"
    {
      "apiVersion": "v1",
      "kind": "Node",
      "metadata": {
        "name": "node-7",
        "uid": "4f1e"
      },
      "status": {
        "conditions": [
          {
            "lastHeartbeatTime": "2026-09-21T14:13:20Z",
            "lastTransitionTime": "2026-09-21T14:13:20Z",
            "message": "accelerator-nvidia-error-xid (gpu/GPU-1): XID 79 GPU has fallen off the bus",
            "reason": "Unhealthy",
            "status": "False",
            "type": "GpudHealthy"
          }
        ]
      }
    }
    "#);
}
