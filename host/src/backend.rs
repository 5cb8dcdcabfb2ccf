//! Answers the HTTP server from the components, the plugins, the store and the machine.

mod effective_config;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use futures_util::FutureExt;

pub use self::effective_config::{EffectiveConfig, FailureInjector, ToolOverwrites};
use crate::{
    component::{
        Component, OwnSeries, Registry, Services, SetHealthyProblem, dcgm_metrics,
        feed::{ChangeId, Subscription},
        own_faults,
    },
    machine_info::Collector,
    model::{Event, Health, HealthState, UnixMillis},
    node::{error::SourceError, kmsg},
    plugins::{self, Plugins},
    server::{
        Backend, ComponentStates, DeregisterError, RegisterError, Reply, Sample, SetHealthyError,
    },
    store::{Entry, Page, Series, StoreError, StoredSample, TimelineRead},
    summary::{Since, StateKey},
    wire::{MachineInfo, PluginSpec, Render, ShadowView},
};

/// The daemon, as the server sees it.
pub struct DaemonBackend {
    /// All components.
    pub registry: Arc<Registry>,
    /// The services that they share.
    pub services: Arc<Services>,
    /// The operator's plugins.
    pub plugins: Arc<Plugins>,
    /// Takes the machine's inventory.
    pub inventory: Collector,
    /// The effective configuration.
    pub config: EffectiveConfig,
    /// Readings of GPUs are served under the names of dcgm-exporter, too.
    pub dcgm_names: bool,
    /// Brings the daemon's own series up to date.
    pub own_series: OwnSeries,
}

impl DaemonBackend {
    fn now(&self) -> UnixMillis {
        self.services.node.clock.now_ms()
    }

    /// Returns the states of a component that is registered only while something is wrong.
    fn without_trouble(&self, name: &str) -> Option<ComponentStates> {
        let (origin, states) = own_faults::healthy(name, self.now())?;
        Some(ComponentStates {
            component: name.to_owned(),
            origin,
            states,
        })
    }

    /// Runs to its end whether or not the client stays: a check that stores half of its findings helps nobody.
    async fn detached<T: Send + 'static>(
        &self,
        component: Arc<Component>,
        work: impl AsyncWork<T>,
    ) -> Option<T> {
        let services = Arc::clone(&self.services);
        tokio::spawn(async move { work.run(component, services).await })
            .await
            .ok()
    }

    async fn trigger_one(&self, component: Arc<Component>) -> ComponentStates {
        let name = component.name().to_owned();
        let running = Arc::clone(&component);
        let mut states = self.detached(running, Trigger).await.unwrap_or_default();
        // A built-in check that does not apply says so in the words that GPUd's clients know.
        if let Some(reason) = component.not_applicable().filter(|_| component.is_plugin()) {
            let healthy = |state: &&mut HealthState| state.health == Health::Healthy;
            for state in states.iter_mut().filter(healthy) {
                state.reason.clone_from(&reason);
            }
        }
        let states = self.services.with_own_trouble(&name, states);
        let origin = component.origin();
        ComponentStates {
            component: name,
            origin,
            states,
        }
    }
}

trait AsyncWork<T>: Send + 'static {
    fn run(
        self,
        component: Arc<Component>,
        services: Arc<Services>,
    ) -> impl Future<Output = T> + Send;
}

struct Trigger;

impl AsyncWork<Vec<HealthState>> for Trigger {
    async fn run(self, component: Arc<Component>, services: Arc<Services>) -> Vec<HealthState> {
        component.trigger(&services).await
    }
}

struct MakeHealthy;

impl AsyncWork<Result<(), SetHealthyProblem>> for MakeHealthy {
    async fn run(
        self,
        component: Arc<Component>,
        services: Arc<Services>,
    ) -> Result<(), SetHealthyProblem> {
        component.set_healthy_or_record(&services).await
    }
}

impl Backend for DaemonBackend {
    fn component_names(&self) -> Vec<String> {
        self.registry.names()
    }

    fn is_known(&self, name: &str) -> bool {
        self.registry.get(name).is_some() || own_faults::is_one(name)
    }

    fn is_supported(&self, name: &str) -> bool {
        match self.registry.get(name) {
            Some(component) => component.is_supported(),
            None => own_faults::is_one(name),
        }
    }

    fn not_applicable(&self, name: &str) -> Option<String> {
        self.registry.get(name)?.not_applicable()
    }

    fn states(&self, name: &str) -> Option<ComponentStates> {
        let Some(component) = self.registry.get(name) else {
            return self.without_trouble(name);
        };
        Some(ComponentStates {
            component: name.to_owned(),
            origin: component.origin(),
            states: self
                .services
                .with_own_trouble(name, component.states(self.now())),
        })
    }

    fn events(&self, names: Vec<String>, after: i64) -> Reply<'_, BTreeMap<String, Vec<Event>>> {
        async move {
            let Some(store) = &self.services.store else {
                return BTreeMap::new();
            };
            let since = u64::try_from(after).unwrap_or(0).saturating_mul(1000);
            match store.all_events(&names, since).await {
                Ok(found) => found
                    .into_iter()
                    .map(|(name, events)| (name, events.into_iter().map(|e| e.event).collect()))
                    .collect(),
                Err(error) => {
                    tracing::error!("events could not be read: {error}");
                    BTreeMap::new()
                }
            }
        }
        .boxed()
    }

    fn changes(&self, seen: Option<ChangeId>) -> Subscription {
        self.services.feed.subscribe(seen)
    }

    fn timeline(&self, read: TimelineRead) -> Reply<'_, Result<Page, StoreError>> {
        async move {
            let Some(store) = &self.services.store else {
                return Ok(Page::default());
            };
            store.timeline(read).await
        }
        .boxed()
    }

    fn timeline_event(&self, row: i64) -> Reply<'_, Result<Option<Entry>, StoreError>> {
        async move {
            let Some(store) = &self.services.store else {
                return Ok(None);
            };
            store.timeline_event(row).await
        }
        .boxed()
    }

    fn beginnings(&self, states: Vec<(StateKey, Health)>) -> Reply<'_, Result<Since, StoreError>> {
        async move {
            let Some(store) = &self.services.store else {
                return Ok(Since::default());
            };
            let healthy = match states.is_empty() {
                true => store.healthy_since().await,
                false => Ok(None),
            };
            let states = store.beginnings(states).await;
            Ok(Since {
                states: states?,
                healthy: healthy?,
            })
        }
        .boxed()
    }

    fn samples(
        &self,
        names: Option<Vec<String>>,
        since: i64,
    ) -> Reply<'_, Result<Vec<Sample>, StoreError>> {
        async move {
            let Some(store) = &self.services.store else {
                return Ok(Vec::new());
            };
            let since = u64::try_from(since).unwrap_or(0);
            let found = store.samples(since, names.as_deref()).await?;
            let shared = tokio::task::spawn_blocking(move || shared_samples(found)).await;
            shared.map_err(|_| StoreError::Closed)
        }
        .boxed()
    }

    fn trigger(&self, name: String) -> Reply<'_, Option<ComponentStates>> {
        async move {
            let Some(component) = self.registry.get(&name) else {
                return self.without_trouble(&name);
            };
            Some(self.trigger_one(component).await)
        }
        .boxed()
    }

    fn trigger_tag(&self, tag: String) -> Reply<'_, Vec<ComponentStates>> {
        async move {
            let mut states = Vec::new();
            for component in self.registry.tagged(&tag).await {
                states.push(self.trigger_one(component).await);
            }
            states
        }
        .boxed()
    }

    fn set_healthy(&self, name: String) -> Reply<'_, Result<(), SetHealthyError>> {
        async move {
            let component = match self.registry.get(&name) {
                Some(component) => component,
                None if own_faults::is_one(&name) => return Err(SetHealthyError::Unsupported),
                None => return Err(SetHealthyError::Failed("the component has gone".to_owned())),
            };
            let done = self.detached(component, MakeHealthy).await;
            match done.unwrap_or_else(|| Err(SetHealthyProblem::Failed("it panicked".to_owned()))) {
                Ok(()) => Ok(()),
                Err(SetHealthyProblem::Unsupported) => Err(SetHealthyError::Unsupported),
                Err(SetHealthyProblem::Failed(problem)) => Err(SetHealthyError::Failed(problem)),
            }
        }
        .boxed()
    }

    fn deregister(&self, name: String) -> Reply<'_, Result<(), DeregisterError>> {
        async move {
            if self.plugins.deregister(&name).await {
                return Ok(());
            }
            Err(match self.is_known(&name) {
                true => DeregisterError::BuiltIn,
                false => DeregisterError::Unknown,
            })
        }
        .boxed()
    }

    fn register(
        &self,
        specs: Bytes,
        replace: bool,
    ) -> Reply<'_, Result<Vec<String>, RegisterError>> {
        let plugins = Arc::clone(&self.plugins);
        async move {
            // Finished whether or not the client stays.
            let work = async move { plugins.register(specs.to_vec(), replace).await };
            match tokio::spawn(work).await {
                Ok(done) => done.map_err(|error| match error {
                    plugins::RegisterError::Invalid(problems) => RegisterError::Invalid(problems),
                    plugins::RegisterError::Taken(problem) => RegisterError::Taken(problem),
                }),
                Err(error) => Err(RegisterError::Invalid(vec![error.to_string()])),
            }
        }
        .boxed()
    }

    fn plugin_specs(&self) -> Vec<PluginSpec> {
        self.plugins.specs()
    }

    fn shadow(&self, component: &str) -> Option<ShadowView> {
        self.plugins.shadow(component)
    }

    fn machine_info(&self) -> Reply<'_, Result<MachineInfo, SourceError>> {
        async move { Ok(self.inventory.collect().await) }.boxed()
    }

    fn inject(&self, priority: String, message: String) -> Reply<'_, Result<(), SourceError>> {
        async move {
            let severity = kmsg::severity(&priority);
            // A write to the kernel log does not wait for anything but the kernel's own lock.
            kmsg::inject(severity, &message)
        }
        .boxed()
    }

    fn prometheus(&self) -> Reply<'_, String> {
        async move {
            self.own_series.refresh().await;
            let own = self.services.metrics.exposition();
            match self.dcgm_names {
                true => dcgm_metrics::text(&self.registry, &self.services).await + &own,
                false => own,
            }
        }
        .boxed()
    }

    fn config(&self) -> Box<dyn Render> {
        Box::new(self.config.clone())
    }
}

/// The samples as the API has them; those of one series share its names.
fn shared_samples(stored: Vec<StoredSample>) -> Vec<Sample> {
    let mut known: HashMap<*const Series, Sample> = HashMap::new();
    stored
        .into_iter()
        .map(|stored| {
            let series = &stored.series;
            let first = known.entry(Arc::as_ptr(series)).or_insert_with(|| Sample {
                component: series.component.as_str().into(),
                name: series.name.as_str().into(),
                labels: Arc::new(series.labels.iter().cloned().collect()),
                unix_millis: 0,
                value: 0.0,
            });
            Sample {
                unix_millis: i64::try_from(stored.time).unwrap_or(i64::MAX),
                value: stored.value,
                ..first.clone()
            }
        })
        .collect()
}
