//! Shows the node's health in Kubernetes: conditions, labels, annotations, Events, and a taint if the operator configures one.
//!
//! Everything is derived from the node's present state and from the node on the server, which remembers across restarts
//! what gpud has set: the fields of a server-side apply have an owner. So a condition that is not applied any more is removed by the
//! server, and nothing flaps. `verdicts`, `plan` and `wanted` decide without I/O; `api` makes the requests.
//!
//! Requests are made when the health changes, and else once in a heartbeat.

mod access;
mod api;
mod desired_state;
mod events;
mod kubeconfig;
mod plan;
mod rules;
mod settings;
#[cfg(test)]
mod tests;
mod verdicts;
mod view;

use std::time::{Duration, Instant};

use crate::{Context, DeliveryError, Record, Snapshot, StateExport, UnixMillis, retry};
use api::{Api, ApiError};
use events::Events;
use plan::{Judgements, Plan, PlanContext};
use rules::Rule;
use view::NodeView;

pub use access::secret_files;
pub use settings::{KIND, Settings};

/// How long after the start a condition without a component stays as it is.
const SETTLING: Duration = Duration::from_secs(120);
/// How long after the start no fault recovers that an earlier process has shown.
const STARTING: Duration = Duration::from_secs(15);
/// How often waiting Events are looked at.
const EVENTS_WAIT: Duration = Duration::from_secs(30);
/// How often a write is tried again at once after another client changed the node.
const CONFLICTS: u32 = 3;
/// The heartbeats of a fleet are spread by this part of their length.
const SPREAD: f64 = 0.2;

/// Kubernetes at work.
pub struct Kubernetes {
    settings: Settings,
    rules: Vec<Rule>,
    started: Instant,
    heartbeat: Duration,
    wake: Duration,
    /// Made from the files of credentials, and again after each failure: they may have been replaced.
    api: Option<Api>,
    /// The node as the server had it last; read again after each failure.
    node: Option<NodeView>,
    judgements: Judgements,
    events: Events,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubernetes")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// Makes an export without any knowledge of the server's state.
    pub fn new(settings: Settings) -> Self {
        let heartbeat = settings.heartbeat();
        Self {
            rules: rules::all(&settings.conditions, settings.default_conditions),
            started: Instant::now(),
            // Never shorter than it is set.
            heartbeat: heartbeat.mul_f64(1.0 + SPREAD * retry::random()),
            wake: heartbeat,
            api: None,
            node: None,
            judgements: Judgements::default(),
            events: Events::default(),
            settings,
        }
    }

    /// Makes an Event about the node, and tries whether conditions and labels may be written. Returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let api = Api::connect(&self.settings, context).await?;
        let view = api.node(context).await?;
        let plan = self.plan(&view, &Snapshot::default(), sample.time);
        if let Some(status) = plan.status {
            api.apply(context, &status, true, true).await?;
        }
        let metadata = serde_json::json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": view.name, "uid": view.uid},
        });
        api.apply(context, &metadata, false, true).await?;
        let target = api.target();
        if !self.settings.events {
            return Ok(format!("{target} can be written; nothing was changed"));
        }
        let event = events::sample(&view, sample.time);
        api.create_event(context, &event).await?;
        Ok(format!("{target} has an Event GpudExportTest"))
    }

    fn moment(&self, now: UnixMillis) -> PlanContext {
        let age = self.started.elapsed();
        PlanContext {
            now,
            is_settling: age < SETTLING,
            is_starting: age < STARTING,
            // Times on the server are whole seconds.
            heartbeat_ms: millis(self.heartbeat) + 1000,
        }
    }

    fn plan(&self, view: &NodeView, snapshot: &Snapshot, now: UnixMillis) -> Plan {
        let (settings, rules, before) = (&self.settings, &self.rules, &self.judgements);
        plan::plan(view, snapshot, settings, rules, before, self.moment(now))
    }

    /// Makes the requests that are missing. Returns the node as it is then.
    async fn write(
        &mut self,
        api: &Api,
        mut view: NodeView,
        snapshot: &Snapshot,
        context: &Context,
    ) -> Result<NodeView, ApiError> {
        let plan = self.plan(&view, snapshot, context.now());
        if let Some(status) = &plan.status {
            view = api.apply(context, status, true, false).await?;
        }
        if self.settings.events {
            for change in &plan.changes {
                self.events.add(change, &view.name, context.now());
            }
        }
        self.judgements = plan.judgements;
        if let Some(taints) = desired_state::taints(&view, &self.settings, plan.summary) {
            view = api.patch(context, &taints).await?;
        }
        if let Some(metadata) =
            desired_state::metadata(&view, snapshot, &self.settings, plan.summary)
        {
            view = api.apply(context, &metadata, false, false).await?;
        }
        Ok(view)
    }

    /// Sends Events that wait. Those that the server will never take are given up, and shown in the export's state.
    async fn send_events(
        &mut self,
        api: &Api,
        view: &NodeView,
        context: &Context,
    ) -> Result<(), DeliveryError> {
        while let Some(outgoing) = self.events.next(view, context.now()) {
            let sent = match outgoing.is_repeat {
                true => {
                    let name = &outgoing.name;
                    api.patch_event(context, name, &outgoing.body).await
                }
                false => api.create_event(context, &outgoing.body).await,
            };
            match sent {
                Ok(()) => self.events.done(outgoing),
                // The answer to an earlier try was lost.
                Err(ApiError::Conflict(_)) if !outgoing.is_repeat => self.events.done(outgoing),
                Err(ApiError::NotFound(_)) if outgoing.is_repeat => self.events.is_gone(&outgoing),
                Err(ApiError::Refused(error) | ApiError::NotFound(error)) => {
                    self.events.give_up(&outgoing);
                    let message = error.to_string();
                    context.status.refused(1, &message, context.now());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns how long nothing needs to be done unless the health changes.
    fn until_next(&self, view: &NodeView, now: UnixMillis) -> Duration {
        let due = match plan::due_in(view, self.moment(now)) {
            // It was written just now, and another client removed it again: no reason to hurry.
            0 => self.heartbeat,
            due => Duration::from_millis(due),
        };
        let age = self.started.elapsed();
        let ends = [STARTING, SETTLING].map(|end| end.checked_sub(age));
        let next = ends.into_iter().flatten().fold(due, Duration::min);
        let next = match self.events.is_waiting() {
            true => next.min(EVENTS_WAIT),
            false => next,
        };
        // A little later, so that it is due then.
        next + Duration::from_millis(20)
    }
}

impl StateExport for Kubernetes {
    async fn apply(&mut self, snapshot: &Snapshot, context: &Context) -> Result<(), DeliveryError> {
        let api = match self.api.take() {
            Some(api) => api,
            None => Api::connect(&self.settings, context).await?,
        };
        let mut conflicts = 0;
        let view = loop {
            let known = self.node.take();
            let is_old = known.is_some();
            let view = match known {
                Some(view) => view,
                None => api.node(context).await?,
            };
            match self.write(&api, view, snapshot, context).await {
                Ok(view) => break view,
                // Another client changed the node: it is read again.
                Err(ApiError::Conflict(_) | ApiError::NotFound(_)) if conflicts < CONFLICTS => {
                    conflicts += 1;
                }
                // One that was deleted and made again has another uid, and the server calls that invalid.
                Err(ApiError::Refused(_)) if is_old => {}
                Err(error) => return Err(error.into()),
            }
        };
        self.send_events(&api, &view, context).await?;
        self.wake = self.until_next(&view, context.now());
        self.node = Some(view);
        self.api = Some(api);
        Ok(())
    }

    fn resync(&self) -> Duration {
        self.wake
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
