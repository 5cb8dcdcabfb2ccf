//! Components as the daemon sees them: each has a name, a schedule, latest states and a history.
//!
//! [`Registry`] knows them all, [`scheduler`] makes them run, [`kernel_log`] feeds them kernel messages, and the daemon's
//! backend answers the HTTP server. A component's [`Checker`] judges. A component never waits for another one.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_capture as capture;
use gpud_metrics as metrics;
use gpud_model as model;
use gpud_node as node;
use gpud_runtime as runtime;
use gpud_runtime::capability;
use gpud_spec as spec;
use gpud_store as store;
use gpud_wire as wire;

mod checker;
mod commit;
mod comparison;
pub mod config;
pub mod dcgm_metrics;
pub mod event_facts;
mod failure;
pub mod feed;
mod health_log;
mod kernel_line;
pub mod kernel_log;
mod latch;
mod losses;
pub mod offline;
mod outage;
pub mod own_faults;
mod own_series;
mod previous_verdict;
pub mod probation;
mod registry;
mod running;
pub mod scheduler;
pub mod schema;
mod script;
mod services;
mod shadow;
pub mod trial;
mod unsaved;
pub mod verdict_metrics;
mod wasm;

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::{Duration, Instant},
};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

pub use gpud_builtins as builtin;

pub use checker::{Checker, Schedule};
pub use config::{ComponentConfig, SiteConfig};
pub use own_series::OwnSeries;
pub use probation::Probation;
pub use registry::Registry;
pub use running::SetHealthyProblem;
pub use script::ScriptChecker;
pub use services::Services;
pub use shadow::Shadow;
pub use wasm::WasmChecker;

use crate::{
    model::{ComponentDescriptor, Event, Health, HealthState, UnixMillis},
    runtime::CallError,
    spec::Plugin,
    wire::Origin,
};

/// Longest that a request waits for a plugin to be compiled and loaded. GPUd's client waits for half a minute at the start,
/// and a daemon that has nothing in its cache needs some seconds.
const LOADING: Duration = Duration::from_secs(25);

/// The reason of a component that has nothing to watch.
const NOT_APPLICABLE: &str = "not applicable here";

/// One component.
pub struct Component {
    name: String,
    /// The wire's facts about it; empty for a built-in check.
    origin: Origin,
    /// Its state's name until there is a verdict.
    state_name: &'static str,
    closed: CancellationToken,
    /// It is loaded, or never will be.
    settled: CancellationToken,
    stage: RwLock<Stage>,
    latest: RwLock<Latest>,
    turn: Arc<Mutex<CheckTurn>>,
    /// Why it gets no kernel messages although it watches the log.
    unfed: OnceLock<String>,
    /// The part of its configuration that is not used.
    misconfigured: OnceLock<String>,
    /// The probation of its plugin's version, if that is new.
    probation: Option<Arc<Probation>>,
    /// Another version that runs beside it.
    shadow: Option<Arc<Shadow>>,
}

/// While it lives, a component is not checked.
pub struct Paused(OwnedMutexGuard<CheckTurn>);

/// The stage of a component.
enum Stage {
    /// Its plugin is being compiled or loaded, and has been since this time.
    Loading(Instant),
    /// Its plugin could not be loaded, for this reason.
    Failed(String),
    /// It can be checked.
    Ready(Checker),
    /// A part of the daemon reports its own state.
    Own,
}

/// The last verdicts.
#[derive(Clone)]
struct Latest {
    supported: bool,
    states: Vec<HealthState>,
    raw_output: String,
}

/// State that only the running check touches: one at a time.
#[derive(Default)]
struct CheckTurn {
    failures: u32,
    previous_check: Option<UnixMillis>,
    not_before: Option<Instant>,
}

impl Component {
    /// A built-in component whose plugin is yet to be loaded.
    pub fn loading(name: &str) -> Self {
        Self::new(name, Origin::default(), Stage::Loading(Instant::now()))
    }

    /// The component of a script plugin.
    pub fn of_script(plugin: &Plugin) -> Self {
        let checker = Checker::Script(Arc::new(ScriptChecker::new(plugin)));
        Self {
            state_name: script::STATE_NAME,
            ..Self::new(
                &plugin.component,
                script::origin(plugin),
                Stage::Ready(checker),
            )
        }
    }

    /// Makes the component of a Wasm entry of a spec while its plugin is loaded.
    pub fn of_wasm(plugin: &Plugin) -> Self {
        let stage = Stage::Loading(Instant::now());
        Self::new(&plugin.component, script::origin(plugin), stage)
    }

    /// One of the components of a Wasm entry.
    pub fn of_loaded_wasm(plugin: &Plugin, checker: WasmChecker) -> Self {
        let name = checker.descriptor().name.clone();
        let checker = Checker::Wasm(Arc::new(checker));
        Self::new(&name, script::origin(plugin), Stage::Ready(checker))
    }

    /// Makes a component that only reports a problem.
    pub fn of_problem(name: &str, problem: String) -> Self {
        Self::new(name, Origin::default(), Stage::Failed(problem))
    }

    /// Makes the component of a part of the daemon, which reports its own state with [`Self::show`].
    pub fn of_daemon(name: &str) -> Self {
        Self::new(name, Origin::default(), Stage::Own)
    }

    fn new(name: &str, origin: Origin, stage: Stage) -> Self {
        let settled = CancellationToken::new();
        if !matches!(stage, Stage::Loading(_)) {
            settled.cancel();
        }
        Self {
            settled,
            name: name.to_owned(),
            origin,
            state_name: "",
            closed: CancellationToken::new(),
            stage: RwLock::new(stage),
            latest: RwLock::new(Latest {
                supported: true,
                states: Vec::new(),
                raw_output: String::new(),
            }),
            turn: Arc::default(),
            unfed: OnceLock::new(),
            misconfigured: OnceLock::new(),
            probation: None,
            shadow: None,
        }
    }

    /// The same, of a version that is on probation.
    #[must_use]
    pub fn on_probation(self, probation: Arc<Probation>) -> Self {
        Self {
            probation: Some(probation),
            ..self
        }
    }

    /// The same with another version beside it.
    #[must_use]
    pub fn with_shadow(self, shadow: Arc<Shadow>) -> Self {
        Self {
            shadow: Some(shadow),
            ..self
        }
    }

    /// The version that runs beside it.
    pub fn shadow(&self) -> Option<&Arc<Shadow>> {
        self.shadow.as_ref()
    }

    /// The probation that its version is or was on.
    pub fn probation(&self) -> Option<&Probation> {
        self.probation.as_deref()
    }

    /// Waits for the check that is under way, and lets no other begin.
    pub async fn pause(&self) -> Paused {
        Paused(Arc::clone(&self.turn).lock_owned().await)
    }

    /// Begins with what a component of the same name found last, which ends in the same moment: its verdicts stay until
    /// there are new ones.
    pub fn take_over(&self, old: &Self, paused: &Paused) {
        let latest = old.latest.read().unwrap_or_else(PoisonError::into_inner);
        *self.latest.write().unwrap_or_else(PoisonError::into_inner) = latest.clone();
        if let Ok(mut turn) = self.turn.try_lock() {
            turn.previous_check = paused.0.previous_check;
        }
    }

    /// Stores an event of the daemon's own about this component.
    pub async fn store_event(&self, services: &Services, event: Event) {
        let stored =
            commit::events_and_state(services, &self.name, vec![event], Default::default());
        if let Err(error) = stored.await {
            tracing::error!(
                component = self.name,
                "an event could not be stored: {error}"
            );
        }
    }

    /// Returns whether a failed call rolls back the version on probation.
    fn is_taken_back(&self, outcome: Result<(), &CallError>) -> bool {
        let probation = self.probation();
        probation.is_some_and(|probation| probation.check_ended(&self.name, outcome))
    }

    /// Returns its unique name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the checker after the plugin was loaded.
    pub fn ready(&self, checker: WasmChecker) {
        *self.stage.write().unwrap_or_else(PoisonError::into_inner) =
            Stage::Ready(Checker::Wasm(Arc::new(checker)));
        self.settled.cancel();
    }

    /// Records that the plugin could not be loaded; the state has the cause.
    pub fn failed(&self, problem: String) {
        tracing::error!(component = self.name, "{problem}");
        *self.stage.write().unwrap_or_else(PoisonError::into_inner) =
            Stage::Failed(format!("the plugin could not be loaded: {problem}"));
        self.settled.cancel();
    }

    /// Waits until it is loaded or cannot be loaded. The wait is bounded, since the caller has a deadline of its own.
    pub async fn settled(&self) {
        let _ = tokio::time::timeout(LOADING, self.settled.cancelled()).await;
    }

    /// Whether its plugin is being loaded.
    pub fn is_loading(&self) -> bool {
        let stage = self.stage.read().unwrap_or_else(PoisonError::into_inner);
        matches!(*stage, Stage::Loading(_))
    }

    /// Returns its checker, once there is one.
    pub fn checker(&self) -> Option<Checker> {
        match &*self.stage.read().unwrap_or_else(PoisonError::into_inner) {
            Stage::Ready(checker) => Some(checker.clone()),
            Stage::Loading(_) | Stage::Failed(_) | Stage::Own => None,
        }
    }

    /// Returns its checker, if it watches the kernel log.
    pub(crate) fn kmsg_watcher(&self) -> Option<Arc<WasmChecker>> {
        self.checker()?.kmsg_watcher().cloned()
    }

    /// Records that it gets no kernel messages; its states report this from now on.
    pub(crate) fn gets_no_messages(&self, problem: String) {
        tracing::error!(
            component = self.name,
            "it gets no kernel messages: {problem}"
        );
        let _ = self
            .unfed
            .set(format!("it gets no kernel messages: {problem}"));
    }

    /// Records that a part of its configuration is not used; its states report this from now on.
    pub fn runs_without(&self, problem: String) {
        tracing::error!(component = self.name, "{problem}");
        let _ = self.misconfigured.set(problem);
    }

    /// Whether it comes from a spec, and can be removed again.
    pub fn is_plugin(&self) -> bool {
        !self.origin.component_type.is_empty()
    }

    /// Ends its schedule and its running check. Its last verdicts can still be read.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Waits until it is closed.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Returns the wire's facts about it, with the last output of its script.
    pub fn origin(&self) -> Origin {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        Origin {
            raw_output: latest.raw_output.clone(),
            ..self.origin.clone()
        }
    }

    /// Returns its description, once it is loaded.
    pub fn descriptor(&self) -> Option<ComponentDescriptor> {
        self.checker().map(|checker| checker.descriptor().clone())
    }

    /// Whether it has something to watch on this machine, as far as is known.
    pub fn is_supported(&self) -> bool {
        self.latest
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .supported
    }

    /// Returns why it has nothing to watch on this machine; `None` if it has something.
    pub fn not_applicable(&self) -> Option<String> {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        if latest.supported {
            return None;
        }
        let reason = latest.states.first().map_or("", |state| &state.reason);
        Some(match reason {
            "" => NOT_APPLICABLE.to_owned(),
            reason => format!("{NOT_APPLICABLE}: {reason}"),
        })
    }

    /// Returns the last verdicts; before the first check a state that says whether its plugin is loaded.
    pub fn states(&self, now: UnixMillis) -> Vec<HealthState> {
        let states = self
            .latest
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .states
            .clone();
        if !states.is_empty() {
            return states;
        }
        let (health, reason) = match &*self.stage.read().unwrap_or_else(PoisonError::into_inner) {
            Stage::Loading(since) => (
                Health::Initializing,
                format!(
                    "its plugin is being loaded, for {} s so far; code that is not cached is compiled first",
                    since.elapsed().as_secs()
                ),
            ),
            Stage::Failed(problem) => (Health::Unhealthy, problem.clone()),
            Stage::Ready(_) | Stage::Own => (Health::Healthy, "no data yet".to_owned()),
        };
        let name = Some(match self.state_name {
            "" => self.name.clone(),
            name => name.to_owned(),
        });
        vec![HealthState {
            name,
            time: Some(now),
            health,
            reason,
            ..HealthState::default()
        }]
    }
}
