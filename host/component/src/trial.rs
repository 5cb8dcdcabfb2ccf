//! Runs a plugin's component without a daemon, for the commands of plugin authors: checks and kernel messages one after
//! another, with a history and values of their own in memory. The caller gets everything that the component returns,
//! its cost included, and what a daemon would only count.

use std::sync::Arc;

use super::failure;
use crate::{
    capability::Bill,
    model::{CheckContext, ComponentDescriptor, Event, HealthState, Report, Trigger, UnixMillis},
    node::{
        Node,
        kmsg::{KernelMessage, Prefilter},
    },
    runtime::{CallContext, CallError, Finished, Plugin},
    store::{Commit, Location, Store, StoreError, StoreOptions, StoredEvent},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;

/// A component that runs without a daemon.
pub struct Trial {
    plugin: Arc<Plugin>,
    descriptor: ComponentDescriptor,
    config: Arc<str>,
    node: Arc<Node>,
    store: Store,
    previous: Option<UnixMillis>,
}

/// The result of one check.
#[derive(Debug)]
pub struct TrialOutcome {
    /// The report, or why there is none.
    pub report: Result<Report, CallError>,
    /// The cost of the check.
    pub bill: Bill,
    /// The keys that it wrote or deleted.
    pub values: Vec<String>,
    /// Why events and values could not be stored, if so.
    pub problem: Option<String>,
}

/// The events that a component made of kernel messages.
#[derive(Debug, Default)]
pub struct TrialEvents {
    /// How many messages matched a pattern and were passed to the component.
    pub matched: usize,
    /// The events as the component returned them.
    pub events: Vec<Event>,
}

impl Trial {
    /// Prepares one component of a plugin to run on this machine.
    ///
    /// # Errors
    /// The database in memory cannot be opened.
    pub async fn new(
        plugin: Arc<Plugin>,
        descriptor: ComponentDescriptor,
        config: Arc<str>,
        node: Arc<Node>,
    ) -> Result<Self, StoreError> {
        let store = Store::open(StoreOptions::new(Location::Memory))?.store;
        store
            .record_reboot(node.clock.now_ms(), node.boot.time, &node.boot.id)
            .await?;
        Ok(Self {
            plugin,
            descriptor,
            config,
            node,
            store,
            previous: None,
        })
    }

    /// Returns the plugin's description of it.
    pub fn descriptor(&self) -> &ComponentDescriptor {
        &self.descriptor
    }

    /// Sets the configuration of the following checks.
    pub fn configure(&mut self, config: Arc<str>) {
        self.config = config;
    }

    /// Runs one check. Its events and values are stored for the next one.
    pub async fn check(&mut self, trigger: Trigger) -> TrialOutcome {
        let context = self.context(trigger);
        self.previous = Some(context.now);
        let finished = self.plugin.check(&self.call_context(), &context).await;
        self.store_report(finished).await
    }

    /// Runs what `gpud scan` would: the component's own scan if it has one, else a check.
    pub async fn look(&mut self) -> TrialOutcome {
        if !self.plugin.scans() || self.descriptor.without_scan {
            return self.check(Trigger::Manual).await;
        }
        let context = self.context(Trigger::Manual);
        let finished = self.plugin.scan(&self.call_context(), &context).await;
        TrialOutcome {
            values: finished.state_writes.keys().cloned().collect(),
            report: finished.answer,
            bill: finished.bill,
            problem: None,
        }
    }

    /// Passes the messages that its patterns match, and stores the events. A component that watches no log gets none.
    ///
    /// # Errors
    /// In words: its patterns cannot be used, it failed, or nothing could be stored.
    pub async fn hear(&self, messages: &[Arc<KernelMessage>]) -> Result<TrialEvents, String> {
        let mut trial_events = TrialEvents::default();
        if !self.plugin.watches_kmsg() || self.descriptor.without_kmsg_watcher {
            return Ok(trial_events);
        }
        let patterns = self.patterns().await?;
        let (prefilter, refused) = Prefilter::new(&[(0, patterns)]);
        if let Some(refused) = refused.first() {
            return Err(refused.to_string());
        }
        let mut hits = Vec::new();
        let wanted: Vec<&Arc<KernelMessage>> = messages
            .iter()
            .filter(|message| {
                prefilter.watchers_for_bytes(message.text.as_bytes(), &mut hits);
                !message.fragment && !hits.is_empty()
            })
            .collect();
        trial_events.matched = wanted.len();
        let context = self.context(Trigger::Event);
        for batch in wanted.chunks(BATCH) {
            let batch = batch.iter().map(|message| &***message);
            let finished = self
                .plugin
                .on_messages(&self.call_context(), &context, batch)
                .await;
            let events = finished
                .answer
                .map_err(|error| format!("kernel messages were not taken: it {error}"))?;
            let commit = Commit {
                events: events.clone(),
                state_writes: finished.state_writes,
                cursor: None,
            };
            self.store
                .commit(&self.descriptor.name, commit)
                .await
                .map_err(|error| error.to_string())?;
            trial_events.events.extend(events);
        }
        Ok(trial_events)
    }

    /// Returns its patterns.
    ///
    /// # Errors
    /// In words: it failed, or its patterns cannot be used.
    pub async fn patterns(&self) -> Result<Vec<String>, String> {
        let finished = self.plugin.patterns(&self.call_context()).await;
        finished
            .answer
            .map_err(|error| format!("no kernel log patterns: it {error}"))
    }

    /// Returns its events so far, newest first.
    ///
    /// # Errors
    /// The database.
    pub async fn events(&self) -> Result<Vec<StoredEvent>, StoreError> {
        self.store.events(&self.descriptor.name, 0, None).await
    }

    /// Returns the states as a daemon would show them: those of the report, or one that names the party at fault.
    pub fn states(&self, outcome: &TrialOutcome) -> Vec<HealthState> {
        match &outcome.report {
            Ok(report) => report.states.clone(),
            Err(error) => {
                let now = self.node.clock.now_ms();
                vec![failure::state(&self.descriptor.name, now, error, None)]
            }
        }
    }

    async fn store_report(&self, finished: Finished<Report>) -> TrialOutcome {
        let mut outcome = TrialOutcome {
            values: finished.state_writes.keys().cloned().collect(),
            report: finished.answer,
            bill: finished.bill,
            problem: None,
        };
        if let Ok(report) = &outcome.report {
            let commit = Commit {
                events: report.events.clone(),
                state_writes: finished.state_writes,
                cursor: None,
            };
            // As in a daemon, an empty commit is not sent to the store's thread.
            if !commit.events.is_empty() || !commit.state_writes.is_empty() {
                let stored = self.store.commit(&self.descriptor.name, commit).await;
                outcome.problem = stored.err().map(|error| error.to_string());
            }
        }
        outcome
    }

    fn call_context(&self) -> CallContext<'_> {
        CallContext {
            component: &self.descriptor.name,
            store: Some(self.store.clone()),
            config: Arc::clone(&self.config),
            values: None,
        }
    }

    fn context(&self, trigger: Trigger) -> CheckContext {
        CheckContext {
            component: self.descriptor.name.clone(),
            now: self.node.clock.now_ms(),
            trigger,
            boot_id: self.node.boot.id.clone(),
            boot_time: self.node.boot.time,
            previous_check: self.previous,
        }
    }
}
